"""Rules of the schema family beyond what their own examples show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

Example = Mapping[str, Any]


def report(folder: Path, rule: str, **example: Any) -> Report:
    return validate([read_document(materialize(example, folder))], select=[rule])


def messages(found: Report) -> list[str]:
    return [each.finding.message for each in found.findings]


@pytest.mark.parametrize(
    ("block", "setting"),
    [
        ({"server": {"tp": 1}}, "parallel.tp_size and server.tp are"),
        ({"server": {"tensor-parallel-size": 1}}, "parallel.tp_size and server.tensor-parallel-size are"),
        ({"server": {"model_path": "x"}}, "target.checkpoint and server.model_path are"),
        (
            {"server": {"speculative_draft_model": "x"}},
            "draft.checkpoint and server.speculative_draft_model are",
        ),
        ({"server": {"speculative_algorithm": "EAGLE3"}}, "speculative.algorithm and server.specul"),
        ({"speculative": "off", "server": {"speculative_algorithm": "x"}}, "speculative and server.specul"),
        (
            {"nccl": {"NCCL_ALGO": "Ring"}, "env": {"NCCL_ALGO": "Ring"}},
            "nccl.NCCL_ALGO and env.NCCL_ALGO are",
        ),
    ],
)
def test_a_setting_given_twice_is_named_as_the_file_spells_it(
    block: Example, setting: str, tmp_path: Path
) -> None:
    (message,) = messages(report(tmp_path, "EC104", deployment=block))
    assert setting in message


NULLS: list[tuple[Example, Example, str]] = [
    (
        {"server": {"tp": 2}},
        {"parallel": {"tp_size": "<null>"}},
        "parallel.tp_size is null, but server.tp under",
    ),
    ({"server": {"tp": 2}}, {"server": {"tp_size": "<null>"}}, "server.tp_size is null, but server.tp under"),
    (
        {"parallel": {"tp_size": 2}},
        {"server": {"tp": "<null>"}},
        "server.tp is null, but parallel.tp_size under",
    ),
    (
        {"nccl": {"ALGO": "Ring"}},
        {"env": {"NCCL_ALGO": "<null>"}},
        "env.NCCL_ALGO is null, but nccl.ALGO under",
    ),
    (
        {"draft": {"revision": "x"}},
        {"server": {"speculative_draft_model_revision": "<null>"}},
        "is null, but draft.",
    ),
]


@pytest.mark.parametrize(("defaults", "own", "says"), NULLS)
def test_null_under_another_name_of_the_setting_drops_nothing_and_says_so(
    defaults: Example, own: Example, says: str, tmp_path: Path
) -> None:
    found = report(tmp_path, "EC104", config={"defaults": defaults}, deployment={"parallel": None, **own})
    (message,) = messages(found)
    assert says in message


@pytest.mark.parametrize(("defaults", "own", "says"), NULLS)
def test_null_beside_the_value_that_a_deployment_itself_gives_is_no_second_one(
    defaults: Example, own: Example, says: str, tmp_path: Path
) -> None:
    draft = {"draft": {"checkpoint": "draft", **defaults["draft"]}} if "draft" in defaults else {}
    block = {key: {**defaults.get(key, {}), **own.get(key, {})} for key in (*defaults, *own)}
    found = report(tmp_path, "EC104", deployment={"parallel": None, **block, **draft})
    assert messages(found) == []


@pytest.mark.parametrize(
    ("defaults", "own", "says"),
    [
        ({"env": {"OMP_NUM_THREADS": "8"}}, {"env": {"OMP_NUM_THREAD": "<null>"}}, "env.OMP_NUM_THREADS"),
        (
            {"server": {"attention-backend": "fa3"}},
            {"server": {"atention_backend": "<null>"}},
            "attention-ba",
        ),
        ({"nccl": {"PROTO": "LL"}}, {"nccl": {"NCCL_PORTO": "<null>"}}, "nccl.PROTO"),
        ({"nccl": {"PROTO": "LL"}}, {"nccl": {"NCCL_PROTO": "<null>"}}, ""),
        ({"nccl": {"PROTO": "LL"}}, {"nccl": {"algo": "<null>"}}, ""),
        ({"nccl": {"PROTO": "LL"}}, {"nccl": {"porto": "<null>", "proto": "<null>"}}, ""),
        ({}, {"nccl": {"porto": "<null>"}}, ""),
    ],
)
def test_null_that_nearly_names_what_is_inherited_is_a_slip(
    defaults: Example, own: Example, says: str, tmp_path: Path
) -> None:
    found = report(tmp_path, "EC104", config={"defaults": defaults}, deployment=own)
    assert [says in message for message in messages(found)] == [True] * bool(says)


def test_other_variables_are_no_nccl_variables(tmp_path: Path) -> None:
    block = {"nccl": {"algo": "Ring"}, "env": {"ALGO": "Ring", "nccl_algo": "Ring"}}
    assert messages(report(tmp_path, "EC104", deployment=block)) == []


def test_a_setting_that_the_defaults_give_twice_is_reported_once(tmp_path: Path) -> None:
    config = {
        "defaults": {"server": {"mem-fraction-static": 0.8, "mem_fraction_static": 0.8}},
        "deployments": {"other": {"target": {"checkpoint": "target"}, "speculative": "off"}},
    }
    assert len(messages(report(tmp_path, "EC104", config=config))) == 1


def test_a_declared_fact_that_no_file_tells_is_not_checked(tmp_path: Path) -> None:
    target = {"config": {"head_dim": None}}
    found = report(tmp_path, "EC105", deployment={"target": {"head_dim": 64}}, target=target)
    assert messages(found) == []
    assert [skipped.reason for skipped in found.not_checked] == ["the files do not tell target.head_dim"]


def test_no_declared_fact_is_nothing_to_check(tmp_path: Path) -> None:
    found = report(tmp_path, "EC105")
    assert (found.not_applicable, found.passed, found.not_checked) == (1, 0, ())


def test_declared_facts_are_compared_with_a_nested_config(tmp_path: Path) -> None:
    target = {
        "config": {
            "architectures": ["KimiK25ForConditionalGeneration"],
            "text_config": {"hidden_size": 7168, "num_hidden_layers": 61, "torch_dtype": "bfloat16"},
            "hidden_size": None,
            "num_hidden_layers": None,
            "dtype": None,
        }
    }
    block = {"target": {"hidden_size": 7168, "num_hidden_layers": 60, "dtype": "torch.bfloat16"}}
    found = report(tmp_path, "EC105", deployment=block, target=target)
    (reported,) = found.findings
    assert "target.num_hidden_layers is declared as 60" in reported.finding.message
    (evidence,) = reported.finding.evidence
    assert evidence.key == "text_config.num_hidden_layers"
    assert evidence.line is not None


def test_the_finding_about_an_offset_holds_all_three_lists(tmp_path: Path) -> None:
    found = report(tmp_path, "EC106", deployment={"capture": {"offset": 2, "trained_boundaries": None}})
    (reported,) = found.findings
    for numbers in ("[2, 5, 8]", "[4, 7, 10]", "[3, 6, 9]"):
        assert numbers in reported.finding.message
    assert reported.finding.fix is None
    assert reported.finding.values["effective_boundaries"] == [3, 6, 9]


def test_an_offset_is_corrected_where_the_training_settles_it(tmp_path: Path) -> None:
    found = report(tmp_path, "EC106", deployment={"capture": {"offset": 2}})
    (reported,) = found.findings
    assert reported.finding.fix is not None
    assert (reported.finding.fix.text, reported.finding.fix.path[-1]) == ("1", "offset")


def test_an_offset_without_ids_is_not_what_the_engine_does(tmp_path: Path) -> None:
    draft = {"config": {"eagle_config": {"eagle_aux_hidden_state_layer_ids": None}}}
    capture = {"offset": 1, "trained_boundaries": None}
    found = report(tmp_path, "EC106", deployment={"capture": capture}, draft=draft)
    (message,) = messages(found)
    assert "default boundaries [2, 6, 9]" in message


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"version": 1, "boundaries": []}, "at least one is captured"),
        ({"version": 1, "boundaries": [-1, 3]}, "count from 0"),
        ({"version": 1}, "it lacks boundaries"),
    ],
)
def test_a_training_record_that_cannot_be_right(record: Example, words: str, tmp_path: Path) -> None:
    (message,) = messages(report(tmp_path, "EC107", draft={"training": record}))
    assert words in message
    assert "draft/eaglecfg-training.json" in message
