"""``validate --weights`` on the command line and in the Python API."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import eaglecfg
from eaglecfg.cli.main import run
from eaglecfg.cli.weights_progress import progress
from eaglecfg.errors import UsageError
from eaglecfg.rules.examples import materialize
from tests.checkpoint.hub_server import Hub

from .conftest import RunLine
from .test_hub import cached, hub, pair  # noqa: F401 - fixtures

ROOT = Path(__file__).parents[2]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pair whose fc is NaN throughout, in the current folder."""
    materialize({"weights": {"fc.weight": {"fill": "nan"}}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rules(out: str) -> list[str]:
    return [found["rule"] for found in json.loads(out)["findings"] if found["severity"] != "info"]


def test_without_the_option_nothing_is_found_and_nothing_said(run_line: RunLine, broken: Path) -> None:
    code, out, err = run_line("validate")
    assert (code, err) == (0, "")
    assert "EC818" not in out
    assert "weights" not in out


def test_with_it_the_draft_is_found_dead(run_line: RunLine, broken: Path) -> None:
    code, out, err = run_line("validate", "--weights")
    assert (code, err) == (1, "")
    assert "error[EC818 dead-weights]" in out
    assert "all its 196,608 values are NaN" in out
    assert "today: silent" in out


def test_the_report_of_machines_has_it(run_line: RunLine, broken: Path) -> None:
    code, out, _ = run_line("validate", "--weights", "--format", "json")
    assert (code, rules(out)) == (1, ["EC818"])
    values: dict[str, Any] = json.loads(out)["findings"][0]["values"]
    assert values == {"tensors": ["fc.weight"], "nan": 196_608, "infinite": 0}


@pytest.mark.parametrize("option", ["--select", "--require"])
@pytest.mark.parametrize("name", ["EC818", "dead-weights", "ec82"])
def test_a_rule_that_would_look_at_nothing_is_refused(
    option: str, name: str, run_line: RunLine, broken: Path
) -> None:
    code, _, err = run_line("validate", option, name)
    assert code == 2
    assert f"{name} looks at the values of the draft's weights; give --weights too" in err
    assert run_line("validate", "--weights", option, name)[0] in (0, 1)


def test_families_can_be_selected_without_it(run_line: RunLine, broken: Path) -> None:
    assert run_line("validate", "--select", "EC8")[0] == 0
    assert run_line("validate", "--ignore", "EC818")[0] == 0
    assert run_line("validate", "--weights", "--ignore", "EC818")[0] == 0


def test_versions_side_by_side_are_refused(run_line: RunLine, broken: Path) -> None:
    code, _, err = run_line("validate", "--weights", "--engine-version", "0.5.12")
    assert code == 2
    assert "--weights reads the same values for every version" in err


def test_old_findings_can_be_kept_in_a_baseline(run_line: RunLine, broken: Path) -> None:
    assert run_line("validate", "--weights", "--write-baseline", "b.json")[0] == 0
    assert run_line("validate", "--weights", "--baseline", "b.json")[0] == 0
    code, out, _ = run_line("validate", "--baseline", "b.json")
    assert code == 0
    assert "gone" not in out


def test_strict_asks_for_them_too(run_line: RunLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    materialize(
        {"weights": {}, "draft": {"tensors": {"midlayer.mlp.up_proj.weight": ["I8", [512, 256]]}}}, tmp_path
    )
    monkeypatch.chdir(tmp_path)
    assert run_line("validate", "--weights", "--select", "EC81,EC82")[0] == 0
    assert run_line("validate", "--weights", "--select", "EC81,EC82", "--strict")[0] == 3


def test_a_draft_of_the_hub_cache_is_read(run_line: RunLine, pair: Path) -> None:  # noqa: F811
    cached(pair)
    code, out, _ = run_line("validate", "--weights", "--format", "json")
    assert (code, rules(out)) == (1, ["EC818"])  # its files are holes


def test_headers_from_the_hub_have_no_values(run_line: RunLine, pair: Path, hub: Hub) -> None:  # noqa: F811
    code, out, _ = run_line("validate", "--weights", "--online", "--format", "json")
    assert (code, rules(out)) == (3, [])
    reasons = {each["reason"] for each in json.loads(out)["not_checked"] if each["rule"] == "EC818"}
    assert reasons == {"the weights of lab/model are not on this machine, only their headers were fetched"}


def test_a_hub_id_that_is_not_here_is_unread(run_line: RunLine, pair: Path) -> None:  # noqa: F811
    code, out, _ = run_line("validate", "--weights", "--format", "json")
    assert code == 3
    assert rules(out) == []


ALL = ["EC818", "EC819", "EC820", "EC821"]


@pytest.mark.parametrize("rule", ALL)
def test_a_check_asked_for_that_could_not_run_is_incomplete(
    rule: str,
    run_line: RunLine,
    pair: Path,  # noqa: F811
) -> None:
    code, out, _ = run_line("validate", "--weights", "--select", rule)
    assert code == 3
    assert "no weights of lab/model could be read — incomplete" in out
    assert "OK" not in out


@pytest.fixture
def pickled(broken: Path) -> Path:
    """The same draft as a .bin file."""
    (broken / "draft/model.safetensors").rename(broken / "draft/pytorch_model.bin")
    return broken


def test_a_quiet_report_says_it_and_what_to_do(run_line: RunLine, pickled: Path) -> None:
    code, out, _ = run_line("validate", "--weights", "--quiet")
    assert code == 3
    assert out.count("draft holds .bin files; values are read from safetensors files only") == 1
    assert "help: save the draft as safetensors" in out


@pytest.mark.parametrize("style", ["text", "concise", "json", "github", "sarif", "gitlab"])
def test_every_format_says_what_was_not_read(style: str, run_line: RunLine, pickled: Path) -> None:
    code, out, _ = run_line("validate", "--weights", "--select", "EC818", "--format", style)
    assert code == 3
    assert "draft holds .bin files; values are read from safetensors files only" in out


def test_progress_is_told_only_where_it_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    told = progress("models/draft", lambda: now)
    for now in (0.5, 1.9, 2.1, 3.0, 7.2, 7.3):
        told(int(now * 1e8), 10**9)
    told(10**9, 10**9)
    assert capsys.readouterr().err.splitlines() == [
        "reading the weights of models/draft: 0.2 of 1.0 GB",
        "reading the weights of models/draft: 0.7 of 1.0 GB",
    ]


def test_an_interrupt_ends_it_in_one_line(broken: Path) -> None:
    size = 40 << 30  # a hole of 40 GB takes seconds to read
    path = broken / "draft/model.safetensors"
    from eaglecfg.checkpoint.sketch import write_safetensors

    write_safetensors(path, {"fc.weight": ("BF16", [256, size // 512])})
    command = [sys.executable, "-m", "eaglecfg", "validate", "--weights"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(0.7)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (130, "", "interrupted")


def test_the_python_api_reads_them_where_asked(broken: Path) -> None:
    assert eaglecfg.validate("eaglecfg.yaml").ok
    report = eaglecfg.validate("eaglecfg.yaml", weights=True)
    assert not report.ok
    assert [found.rule for found in report.findings if found.severity == "error"] == ["EC818"]
    assert report.findings[0].engine_today == "silent"
    config = eaglecfg.load("eaglecfg.yaml")
    assert not eaglecfg.validate(config, weights=True, select="EC818").ok
    with pytest.raises(UsageError):
        eaglecfg.validate("eaglecfg.yaml", weights=True, select="EC8188")


def test_explain_says_that_it_needs_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "EC818"]) == 0
    assert "needs: the values of the draft's weights (--weights)" in capsys.readouterr().out
