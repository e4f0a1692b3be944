"""Null: what a deployment says of a setting that defaults gives and that it does not want."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from eaglecfg.engines.command import environment, launch_arguments
from eaglecfg.engines.table import facts_of
from eaglecfg.schema.core import REQUIRED
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.export import json_schemas
from eaglecfg.schema.fields import fields_of
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment
from eaglecfg.source.read import parse_document

SCHEMA = Draft7Validator(json_schemas()["eaglecfg.schema.json"])
TARGET = {"target": {"checkpoint": "t"}}


def load(defaults: dict[str, Any] | None, own: dict[str, Any]) -> LoadedConfig:
    data = {"version": 1, "engine": {"version": "0.5.14"}, "deployments": {"chat": own, "other": TARGET}}
    text = yaml.safe_dump(data if defaults is None else {**data, "defaults": defaults})
    assert list(SCHEMA.iter_errors(yaml.safe_load(text))) == []
    return load_config(parse_document(text, "eaglecfg.yaml", "."))


def chat(defaults: dict[str, Any] | None, own: dict[str, Any]) -> LoadedDeployment:
    config = load(defaults, own)
    assert config.problems == ()
    return config.deployments[0]


def settings() -> Iterator[tuple[str, str, Any]]:
    """Every key of every block that a deployment can do without, with a value for it."""
    for block, kind in fields_of(Deployment).items():
        if kind.model is not None and block != "target":
            for key, spec in kind.model.model_fields.items():
                if spec.default is not REQUIRED:
                    yield block, key, spec.examples[0]
    yield "target", "revision", "main"
    yield "target", "hidden_size", 8
    yield "nccl", "PROTO", "LL"
    yield "env", "OMP_NUM_THREADS", "8"
    yield "server", "attention_backend", "triton"
    yield "server", "json_model_override_args", {"a": {"b": 1}}


@pytest.mark.parametrize(("block", "key", "value"), list(settings()))
def test_null_drops_a_key_that_defaults_gives_and_leaves_it_to_others(
    block: str, key: str, value: Any
) -> None:
    always = {**TARGET, "draft": {"checkpoint": "d"}}
    defaults = {**always, block: {**always.get(block, {}), key: value}}
    config = load(defaults, {block: {key: None}})
    without, given = config.deployments
    facts = facts_of(config.engine)
    never = chat({**always, block: always.get(block, {})}, {})
    assert config.problems == ()
    assert launch_arguments(without.model, facts) == launch_arguments(never.model, facts)
    assert environment(without.model) == environment(never.model)
    assert (block, key) == ("speculative", "algorithm") or given.model != never.model  # its default
    if block != "server":  # there null is the engine's own value of a flag
        assert without.model == never.model


@pytest.mark.parametrize("block", [name for name in fields_of(Deployment) if name != "target"])
def test_null_drops_a_whole_block_that_defaults_gives(block: str) -> None:
    value = Deployment.model_fields[block].examples[0]
    defaults = {**TARGET, "draft": {"checkpoint": "d"}, block: value}
    never = chat({key: inner for key, inner in defaults.items() if key != block}, {})
    assert chat(defaults, {block: None}).model == never.model


@pytest.mark.parametrize(("block", "key", "value"), list(settings()))
@pytest.mark.parametrize("defaults", [None, TARGET])
def test_null_where_nothing_is_inherited_means_absent(
    defaults: dict[str, Any] | None, block: str, key: str, value: Any
) -> None:
    base = {**TARGET, "draft": {"checkpoint": "d"}}
    own = {**base, block: {**base.get(block, {}), key: None}}
    facts = facts_of(load(defaults, own).engine)
    never, found = chat(defaults, base), chat(defaults, own)
    assert launch_arguments(found.model, facts) == launch_arguments(never.model, facts)
    assert environment(found.model) == environment(never.model)


def test_null_under_defaults_gives_nothing_and_may_be_replaced() -> None:
    defaults = {"nccl": {"proto": None, "algo": None}, "env": None, "parallel": {"tp_size": None}}
    model = chat(defaults, {**TARGET, "nccl": {"proto": "LL"}, "parallel": {"dp_size": 2}}).model
    assert (model.nccl, model.env) == ({"proto": "LL"}, {})
    assert (model.parallel.tp_size, model.parallel.dp_size) == (1, 2)


def test_null_inside_the_value_of_a_flag_is_a_value() -> None:
    flag = "json_model_override_args"
    model = chat({"server": {flag: {"a": 1, "b": 2}}}, {**TARGET, "server": {flag: {"a": None}}}).model
    assert model.server == {flag: {"a": None, "b": 2}}


def test_quoted_null_and_empty_text_are_text() -> None:
    model = chat({"env": {"A": "x", "B": "x"}}, {**TARGET, "env": {"A": "", "B": "null"}}).model
    assert model.env == {"A": "", "B": "null"}


def test_a_null_is_found_at_its_own_place() -> None:
    found = chat(
        {"nccl": {"PROTO": "LL"}, "hardware": {"count": 2}}, {**TARGET, "nccl": {"NCCL_PROTO": None}}
    )
    assert found.nulls == {("nccl", "proto")}
    assert found.document_path(("nccl", "proto")) == ("deployments", "chat", "nccl", "NCCL_PROTO")


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ("{target: null}", "target takes a mapping, not nothing"),
        ("{target: {checkpoint: null}}", "target.checkpoint takes text, not nothing"),
        ("{draft: {checkpoint: null}}", "draft.checkpoint takes text, not nothing"),
        ("{capture: {layer_ids: [null]}}", "capture.layer_ids[0] takes a whole number, not nothing"),
        ("{parallel: {tpsize: null}}", 'parallel has no key "tpsize"'),
        ("{drafts: null}", 'deployment chat has no key "drafts"'),
    ],
)
def test_null_for_what_has_to_be_there_or_nothing_knows_is_refused(own: str, says: str) -> None:
    text = (
        "version: 1\nengine: {version: 0.5.14}\ndefaults: {target: {checkpoint: t}, draft: {checkpoint: d}}\n"
        f"deployments: {{chat: {own}}}\n"
    )
    assert list(SCHEMA.iter_errors(yaml.safe_load(text)))
    (problem,) = load_config(parse_document(text, "eaglecfg.yaml", ".")).problems
    assert says in problem.message
