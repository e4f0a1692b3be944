"""``eaglecfg doctor``, run as a user would, on whatever machine the tests run on."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from eaglecfg.machine.links import Links, Pair
from eaglecfg.machine.nvml import NoNvml, open_nvml
from eaglecfg.record import replace
from eaglecfg.report.doctor import render
from eaglecfg.report.doctor_json import NAME, as_json, json_schema
from eaglecfg.report.styled import plain
from tests.cli.conftest import RunLine
from tests.machine.good import GOOD
from tests.machine.test_findings import CASES

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / NAME).read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "doctor.md"
WITH_GPU = not isinstance(open_nvml(), NoNvml)


def checked(text: str) -> dict[str, Any]:
    """The JSON output, valid by the committed schema."""
    data: dict[str, Any] = json.loads(text)
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(data)] == []
    return data


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without variables that could be wrong."""
    for name in list(os.environ):
        if name.startswith(("NCCL_", "TORCH_NCCL_", "CUDA_", "SGLANG_")):
            monkeypatch.delenv(name)


def test_the_committed_schema_is_that_of_the_records() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert json_schema() == SCHEMA, "write it anew: report.doctor_json.json_schema()"


def test_the_look_as_json_follows_the_schema(run_line: RunLine) -> None:
    code, out, err = run_line("doctor", "--format", "json")
    data = checked(out)
    assert err == ""
    assert data["summary"]["exit_code"] == code
    assert data["summary"]["error"] == sum(one["severity"] == "error" for one in data["findings"])
    assert data["machine"]["python"]["executable"] == sys.executable


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_every_finding_follows_the_schema_and_can_be_shown(case: Any) -> None:
    from eaglecfg.machine.diagnosis import diagnose

    findings = diagnose(case[2])
    data = checked(as_json(case[2], findings, case[2].unseen, 0, version="1"))
    assert case[0] in [one["code"] for one in data["findings"]]
    text = plain(render(case[2], findings, case[2].unseen, version="1", width=100))
    assert f"[{case[0]}]" in text
    assert max(map(len, text.splitlines())) <= 160


def test_a_good_machine_says_so() -> None:
    text = plain(render(GOOD, [], (), version="1", width=100))
    assert text.endswith("nothing wrong in what was seen\n")
    assert "topology     nvswitch: NVLink joins every pair through switches\n" in text
    assert "\n             0-1: NVLink through switches, P2P ok, PCIe SYS\n" in text
    assert "torch and the engine load the same one" in text
    assert '      gpu: "H200"\n' in text


def test_pairs_that_are_alike_stand_together() -> None:
    def shown(*joined: tuple[int, int]) -> str:
        pairs = tuple(
            Pair(a, b, (a, b) in joined, 4 if (a, b) in joined else 0, False, "ok", "SYS")
            for a, b in itertools.combinations(range(4), 2)
        )
        machine = replace(GOOD, links=Links(pairs, "pcie", ""))
        return plain(render(machine, [], (), version="1", width=100))

    assert " all 6 pairs: no NVLink, P2P ok, PCIe SYS\n" in shown()
    assert " 0-1 2-3: 4 NVLinks, P2P ok, PCIe SYS\n" in shown((0, 1), (2, 3))
    assert " 0-2 0-3 1-2 1-3: no NVLink, P2P ok, PCIe SYS\n" in shown((0, 1), (2, 3))


def test_findings_end_with_exit_code_one_from_the_asked_severity_on(
    run_line: RunLine, monkeypatch: pytest.MonkeyPatch, quiet: None
) -> None:
    monkeypatch.setenv("TORCH_NCCL_PROTO", "LL")
    assert run_line("doctor", "--fail-on", "warning")[0] == 1
    monkeypatch.setenv("NCCL_BUFFSIZE", "4M")
    code, out, _ = run_line("doctor")
    assert code == 1
    assert "NCCL_BUFFSIZE=4M: NCCL reads 4" in re.sub(r"\s+", " ", out)


@pytest.mark.skipif(WITH_GPU, reason="this machine has GPUs to see")
def test_without_a_gpu_it_says_so_and_ends_well(run_line: RunLine, quiet: None) -> None:
    code, out, _ = run_line("doctor")
    assert "GPUs and their links:" in out
    assert "no block to paste: no GPU was seen" in out
    assert code in (0, 1)
    assert run_line("doctor", "--strict")[0] in (1, 3)


