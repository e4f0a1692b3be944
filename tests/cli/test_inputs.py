"""What commands take, and what they say where it cannot be used or the output cannot be written."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.registry import ALL_RULES

from .conftest import RunLine

EAGLECFG = f"{sys.executable} -m eaglecfg"


def _shell(command: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=60, cwd=folder, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["validate", "validate --format json", "trace", "rules", "--help"])
@pytest.mark.parametrize("place", ["> /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_said_in_one_sentence(good: Path, command: str, place: str) -> None:
    code, err = _shell(f"{EAGLECFG} {command} {place}", good)
    assert code == 2
    assert re.fullmatch(r"eaglecfg: the output could not be written: [^\n]+\n", err)


def test_slugs_that_help_names_are_slugs_of_rules(run_line: RunLine) -> None:
    out = run_line("explain", "--help")[1]
    named = re.findall(r"a slug \(([a-z-]+)\)", out)
    assert named
    assert set(named) <= {rule.slug for rule in ALL_RULES}


@pytest.mark.parametrize(
    ("name", "says"),
    [("fusion-shpe", "did you mean fusion-shape?"), ("fc-input-width", "`eaglecfg rules`"), ("zzz", "lists")],
)
def test_only_a_name_that_is_near_is_suggested(run_line: RunLine, name: str, says: str) -> None:
    code, _, err = run_line("explain", name)
    assert code == 2
    assert says in err
    assert ("did you mean" in err) == ("did you mean" in says)


def test_several_deployments_can_be_named(run_line: RunLine, good: Path) -> None:
    config = good / "eaglecfg.yaml"
    chat = re.search(r"  chat:\n(?:    .*\n)+", config.read_text())
    assert chat is not None
    more = "".join(chat[0].replace("  chat:", f"  {name}:", 1) for name in ("other", "third"))
    config.write_text(config.read_text().replace(chat[0], chat[0] + more))
    out = run_line("validate", "-d", "chat", "-d", "third", "--format", "json")[1]
    assert json.loads(out)["deployments"] == ["chat", "third"]
    out = run_line("trace", "-d", "chat", "-d", "third", "--format", "json")[1]
    assert [each["name"] for each in json.loads(out)["deployments"]] == ["chat", "third"]
    code, _, err = run_line("validate", "-d", "chat", "-d", "fourth")
    assert code == 2
    assert "'fourth'" in err


@pytest.mark.parametrize("option", ["--select", "--ignore", "--require"])
@pytest.mark.parametrize("value", ["", "EC201,", " "])
def test_an_empty_rule_name_is_a_usage_error(run_line: RunLine, good: Path, option: str, value: str) -> None:
    code, out, err = run_line("validate", option, value)
    assert (code, out) == (2, "")
    assert f"{option} takes the name of a rule" in err


@pytest.mark.parametrize(
    ("command", "raw", "says"),
    [
        ("validate", None, "there is none"),
        ("validate", "version: 1".encode("utf-16"), "UTF-16"),
        ("trace", None, "there is none"),
        ("trace", b"a: [1,\n", "a value is expected here"),
    ],
)
def test_json_says_on_stdout_too_what_cannot_be_read(
    run_line: RunLine, tmp_path: Path, command: str, raw: bytes | None, says: str
) -> None:
    path = tmp_path / "x.yaml"
    if raw is not None:
        path.write_bytes(raw)
    code, out, err = run_line(command, str(path), "--format", "json")
    data = json.loads(out)
    assert (code, data["summary"]["exit_code"]) == (2, 2)
    assert says in data["error"]["message"]
    assert data["error"]["message"] in err


def test_a_dash_reads_stdin_and_counts_paths_from_this_folder(
    run_line: RunLine, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = (good / "eaglecfg.yaml").read_bytes()
    for command in ("validate", "trace"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        code, out, err = run_line(command, "-")
        assert (code, err) == (0, ""), out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: [1,\n")))
    assert "  --> -:1:7" in run_line("validate", "-")[1]


def test_a_device_is_no_text_file(run_line: RunLine) -> None:
    code, _, err = run_line("validate", "/dev/zero")
    assert code == 2
    assert "this is not a regular text file" in err


@pytest.mark.parametrize("text", ["---\n", "- a\n", "word\n"])
def test_a_file_without_a_mapping_is_unreadable(run_line: RunLine, good: Path, text: str) -> None:
    (good / "eaglecfg.yaml").write_text(text)
    code, out, _ = run_line("validate")
    assert code == 2
    assert "error[EC102" in out
    assert "UNREADABLE" in out


def test_trace_ends_with_what_it_could_not_show(run_line: RunLine, good: Path) -> None:
    config = good / "eaglecfg.yaml"
    text = config.read_text()
    config.write_text(text.replace("checkpoint: draft", "checkpoint: elsewhere"))
    code, out, _ = run_line("trace")
    assert code == 3
    assert "elsewhere/config.json could not be read" in out
    config.write_text("deployments: [1,\n")
    code, out, err = run_line("trace")
    assert code == 2
    assert out.splitlines()[0] == run_line("validate", "-q")[1].splitlines()[0]
    assert "no deployment to trace" in err
    config.write_text(re.sub(r" +speculative:.*\n(?:      .*\n)*", "", re.sub(r" +draft:.*\n", "", text)))
    code, out, _ = run_line("trace")
    assert code == 0, out
    assert "launches no draft" in out


def test_a_missing_folder_is_shown_where_it_is_named(run_line: RunLine, good: Path) -> None:
    config = good / "eaglecfg.yaml"
    text = config.read_text()
    (good / "draft").rename(good / "drafts")
    code, out, _ = run_line("validate")
    assert code == 3
    assert "incomplete[EC801 checkpoint-unread] draft.checkpoint: there is no folder draft\n  --> " in out
    assert re.search(r"\n +\| +\^\^\^\^\^\n", out)
    assert "did you mean drafts?" in out
    line = next(i for i, each in enumerate(text.splitlines(), 1) if "checkpoint: draft" in each)
    concise = run_line("validate", "--format", "concise")[1]
    assert re.search(rf"^eaglecfg.yaml:{line}:\d+: not-checked\[EC801\] draft", concise, re.MULTILINE)
    config.write_text(text.replace("checkpoint: draft", "checkpoint: $HOME/draft"))
    assert "variables such as $HOME are not expanded" in run_line("validate")[1]


def test_concise_names_what_strict_and_require_miss(run_line: RunLine, good: Path) -> None:
    config = good / "eaglecfg.yaml"
    config.write_text("".join(x for x in config.read_text().splitlines(True) if "trained_b" not in x))
    assert "not-checked[EC201]" not in run_line("validate", "--format", "concise")[1]
    for options in (["--strict"], ["--require", "EC201"]):
        code, out, _ = run_line("validate", "--format", "concise", *options)
        assert code == 3
        assert re.search(r"^eaglecfg.yaml:\d+:\d+: not-checked\[EC201\] needs", out, re.MULTILINE)


def test_infos_are_brief_unless_asked_for_and_quiet_leaves_the_rest_out(
    run_line: RunLine, good: Path
) -> None:
    brief = run_line("validate")[1]
    infos = re.findall(r"^info\[(\S+)", brief, re.MULTILINE)
    assert infos
    assert "-->" not in brief
    for options in (["-v"], ["--fail-on", "info"]):
        out = run_line("validate", *options)[1]
        assert out.count("  --> ") == len(infos)
    quiet = run_line("validate", "-q")[1]
    assert quiet.endswith("OK  nothing at or above error (exit 0)\n")
    assert "not checked" not in quiet
    assert "passed" not in quiet


@pytest.mark.parametrize("command", ["validate -v", "rules", "explain EC221"])
def test_columns_count_in_a_pipe_too(
    run_line: RunLine, good: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = run_line(*command.split())[1]
    own = [each for each in out.splitlines() if not each.lstrip().startswith((":::", "|"))]
    assert max(map(len, own)) <= 100
    monkeypatch.delenv("COLUMNS")
    assert run_line(*command.split())[1] != out


def test_colours_that_are_asked_for_by_flag_beat_the_environment(
    run_line: RunLine, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert re.search(r"\x1b\[1;3\dm", run_line("validate", "--color", "always")[1])
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert "\x1b[" not in run_line("validate")[1]


@pytest.mark.parametrize(
    ("gpu", "says"),
    [
        (
            "H200",
            "In short: a captured state differs from rank to rank: here each rank captures its own partial",
        ),
        ("A100", "In short: a captured state is full width on every rank"),
    ],
)
def test_trace_ends_with_what_the_file_decides(
    run_line: RunLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: str, says: str
) -> None:
    example = {
        "title": "fused",
        "engine": "0.5.12",
        "deployment": {"parallel": {"tp_size": 2}, "hardware": {"gpu": gpu, "count": 2}},
        "target": {"config": {"architectures": ["DeepseekV3ForCausalLM"]}},
    }
    materialize(example, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run_line("trace")
    assert code == 0
    assert says in " ".join(out[out.index("In short") :].split())
    assert ("a partial sum of its own" in out) == (gpu == "H200")
    assert "error(s)" not in out
