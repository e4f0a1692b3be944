"""The JSON Schemas that editors use: fresh, described throughout, and of one mind with the loader."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from eaglecfg.schema.export import json_schemas
from eaglecfg.schema.load import load_config
from eaglecfg.schema.once import once
from eaglecfg.schema.reference import reference
from eaglecfg.source.read import parse_document
from tests.schema.test_load import CONFIG
from tests.schema.test_refusals import HEAD
from tests.schema.test_study import STUDY

SCHEMAS = json_schemas()
FOLDER = Path(__file__).parents[2] / "schemas"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_file_is_fresh(name: str) -> None:
    committed = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert committed == SCHEMAS[name], "run: eaglecfg schema --write schemas/"


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_is_a_draft_7_schema_without_later_keywords(name: str) -> None:
    schema = SCHEMAS[name]
    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["$id"].endswith(name)
    text = json.dumps(schema)
    for keyword in ("$defs", "discriminator", "prefixItems", "x-source-text", "unevaluatedProperties"):
        assert f'"{keyword}"' not in text


def properties(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        # What a condition adds to a key has no description of its own.
        schema = {key: value for key, value in schema.items() if key not in ("if", "then")}
        found = schema.get("properties")
        if isinstance(found, dict):
            yield from ((f"{path}.{key}", value) for key, value in found.items())
        for key, value in schema.items():
            yield from properties(value, f"{path}.{key}")
    elif isinstance(schema, list):
        for value in schema:
            yield from properties(value, path)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_is_described(name: str) -> None:
    found = dict(properties(SCHEMAS[name]))
    assert found
    assert [path for path, schema in found.items() if not schema.get("description")] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_has_an_example_that_it_takes(name: str) -> None:
    schema = SCHEMAS[name]
    for path, key in properties(schema):
        # NCCL's variables and the engine's flags: their blocks have examples.
        if ".Nccl." not in path and ".Server." not in path:
            assert key.get("examples"), f"{path} has no example: Field(examples=[...])"
        for example in key.get("examples", ()):
            whole = {**key, "definitions": schema.get("definitions", {})}
            assert list(Draft7Validator(whole).iter_errors(example)) == [], f"{path}: {example}"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_reference_has_every_key_once_and_links_to_its_blocks(name: str) -> None:
    lines = list(reference(SCHEMAS[name]))
    rows = Counter(line.split("`")[1] for line in lines if line.startswith("| `"))
    keys = {path.rpartition(".")[2] for path, _ in properties(SCHEMAS[name]) if "Defaults." not in path}
    assert rows.keys() == keys
    headings = {
        re.sub(r"[^\w\- ]", "", line[4:].lower()).replace(" ", "-") for line in lines if line[:4] == "### "
    }
    assert set(re.findall(r"\(#([^)]+)\)", "\n".join(lines))) == headings
    assert all(
        line.count(" | ") == lines[n - 1].count(" | ") for n, line in enumerate(lines) if line[:3] == "| `"
    )


def test_every_reference_leads_somewhere() -> None:
    for schema in SCHEMAS.values():
        text = json.dumps(schema)
        for name in {part.split('"')[0] for part in text.split("#/definitions/")[1:]}:
            assert name in schema["definitions"]


def errors(schema: str, text: str) -> list[str]:
    # An editor sees the numbers of YAML, as plain data.
    data = parse_document(text, "x.yaml", ".").data
    return [error.message for error in Draft7Validator(SCHEMAS[schema]).iter_errors(data)]


def test_good_files_pass() -> None:
    assert errors("eaglecfg.schema.json", CONFIG) == []
    assert errors("study.schema.json", STUDY) == []
    assert errors("eaglecfg-training.schema.json", "{version: 1, boundaries: [3, 31, 59], note: x}") == []


@pytest.mark.parametrize(
    "line",
    [
        "tp_size: 8",
        "parallel: {tp_size: '8'}",
        "parallel: {tpsize: 8}",
        "speculative: false",
        "speculative: none",
        "speculative: {num_steps: x}",
        "draft: {}",
        "capture: {layer_ids: 2}",
        "hardware: {topology: mesh}",
        "env: {A: [1]}",
        "server: [a]",
        "draft: {checkpoint: null}",
        "parallel: {tpsize: null}",
        "capture: {layer_ids: [null]}",
        "unchecked_variables: [null]",
    ],
)
def test_what_the_loader_refuses_an_editor_marks(line: str) -> None:
    assert errors("eaglecfg.schema.json", f"{HEAD}  chat:\n    target: {{checkpoint: t}}\n    {line}\n")


@pytest.mark.parametrize(
    "lines",
    [
        *(f"{name}:" for name in ("draft", "capture", "parallel", "speculative", "server", "nccl", "env")),
        "hardware: null",
        "speculative: {algorithm: EAGLE3, num_steps: null}",
        "speculative: {algorithm: EAGLE3, num_steps: ~}",
        "capture: {layer_ids: null}",
        "hardware: {topology: null}",
        "unchecked_variables:",
        "expected_accept_length: null",
        "parallel: {tp_size: null, enable_dp_attention: null}",
        "speculative: {algorithm: null}",
        "nccl: {proto: null, p2p_level: null, buffsize: null, of_tomorrow: null}",
        "env: {A: null}",
        "server: {attention_backend: null, of_tomorrow: null}",
    ],
)
def test_what_is_empty_is_no_fault_for_either(lines: str) -> None:
    text = f"{HEAD.replace('deployments:', 'defaults:' + chr(10) + 'deployments:')}  chat:\n"
    for given in (text, HEAD + "  chat:\n"):
        whole = f"{given}    target: {{checkpoint: t}}\n    {lines}\n"
        assert load_config(parse_document(whole, "x.yaml", ".")).problems == ()
        assert errors("eaglecfg.schema.json", whole) == []


FAULTS = [
    # (where, what, a part of the one message)
    ("tp_size: 8", "'tp_size' was unexpected"),
    ("parallel: {tp_size: '8'}", "'8' is not of type 'integer'"),
    ("parallel: {tpsize: 8}", "'tpsize' was unexpected"),
    ("parallel: 8", "8 is not of type 'object', 'null'"),
    ("speculative: false", "is not of type 'object', 'string', 'null'"),
    ("speculative: none", "'none' is not one of ['off']"),
    ("speculative: {num_steps: x}", "'x' is not of type 'integer', 'null'"),
    ("speculative: {steps: 3}", "'steps' was unexpected"),
    ("draft: d", "'d' is not of type 'object', 'null'"),
    ("capture: {layer_ids: 2}", "2 is not of type 'array', 'null'"),
    ("capture: {layer_ids: [a]}", "'a' is not of type 'integer'"),
    (
        "hardware: {topology: mesh}",
        "'mesh' is not one of ['single', 'nvswitch', 'nvlink-pair', 'pcie', None]",
    ),
    ("hardware: {topology: 5}", "5 is not one of ['single'"),
    ("hardware: {gpu: [H200]}", "is not of type 'string', 'number', 'boolean', 'null'"),
    ("env: {A: [1]}", "[1] is not of type 'string', 'number', 'boolean'"),
    ("draft: {checkpoint: null}", "None is not of type 'string'"),
    ("server: [a]", "['a'] is not of type 'object', 'null'"),
    ("nccl: {p2p_level: FAR}", "'FAR' is not one of ['LOC'"),
    ("nccl: {buffsize: 4M}", "'4M' does not match"),
    ("nccl: {buffsize: 1}", "1 is less than the minimum of 65536"),
    ("nccl: {buffsize: true}", "True is not of type 'integer', 'string'"),
    ("expected_accept_length: 0", "0 is less than or equal to the minimum of 0"),
]


@pytest.mark.parametrize(("line", "says"), FAULTS)
@pytest.mark.parametrize("defaults", [False, True])
@pytest.mark.parametrize("above", [False, True])
def test_each_fault_is_found_once_and_says_what_is_taken(
    line: str, says: str, defaults: bool, above: bool
) -> None:
    head, target = HEAD, "    target: {checkpoint: t}\n"
    if above:  # the fault itself stands under defaults
        text = HEAD.replace("deployments:", f"defaults:\n  {line}\ndeployments:") + f"  chat:\n{target}"
    else:
        head = HEAD.replace("deployments:", "defaults: {env: {A: b}}\ndeployments:") if defaults else HEAD
        text = f"{head}  chat:\n{target}    {line}\n"
    (found,) = errors("eaglecfg.schema.json", text)
    assert says in found
    assert "under any of the given schemas" not in found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{HEAD}  chat: {{}}\n", "'target' is a required property"),
        (f"{HEAD}  chat: {{target: {{}}}}\n", "'checkpoint' is a required property"),
        (f"{HEAD}  chat: {{target: {{checkpoint: t}}, draft: {{}}}}\n", "'checkpoint' is a required"),
        (f"{HEAD}  chat: 5\n", "5 is not of type 'object'"),
        (f"{HEAD}  chat:\n", "None is not of type 'object'"),
        (f"{HEAD}  chat: {{target: null}}\n", "None is not of type 'object'"),
        (HEAD.replace("version: 1", "version: 2") + "  a: {target: {checkpoint: t}}\n", "1 was expected"),
        (HEAD.replace("version: 1", "version: x") + "  a: {target: {checkpoint: t}}\n", "1 was expected"),
        (HEAD.replace("deployments:", "defaults: 5\ndeployments:") + "  a: {}\n", "5 is not of type"),
        (
            HEAD.replace("deployments:", "deployment: 5\ndeployments:") + "  a: {target: {checkpoint: t}}\n",
            "'deployment' was",
        ),
    ],
)
def test_each_fault_of_the_frame_is_found_once(text: str, says: str) -> None:
    (found,) = errors("eaglecfg.schema.json", text)
    assert says in found


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("profile: overnight", "profile: long", "'long' is not one of ['demo', 'short', 'overnight']"),
        ("budget:", "bugdet:", "'bugdet' was unexpected"),
        ("deployment: chat\n", "deployment: chat\nstep_cost: 5\n", "5 is not of type 'object', 'null'"),
        (
            "deployment: chat\n",
            "deployment: chat\nbaselines: [of]\n",
            "'of' is not one of ['as_it_stands', 'off']",
        ),
        ("deployment: chat\n", "deployment: chat\nversion: 1\n", ""),
    ],
)
def test_each_fault_of_a_study_is_found_once(old: str, new: str, says: str) -> None:
    found = errors("study.schema.json", STUDY.replace(old, new))
    assert len(found) == (1 if says else 0), found
    assert says in "".join(found)


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_schema_has_a_union_that_can_only_say_no(name: str) -> None:
    text = json.dumps(SCHEMAS[name])
    assert '"anyOf"' not in text
    assert '"oneOf"' not in text


def test_options_of_one_type_cannot_be_told_apart() -> None:
    with pytest.raises(ValueError, match="told apart by type"):
        once({"anyOf": [{"$ref": "#/definitions/A"}, {"$ref": "#/definitions/B"}]})


def test_a_file_without_deployments_is_a_fault_for_both() -> None:
    text = HEAD.replace("deployments:\n", "deployments: {}\n")
    assert load_config(parse_document(text, "x.yaml", ".")).problems
    assert errors("eaglecfg.schema.json", text)


def test_bad_studies_and_records_are_marked() -> None:
    assert errors("study.schema.json", STUDY.replace("deployment: chat\n", ""))
    assert errors("study.schema.json", STUDY.replace("profile: overnight", "profile: long"))
    assert errors("study.schema.json", STUDY.replace("budget:", "bugdet:"))
    assert errors("eaglecfg-training.schema.json", "{version: 1}")
    assert errors("eaglecfg-training.schema.json", "{version: 1, boundaries: [a]}")


def test_nothing_is_required_under_defaults() -> None:
    text = HEAD.replace("deployments:", "defaults: {target: {hidden_size: 8}}\ndeployments:")
    assert errors("eaglecfg.schema.json", f"{text}  a: {{target: {{checkpoint: t}}}}\n") == []
    text = HEAD.replace("deployments:", "defaults: {target: {hiden_size: 8}}\ndeployments:")
    assert errors("eaglecfg.schema.json", f"{text}  a: {{target: {{checkpoint: t}}}}\n")