def test_strict_gives_three_where_something_was_not_seen(
    run_line: RunLine, quiet: None, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    first = json.dumps({"stage": "python", "executable": str(python), "version": "3.12.3"})
    python.write_text(f"#!/bin/sh\necho '{first}'\nexit 3\n")
    python.chmod(0o755)
    for strict, expected in ((["--strict"], 3), ([], 0)):
        code, out, _ = run_line("doctor", "--format", "json", "--python", str(python), *strict)
        data = checked(out)
        if data["summary"]["error"]:
            pytest.skip("this machine has faults of its own")
        assert f"all of {python}" in [one["what"] for one in data["unseen"]]
        assert code == expected


def test_secrets_of_the_shell_are_not_shown(run_line: RunLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_API_KEY", "topsecret-1")
    monkeypatch.setenv("SGLANG_PROXY", "http://me:topsecret-2@host")
    for form in ("text", "json"):
        out = run_line("doctor", "--format", form)[1]
        assert "SGLANG_API_KEY" in out
        assert "topsecret" not in out


def test_signs_that_drive_a_terminal_are_escaped(run_line: RunLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG_FILE", "a\x1b[2Jb\nc")
    out = run_line("doctor")[1]
    assert "\x1b" not in out
    assert r"a\x1b[2Jb\nc" in out


@pytest.mark.parametrize("form", ["text", "json"])
def test_bytes_that_are_no_text_are_shown_escaped(form: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eaglecfg", "doctor", "--format", form]
    environ = {b"PYTHONPATH": os.fsencode(ROOT), b"NCCL_DEBUG_FILE": b"a\xffb", b"LC_ALL": b"C.UTF-8"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, timeout=60)
    assert done.stderr == b""
    assert b"a\\udcffb" in done.stdout or b"a\\\\udcffb" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--python", "/nowhere/python"], "--python /nowhere/python cannot be started (No such file"),
        (["--python", "/bin/false"], "--python /bin/false does not answer as a Python would (it ended with"),
        (["--python", "/bin/cat"], "--python /bin/cat does not answer as a Python would"),
        (["--python", ""], "--python takes the name of a program, got an empty one"),
        (["--python", " "], "--python takes the name of a program, got an empty one"),
        (["-d", "chat"], "--deployment chooses a deployment of --config; give both"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error_in_both_forms(
    run_line: RunLine, arguments: list[str], says: str
) -> None:
    code, out, err = run_line("doctor", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1
    code, out, _ = run_line("doctor", "--format", "json", *arguments)
    data = checked(out)
    assert (code, data["summary"]["exit_code"]) == (2, 2)
    assert says in data["error"]["message"]


def test_options_that_make_no_sense_are_refused(run_line: RunLine) -> None:
    assert run_line("doctor", "--time-limit", "0")[0] == 2
    assert run_line("doctor", "--fail-on", "never")[0] == 2
    assert run_line("doctor", "extra")[0] == 2


def test_a_config_is_compared(run_line: RunLine, good: Path, quiet: None) -> None:
    config = good / "eaglecfg.yaml"
    config.write_text(config.read_text() + "# changed\n")
    code, out, _ = run_line("doctor", "--config", "eaglecfg.yaml", "--format", "json")
    data = checked(out)
    names = [one["what"] for one in data["unseen"]]
    assert any(name.startswith("hardware of ") for name in names)
    assert code in (0, 1)
    code, _, err = run_line("doctor", "--config", "eaglecfg.yaml", "-d", "nope")
    assert code == 2
    assert "has no deployment 'nope' to compare with; it has " in err


def test_a_config_without_a_deployment_is_a_usage_error(run_line: RunLine, tmp_path: Path) -> None:
    config = tmp_path / "e.yaml"
    config.write_text("version: 1\n")
    code, _, err = run_line("doctor", "--config", str(config))
    assert code == 2
    assert "has no deployment to compare with" in err


def test_the_declared_port_is_the_one_that_is_looked_at(run_line: RunLine, tmp_path: Path) -> None:
    config = tmp_path / "e.yaml"
    config.write_text(
        "version: 1\nengine: {version: 0.5.14}\n"
        "deployments: {a: {target: {checkpoint: t}, server: {port: 31234}}}\n"
    )
    ports = checked(run_line("doctor", "--config", str(config), "--format", "json")[1])["machine"]["ports"]
    assert ports is None or ports["port"] == 31234


def test_a_serving_python_that_hangs_costs_its_time_limit_and_no_more(
    run_line: RunLine, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    first = json.dumps({"stage": "python", "executable": str(python), "version": "3.12.3"})
    python.write_text(f"#!/bin/sh\necho '{first}'\nsleep 60\n")
    python.chmod(0o755)
    begun = time.monotonic()
    out = run_line("doctor", "--python", str(python), "--time-limit", "0.3")[1]
    assert time.monotonic() - begun < 5
    assert "no whole answer within 0.3 s" in re.sub(r"\s+", " ", out)
    python.write_text("#!/bin/sh\nsleep 60\n")
    code, out, err = run_line("doctor", "--python", str(python), "--time-limit", "0.3")
    assert (code, out) == (2, "")
    assert "name the Python that runs the server, or wait longer with --time-limit" in err


def run_process(*arguments: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT), **changes}
    command = [sys.executable, "-m", "eaglecfg", "doctor", *arguments]
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=60)


def test_it_runs_from_the_path_alone_in_time_and_leaves_nothing(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = run_process("--format", "json", cwd=tmp_path)
    assert time.monotonic() - begun < 10  # 0.4 s on an idle machine; the bar is 3
    assert done.stderr == ""
    checked(done.stdout)
    assert list(tmp_path.iterdir()) == []


def test_it_loads_neither_torch_nor_the_engine() -> None:
    code = (
        "import io, json, sys\nfrom eaglecfg.cli.main import run\n"
        "shown, sys.stdout = sys.stdout, io.StringIO()\nrun(['doctor'])\n"
        "json.dump(sorted(name.partition('.')[0] for name in sys.modules), shown)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert not {"torch", "sglang", "transformers", "optuna"} & set(json.loads(done.stdout))


SHOWN = re.compile(r"```text\n\$ eaglecfg (?P<command>doctor[^\n]*)\n(?P<output>.*?)```", re.DOTALL)
STABLE = (
    "eaglecfg ",
    "hardware:",
    "not seen",
    "  GPUs and their links:",
    "Python ",
    "ports ",
    "limits ",
    "host ",
)
"""Beginnings of the lines that every machine without a GPU shows."""


def test_the_page_shows_the_findings_that_variables_give(tmp_path: Path) -> None:
    shown = re.search(
        r"```text\n\$ (?P<env>[A-Z].*?) eaglecfg doctor\n\.\.\.\n(?P<found>.*?)```", PAGE.read_text(), re.S
    )
    assert shown is not None
    given = dict(word.split("=") for word in shown["env"].split())
    printed = run_process(cwd=tmp_path, **given).stdout
    findings = shown["found"].rpartition("\n\n")[0]
    assert len(re.findall(r"^(?:error|warning)\[", findings, re.MULTILINE)) == len(given)
    for block in re.split(r"\n(?=error|warning)", findings):
        assert block in printed


@pytest.mark.skipif(WITH_GPU, reason="the page shows a machine without a GPU")
def test_the_page_shows_what_a_machine_without_a_gpu_prints(tmp_path: Path) -> None:
    shown = next(found for found in SHOWN.finditer(PAGE.read_text(encoding="utf-8")))
    assert shown["command"] == "doctor"
    printed = run_process(cwd=tmp_path).stdout
    for text in (shown["output"], printed):
        for start in STABLE:
            assert any(line.startswith(start) for line in text.splitlines()), f"no line {start!r} in {text}"
    for text in ("hardware: no block to paste: no GPU was seen", "no GPU was seen\n\nnot seen\n"):
        assert text in shown["output"]
        assert text in printed


def test_the_page_names_every_option(run_line: RunLine) -> None:
    options = set(re.findall(r"(--[a-z-]+)", run_line("doctor", "--help")[1])) - {"--help"}
    page = PAGE.read_text(encoding="utf-8")
    assert {option for option in options if option not in page} == {"--color", "--traceback"}
