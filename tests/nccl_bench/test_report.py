"""The result as text, Markdown and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from eaglecfg.nccl.bench.launches import Launch, Recorded
from eaglecfg.nccl.bench.setting import DEFAULT, Setting
from eaglecfg.nccl.bench.verdicts import Outcome
from eaglecfg.report.bench_allreduce import as_data, as_json, interval, markdown, render
from eaglecfg.report.machine import error_json
from eaglecfg.report.styled import plain
from eaglecfg.tune.collective_judge import judge
from tests.nccl_bench.conftest import LL, launch, make_plan

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schemas" / "bench-allreduce.schema.json").read_text(encoding="utf-8")
)
FACTS = {
    "torch": "2.11.0",
    "nccl": "2.28.9",
    "driver": "580.1",
    "gpus": [{"name": "NVIDIA H200", "uuid": "GPU-0"}, {"name": "NVIDIA H200", "uuid": "GPU-1"}],
}
ODD = Setting("odd\x1b[31m|name", {"NCCL_ALGO": "a|b"})


@pytest.fixture
def outcome() -> Outcome:
    plan = make_plan(settings=[LL, ODD], inherited={"NCCL_NVLS_ENABLE": "0"})
    launches = [
        launch(name, number, {14336: us + number / 100, 57344: 2 * us}, facts=FACTS)
        for name, us in ((DEFAULT, 12.5), ("LL", 11.8))
        for number in range(3)
    ]
    bad = Launch(ODD.name, "check", -1, 16.0, "hang", "no step for 15 s\x1b[0m", ("NCCL WARN x | y", "\x07"))
    return judge(Recorded(plan, (bad, *launches), True))


def test_text_holds_every_setting_and_says_what_is_real(outcome: Outcome) -> None:
    text = plain(render(outcome, 110))
    assert text.startswith("All-reduce of bfloat16 over 2 ranks: 2 x NVIDIA H200, NCCL 2.28.9, torch 2.11.0")
    assert "14 KiB (verify at batch 1)" in text
    assert "14 KiB: real against the default: LL -5.6 %." in text
    assert "All 2 intervals hold together with 95 %, over 3 fresh launches" in text
    assert "ran with this from the environment and nccl.conf: NCCL_NVLS_ENABLE=0." in text
    assert "failed (hang): no step for 15 s" in text
    assert max(map(len, text.splitlines())) <= 110


def test_names_and_logs_cannot_drive_a_terminal(outcome: Outcome) -> None:
    for text in (plain(render(outcome, 110)), markdown(outcome)):
        assert "\x1b" not in text
        assert "\x07" not in text


def test_bytes_that_are_no_text_are_escaped_everywhere() -> None:
    odd = Setting("X='\udcff'", {"X": "\udcff"})
    plan = make_plan(settings=[odd], python="/opt/\udcfe/python", inherited={"NCCL_X": "\udcfd"})
    outcome = judge(Recorded(plan, (launch(odd.name, 0, {14336: 1.0}),), True))
    for text in (plain(render(outcome, 110)), markdown(outcome), as_json(outcome, 0, version="0")):
        text.encode("utf-8")
    assert json.loads(as_json(outcome, 0, version="0"))["plan"]["inherited"] == {"NCCL_X": "\udcfd"}


@pytest.mark.parametrize("width", [1, 40, 80, 200])
def test_any_width_gives_a_table(outcome: Outcome, width: int) -> None:
    assert "faster" in plain(render(outcome, width))


def test_long_names_are_cut_in_tables_and_stand_whole_below() -> None:
    long = Setting("NCCL_TUNER_PLUGIN=" + "x" * 300, {"NCCL_TUNER_PLUGIN": "x" * 300})
    text = plain(
        render(judge(Recorded(make_plan(settings=[long]), (launch(long.name, 0, {14336: 1.0}),), True)), 110)
    )
    table, _, below = text.partition("\n\nNCCL_TUNER")
    assert max(map(len, table.splitlines())) <= 110
    assert "x" * 300 in below


def test_names_that_do_not_tell_their_variables_are_explained(outcome: Outcome) -> None:
    assert "LL: NCCL_PROTO=LL" in plain(render(outcome, 110))


def test_markdown_tables_have_as_many_cells_in_every_row(outcome: Outcome) -> None:
    rows = [line for line in markdown(outcome).splitlines() if line.startswith("|")]
    counts = [line.replace("\\|", "").count("|") for line in rows]
    assert counts == [4] * (2 + 3) + [8] * (2 * (2 + 3))  # all sizes in one, then one for each size


def test_json_is_as_its_schema_says(outcome: Outcome) -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    data = json.loads(as_json(outcome, 1, version="1.2.3"))
    jsonschema.validate(data, SCHEMA)
    assert data["summary"]["exit_code"] == 1
    assert [each["verdict"] for each in data["results"]][:3] == ["baseline", "faster", "failed"]


def test_json_of_nothing_and_of_an_error_are_as_the_schema_says() -> None:
    nothing = judge(Recorded(make_plan(settings=[LL]), (), False))
    jsonschema.validate(as_data(nothing, 1, version="0"), SCHEMA)
    jsonschema.validate(json.loads(error_json("it broke", 2, version="0")), SCHEMA)


def test_every_key_of_the_result_is_in_the_schema(outcome: Outcome) -> None:
    data = as_data(outcome, 0, version="0")
    for name, part in (
        ("plan", data["plan"]),
        ("summary", data["summary"]),
        ("facts", data["facts"]),
    ):
        assert set(part) <= set(SCHEMA["properties"][name]["properties"]), name
    assert set(data) <= set(SCHEMA["properties"])
    for name in ("results", "failures"):
        assert set(data[name][0]) == set(SCHEMA["properties"][name]["items"]["properties"])


def test_an_interval_that_means_nothing_is_words() -> None:
    assert interval(-0.07, -0.04) == "-7.0 to -4.0 %"
    assert interval(-0.9, 40.0) == "not resolved"
