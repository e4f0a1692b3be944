"""Rules about study files beyond what their own examples show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.rules.study.ec709_study_shapes import fault_of
from eaglecfg.source.read import read_document


def report(folder: Path, rule: str, prompts: bytes | None = None, **example: Any) -> Report:
    example.setdefault("study", {})
    materialize(example, folder)
    if prompts is not None:
        (folder / "prompts.jsonl").write_bytes(prompts)
    return validate([read_document(folder / "study.yaml")], select=[rule])


def messages(found: Report) -> list[str]:
    assert not found.crashes
    return [each.finding.message for each in found.findings]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b'{"prompt": "a"', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1, 2]", "is not a JSON object"),
        (b"{}", "but no keys"),
        (b'{"prompt": ""}', 'has the prompt ""'),
        (b'{"prompt": 5}', "has the prompt 5"),
        (b'{"input_ids": []}', "has the input_ids []"),
        (b'{"input_ids": [1, -1]}', "has the input_ids [1, -1]"),
        (b'{"input_ids": [1, true]}', "has the input_ids [1, true]"),
        (b'{"messages": "hi"}', "but messages"),
    ],
)
def test_the_first_line_that_is_no_prompt_is_shown(line: bytes, fault: str, tmp_path: Path) -> None:
    found = report(tmp_path, "EC705", b'{"prompt": "a"}\n\n' + line + b"\n{}\n")
    (message,) = messages(found)
    assert message.startswith("line 3 of prompts.jsonl")
    assert fault in message
    assert found.findings[0].finding.evidence[0].line == 3


def test_a_line_without_end_is_cut_off(tmp_path: Path) -> None:
    (message,) = messages(report(tmp_path, "EC705", b'{"prompt": "' + b"a" * (9 << 20)))
    assert "is longer than 8 MiB" in message


def test_too_few_prompts_to_keep_some_are_a_warning(tmp_path: Path) -> None:
    found = report(tmp_path, "EC705", b'{"prompt": "a"}\n')
    assert [each.severity for each in found.findings] == [Severity.WARNING]


def test_faults_of_the_config_are_faults_of_the_study(tmp_path: Path) -> None:
    found = report(tmp_path, "EC701", text="version: 1\nengine: {version: 1}\ndeployments: {chat: 1, b: 2}\n")
    (message,) = messages(found)
    assert "deployment chat takes a mapping, not 1 (and 1 more)" in message
    (message,) = messages(report(tmp_path, "EC701", text="a: [\n"))
    assert "a value is expected here" in message


def test_a_study_whose_deployment_was_refused_is_not_told_that_it_is_missing(tmp_path: Path) -> None:
    found = report(tmp_path, "EC702", text="version: 1\nengine: {version: 1}\ndeployments: {chat: 1}\n")
    assert messages(found) == []


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"speculativ.num_steps": [1]}, "write speculative.num_steps"),
        ({"speculative.steps": [1]}, "write speculative.num_steps"),
        ({"speculative.token_map": ["x"]}, "server.speculative_token_map"),
        ({"parallel": [1]}, "such as parallel.tp_size"),
        ({"tp_size": [1, 2]}, "write parallel.tp_size"),
        ({"capture.offset": [0, 1]}, "only declares"),
        ({"server.mem-fraction-statik": [0.8]}, "write server.mem_fraction_static"),
        ({"target.checkpont": ["a"]}, "write target.checkpoint"),
    ],
)
def test_unknown_keys_of_the_space_get_a_proposal(
    space: Mapping[str, Any], words: str, tmp_path: Path
) -> None:
    found = report(tmp_path, "EC703", study={"space": {"speculative.num_steps": None, **space}})
    assert len(messages(found)) == 1
    assert words in found.findings[0].finding.help


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"parallel.tp_size": [1, "two"]}, "parallel.tp_size takes a whole number"),
        ({"parallel.tp_size": [1, True]}, "parallel.tp_size takes a whole number, not true"),
        ({"parallel.tp_size": {"low": 1, "high": "x"}}, 'a number for high, not "x"'),
        ({"parallel.tp_size": {"low": 1, "high": 8, "step": 0}}, "a step above 0"),
        ({"parallel.tp_size": {"low": 1, "high": 8, "log": True, "step": 1}}, "a step above 1"),
        ({"parallel.tp_size": {"low": 0, "high": 8, "log": True}}, "must begin above 0"),
        ({"parallel.tp_size": {"low": 1, "high": 8, "by": 2}}, 'has the key "by"'),
        ({"parallel.tp_size": {"low": 1, "high": 8, "log": 2}}, "true or false for log"),
        ({"speculative": ["on"]}, "speculative takes off or a mapping"),
        ({"speculative": [{"num_steps": [1, "x"]}]}, "speculative.num_steps takes a whole number"),
        ({"speculative": [{"num_steps": []}]}, "no choices"),
        ({"speculative": [{"num_steps": {"low": 3, "high": 1}}]}, "from 3 down to 1"),
        ({"speculative": ["off", "off"]}, "twice"),
        ({"nccl.proto": [["LL"]]}, "nccl.proto takes text"),
    ],
)
def test_choices_that_a_key_cannot_take(space: Mapping[str, Any], words: str, tmp_path: Path) -> None:
    found = report(tmp_path, "EC704", study={"space": {"speculative.num_steps": None, **space}})
    (message,) = messages(found)
    assert words in message


@pytest.mark.parametrize(
    "space",
    [
        {"parallel.tp_size": ["unset", 1, 2]},
        {"server.anything": [1, "a", True, None]},
        {"server.one_value": True},
        {"nccl.min_nchannels": ["unset", 8, 16]},
        {"speculative": ["off", "unset", {"num_steps": {"low": 1, "high": 4}, "eagle_topk": [1, 2]}]},
        {"server.mem_fraction_static": [{"low": 0.7, "high": 0.9, "step": 0.05}, 0.95]},
    ],
)
def test_choices_that_a_key_can_take(space: Mapping[str, Any], tmp_path: Path) -> None:
    study = {"space": {"speculative.num_steps": None, **space}}
    assert messages(report(tmp_path, "EC704", study=study)) == []


@pytest.mark.parametrize(
    ("steps", "topk", "tokens", "fits"),
    [
        (3, 1, 4, True),
        (3, 1, 5, False),
        (0, 1, 1, False),
        (3, 0, 4, False),
        (None, None, 1, False),
        (3, None, None, True),
        (2, 4, 21, True),
        (2, 4, 22, False),
        (1, 4, 5, True),
        (1, 4, 6, False),
    ],
)
def test_shapes(steps: int | None, topk: int | None, tokens: int | None, fits: bool) -> None:
    assert (fault_of((steps, topk, tokens)) is None) is fits


def test_a_space_in_which_no_shape_fits_is_an_error(tmp_path: Path) -> None:
    space = {"speculative.num_steps": [2], "speculative.num_draft_tokens": [7, 8]}
    found = report(tmp_path, "EC709", study={"space": space})
    assert [each.severity for each in found.findings] == [Severity.ERROR]


def test_huge_ranges_of_shapes_are_judged_in_time(tmp_path: Path) -> None:
    wide = {"low": 1, "high": 10**12}
    space = {"speculative.num_steps": wide, "speculative.eagle_topk": wide}
    assert messages(report(tmp_path, "EC709", study={"space": space}))


@pytest.mark.parametrize(
    ("budget", "count"),
    [({"until": "24:00"}, 1), ({"until": "07:00"}, 0), ({"until": "700"}, 1), ({"hours": -1.0}, 1)],
)
def test_times_of_day(budget: Mapping[str, Any], count: int, tmp_path: Path) -> None:
    assert len(messages(report(tmp_path, "EC707", study={"budget": budget}))) == count
