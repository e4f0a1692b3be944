"""``validate --with-engine``, with an invented engine on PYTHONPATH."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from tests.engines.invented import write_engine

from .conftest import RunLine


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good deployment on sglang 0.5.14 in the current folder; engines go to ``tmp_path / "site"``."""
    materialize({"engine": "0.5.14"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    return tmp_path


def report(run_line: RunLine, *arguments: str) -> dict[str, Any]:
    code, out, err = run_line("validate", "--with-engine", "--format", "json", *arguments)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def messages(found: dict[str, Any]) -> list[str]:
    return [one["message"] for one in found["findings"] if one["rule"] == "EC340"]


def severities(found: dict[str, Any]) -> list[str]:
    return [one["severity"] for one in found["findings"] if one["rule"] == "EC340"]


def test_an_engine_that_agrees_is_a_pass(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site")
    found = report(run_line)
    assert messages(found) == []
    assert "EC340" not in {one["rule"] for one in found["not_checked"]}


def test_an_engine_that_disagrees_is_a_finding_at_the_setting(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site", "self.speculative_num_draft_tokens = 6; self.max_running_requests = 32")
    found = report(run_line, "--engine-python", sys.executable)
    assert sorted(messages(found)) == [
        "sglang 0.5.14 runs max_running_requests 32, where the facts say 48",
        "sglang 0.5.14 runs speculative_num_draft_tokens 6, where the facts say 4",
    ]
    assert severities(found) == ["warning", "warning"]


@pytest.mark.parametrize(
    "does",
    [
        "self.load_balance_method = 'round_robin'",
        "self.boundary_reduction = 'rs+rsv'",
        "self.mamba_scheduler_strategy = 'no_buffer'",
        "self.moe_runner_backend = 'flashinfer_trtllm'; self.disable_shared_experts_fusion = True",
        "self.mem_fraction_static = 0.83; self.cuda_graph_max_bs_decode = 64",
        "self.schedule_conservativeness = 0.3",
    ],
)
def test_what_an_engine_settles_by_itself_is_not_worth_a_word(
    run_line: RunLine, pair: Path, does: str
) -> None:
    """What the real engine moves of flags that nobody wrote, and that no rule judges by their default."""
    write_engine(pair / "site", does)
    assert messages(report(run_line)) == []


def test_a_default_that_a_rule_goes_by_and_that_does_not_run_is_told(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site", "self.disable_cuda_graph = True; self.nnodes = 2")
    found = report(run_line)
    assert severities(found) == ["info"]
    assert "disable_cuda_graph True, not its default False" in messages(found)[0]
    assert "nnodes 2, not its default 1" in messages(found)[0]


@pytest.mark.parametrize(
    ("server", "does", "told"),
    [
        (
            {"load_balance_method": "total_tokens"},
            "self.load_balance_method = 'round_robin'",
            "runs load_balance_method 'round_robin', where the facts say 'total_tokens'",
        ),
        (
            {"schedule_conservativeness": 1.5},
            "self.schedule_conservativeness = 0.45",
            "runs schedule_conservativeness 0.45, where the facts say 1.5",
        ),
        (
            {"disable_radix_cache": True},
            "self.disable_radix_cache = False",
            "runs disable_radix_cache False, where the facts say True",
        ),
    ],
)
def test_what_was_written_and_is_moved_is_told(
    run_line: RunLine, pair: Path, server: dict[str, Any], does: str, told: str
) -> None:
    write_engine(pair / "site", does)
    materialize({"engine": "0.5.14", "deployment": {"server": server}}, pair)
    found = report(run_line)
    assert severities(found) == ["warning"]
    assert told in messages(found)[0]


def test_auto_leaves_the_choice_to_the_engine_written_or_not(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site", "self.load_balance_method = 'round_robin'")
    materialize({"engine": "0.5.14", "deployment": {"server": {"load_balance_method": "auto"}}}, pair)
    assert messages(report(run_line)) == []


def test_another_version_is_said_and_not_compared(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site", "self.speculative_num_draft_tokens = 6", version="0.5.9")
    assert messages(report(run_line)) == [
        "the installed sglang is 0.5.9, but engine.version is 0.5.14: its settings were not compared"
    ]


def test_a_build_for_another_cuda_is_the_same_version(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site", version="0.5.14+cu129")
    assert messages(report(run_line)) == []


def test_what_the_engine_refuses_and_the_facts_do_not_is_a_finding(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site", "raise ValueError('not on a Sunday')")
    found = messages(report(run_line))
    assert len(found) == 1
    assert "refuses these arguments" in found[0]
    assert "not on a Sunday" in found[0]


def test_what_both_refuse_is_no_disagreement(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site")
    materialize({"engine": "0.5.14", "deployment": {"server": {"nonsense": 1}}}, pair)
    code, out, _ = run_line("validate", "--with-engine", "--format", "json")
    found = json.loads(out)
    assert code == 1
    assert {one["rule"] for one in found["findings"] if one["severity"] != "info"} == {"EC301"}
    assert messages(found) == []


@pytest.mark.parametrize(
    ("does", "first", "reason"),
    [
        ("raise RuntimeError('no driver')", "", "no driver"),
        ("import os; os._exit(3)", "", "exit code 3"),
        ("pass", "raise ImportError('no torch')", "--engine-python"),
    ],
)
def test_an_engine_that_cannot_answer_is_not_checked(
    run_line: RunLine, pair: Path, does: str, first: str, reason: str
) -> None:
    write_engine(pair / "site", does, first=first)
    found = report(run_line)
    assert messages(found) == []
    reasons = [one["reason"] for one in found["not_checked"] if one["rule"] == "EC340"]
    assert len(reasons) == 1
    assert reason in reasons[0]


def test_what_depends_on_the_machine_is_left_out_without_an_accelerator(
    run_line: RunLine, pair: Path
) -> None:
    write_engine(
        pair / "site",
        "if self.device != 'cpu': raise RuntimeError('No accelerator')\n        self.page_size = 128",
    )
    found = report(run_line)
    assert messages(found) == []
    reasons = [one["reason"] for one in found["not_checked"] if one["rule"] == "EC340"]
    assert ["No accelerator" in reason and "--device cpu" in reason for reason in reasons] == [True]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--engine-python", "python3"], "--with-engine"),
        (["--with-engine", "--engine-version", "0.5.12"], "--engine-version"),
        (["--with-engine", "--engine-python", "./nowhere"], "./nowhere cannot be started"),
    ],
)
def test_options_that_make_no_sense_exit_2(
    run_line: RunLine, pair: Path, arguments: list[str], says: str
) -> None:
    code, _, err = run_line("validate", *arguments)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


NO_GPU = "if self.device != 'cpu': raise RuntimeError('No accelerator here')"


def test_a_refusal_that_no_machine_changes_is_a_finding_without_an_accelerator_too(
    run_line: RunLine, pair: Path
) -> None:
    write_engine(pair / "site", NO_GPU, checks="assert self.speculative_num_steps > 9, 'too short'")
    assert "too short" in messages(report(run_line))[0]


def test_a_refusal_that_asks_for_the_machine_is_left_open_without_an_accelerator(
    run_line: RunLine, pair: Path
) -> None:
    write_engine(pair / "site", NO_GPU, checks="assert self.device == 'cuda', 'CUDA only'")
    found = report(run_line)
    assert messages(found) == []
    assert any("CUDA only" in one["reason"] for one in found["not_checked"] if one["rule"] == "EC340")


def test_a_check_that_breaks_is_said(run_line: RunLine, pair: Path) -> None:
    write_engine(pair / "site", checks="raise RuntimeError('no cuDNN here')")
    found = report(run_line)
    assert messages(found) == []
    assert any("no cuDNN here" in one["reason"] for one in found["not_checked"] if one["rule"] == "EC340")
