"""Commands, their exit codes and their streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eaglecfg.rules.registry import ALL_RULES

from .conftest import RunLine


def test_a_good_deployment_is_ok(run_line: RunLine, good: Path) -> None:
    code, out, err = run_line("validate")
    assert (code, err) == (0, "")
    assert "0 errors · 0 warnings" in out
    assert "OK  nothing at or above error (exit 0)" in out


def test_a_wrong_wiring_is_an_error_with_both_lists(run_line: RunLine, shifted: Path) -> None:
    code, out, _ = run_line("validate", "--format", "concise")
    assert code == 1
    assert "[3, 6, 9]" in out
    assert "[2, 5, 8]" in out
    assert len([each for each in out.splitlines() if "error[" in each]) == 1


def test_json_goes_to_stdout_alone(run_line: RunLine, shifted: Path) -> None:
    code, out, err = run_line("validate", "--format", "json")
    assert (code, err) == (1, "")
    assert json.loads(out)["summary"]["error"] == 1


def test_without_a_file_the_message_says_what_to_do(
    run_line: RunLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run_line("validate")
    assert (code, out) == (2, "")
    assert "no eaglecfg.yaml in this folder" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["validate", "nowhere.yaml"], "nowhere.yaml"),
        (["validate", "."], "."),
        (["validate", "--select", "EC9999"], "no rule"),
        (["validate", "--deployment", "caht"], "caht"),
        (["validte"], "Did you mean validate?"),
        (["validate", "--frmat", "json"], "--frmat"),
        (["explain", "draft-fc"], "no rule"),
        (["trace", "--deployment", "caht"], "chat"),
        (["schema", "nothing"], "there are"),
    ],
)
def test_usage_errors_exit_2_and_name_what_is_wrong(
    run_line: RunLine, good: Path, arguments: list[str], says: str
) -> None:
    code, _, err = run_line(*arguments)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


@pytest.mark.parametrize("text", ["", "a: [1,\n", "\tversion: 1\n"])
def test_a_file_that_does_not_parse_exits_2_with_a_finding(run_line: RunLine, good: Path, text: str) -> None:
    (good / "eaglecfg.yaml").write_text(text)
    code, out, err = run_line("validate")
    assert (code, err) == (2, "")
    assert "error[EC0" in out
    assert "--> eaglecfg.yaml:" in out
    assert "UNREADABLE" in out


def test_a_missing_checkpoint_is_incomplete_not_good(run_line: RunLine, good: Path) -> None:
    (good / "draft").rename(good / "elsewhere")
    code, out, _ = run_line("validate")
    assert code == 3
    assert "INCOMPLETE" in out
    assert "draft" in out


def test_strict_turns_undeclared_facts_into_incomplete(run_line: RunLine, good: Path) -> None:
    config = good / "eaglecfg.yaml"
    config.write_text("".join(x for x in config.read_text().splitlines(True) if "trained_b" not in x))
    assert run_line("validate")[0] == 0
    assert run_line("validate", "--strict")[0] == 3
    assert run_line("validate", "--require", "EC201")[0] == 3


def test_select_and_ignore_take_ids_slugs_and_prefixes(run_line: RunLine, shifted: Path) -> None:
    rule = next(each for each in ALL_RULES if each.id == "EC201")
    for name in ("EC201", "ec2", rule.slug):
        assert run_line("validate", "--select", name)[0] == 1
    assert run_line("validate", "--ignore", "EC201")[0] == 0
    assert run_line("validate", "--select", "EC0")[0] == 0


def test_colours_obey_flag_and_environment(
    run_line: RunLine, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b[" not in run_line("validate")[1]
    assert "\x1b[" in run_line("validate", "--color", "always")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run_line("validate")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run_line("validate")[1]


def test_several_files_in_one_call_resolve_paths_from_their_own_folder(
    run_line: RunLine, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(good.parent)
    (good / "second.yaml").write_text((good / "eaglecfg.yaml").read_text())
    code, out, _ = run_line("validate", f"{good.name}/eaglecfg.yaml", f"{good.name}/second.yaml")
    assert code == 0, out
    assert f"{good.name}/second.yaml" in out


def test_a_closed_pipe_ends_quietly(good: Path) -> None:
    command = f"{sys.executable} -m eaglecfg validate --format json | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, cwd=good)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "command", ["validate --format json", "rules", "rules --format json", "trace", "explain EC201", "schema"]
)
def test_a_reader_that_leaves_is_no_finding(good: Path, command: str) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "eaglecfg", *command.split()],
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=60,
            cwd=good,
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_validate_loads_nothing_heavy(good: Path) -> None:
    code = (
        "import sys; from eaglecfg.cli.main import run; code = run(['validate']); "
        "heavy = {'torch', 'optuna', 'scipy', 'numpy', 'transformers', 'sglang', 'rich', 'aiohttp'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=good)
    assert done.returncode == 0, done.stdout
    assert done.stderr.strip() == "[]"


def test_every_rule_can_be_explained_and_is_listed(run_line: RunLine) -> None:
    code, out, _ = run_line("rules", "--format", "json")
    assert code == 0
    assert [each["id"] for each in json.loads(out)] == [rule.id for rule in ALL_RULES]
    code, out, _ = run_line("explain", ALL_RULES[0].slug)
    assert code == 0
    for heading in ("What it checks", "Why it matters", "How to fix it", "Fails:", "Passes:"):
        assert heading in out


def test_trace_says_whether_a_captured_state_is_sharded(run_line: RunLine, good: Path) -> None:
    code, out, _ = run_line("trace")
    assert code == 0
    assert "a captured state is full width on the one rank: nothing about it is sharded" in out
    code, out, _ = run_line("trace", "--format", "json")
    assert code == 0
    assert json.loads(out)["deployments"][0]["hops"]


def test_schemas_are_printed_and_written(run_line: RunLine, tmp_path: Path) -> None:
    code, out, _ = run_line("schema", "eaglecfg")
    assert code == 0
    assert json.loads(out)["$schema"].startswith("http://json-schema.org/draft-07/")
    assert run_line("schema", "--write", str(tmp_path / "out"))[0] == 0
    assert (tmp_path / "out" / "study.schema.json").is_file()
