"""The YAML file of ``server: {config: FILE}``: what it says is looked at as if it stood under server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.table import known_versions
from eaglecfg.rules.outcome import Report, Reported
from tests.rules.pairs import check

VERSIONS = known_versions("sglang")


def started(
    folder: Path, text: str | None, engine: str = "0.5.14", name: str = "x.yaml", **deployment: Any
) -> Report:
    files = {} if text is None else {name: text}
    server = {"config": name, **deployment.pop("server", {})}
    return check(folder, engine=engine, deployment={"server": server, **deployment}, files=files)


def ids(report: Report) -> set[str]:
    return {one.rule.id for one in report.findings}


def of(report: Report, rule: str) -> Reported:
    (found,) = [one for one in report.findings if one.rule.id == rule]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_it(tmp_path: Path, version: str) -> None:
    report = started(tmp_path, "load-format: dummy\nmax-running-requests: 8\n", version)
    assert "EC324" in ids(report)
    assert "EC312" not in ids(report)


def test_a_finding_points_at_the_name_and_tells_the_line(tmp_path: Path) -> None:
    found = of(started(tmp_path, "max-running-requests: 8\n\nno-such-flag: 3\n"), "EC301")
    assert found.finding.path == ("deployments", "chat", "server", "config")
    assert [(one.file, one.key, one.line) for one in found.finding.evidence][-1] == (
        "x.yaml",
        "no-such-flag",
        3,
    )
    assert found.finding.fix is None


def test_no_fix_writes_into_the_file(tmp_path: Path) -> None:
    found = of(started(tmp_path, "max-runing-requests: 8\n"), "EC301")
    assert "max_running_requests" in found.finding.help
    assert found.finding.fix is None


def test_a_new_name_is_advised_where_it_may_stand(tmp_path: Path) -> None:
    found = of(started(tmp_path, "cuda-graph-bs: [1, 2, 4]\n"), "EC328")
    assert found.finding.help.endswith("--cuda-graph-bs-decode under server:, and take it out of the file")


def test_null_is_no_method_that_the_draft_inherits(tmp_path: Path) -> None:
    found = ids(started(tmp_path, "quantization: null\n"))
    assert "EC304" in found
    assert "EC259" not in found


def test_the_command_line_wins(tmp_path: Path) -> None:
    report = started(
        tmp_path, "load-format: dummy\nspeculative-num-steps: 9\n", server={"load_format": "auto"}
    )
    assert ids(report) <= {"EC312"}


def test_a_block_wins_over_an_alias_in_the_file(tmp_path: Path) -> None:
    report = started(tmp_path, "tp: 3\n", parallel={"tp_size": 1})
    assert ids(report) <= {"EC312"}


def test_a_switch_cannot_be_turned_off_again(tmp_path: Path) -> None:
    report = started(tmp_path, "disable-cuda-graph: true\n", "0.5.12", server={"disable_cuda_graph": False})
    assert "EC331" in ids(report)


def test_a_switch_that_is_false_is_left_out(tmp_path: Path) -> None:
    assert "EC331" not in ids(started(tmp_path, "disable-cuda-graph: false\n", "0.5.12"))


def test_what_belongs_into_a_block_is_seen_there(tmp_path: Path) -> None:
    assert "EC401" in ids(started(tmp_path, "tp-size: 3\n", parallel=None))


def test_a_draft_that_only_the_file_names(tmp_path: Path) -> None:
    text = "speculative-algorithm: EAGLE\nspeculative-draft-model-path: draft\n"
    report = started(tmp_path, text, draft=None, speculative=None)
    assert "EC501" in ids(report)


def test_null_is_the_word_none(tmp_path: Path) -> None:
    assert "EC303" in ids(started(tmp_path, "max-running-requests: null\n"))


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "max-running-requests: 8\n", "cuda-graph-bs: []\n"])
def test_good_files_are_quiet(tmp_path: Path, text: str) -> None:
    report = started(tmp_path, text)
    assert ids(report) <= {"EC312"}
    assert report.exit_code() == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is none"),
        ("- a\n", "a mapping"),
        ("a: [\n", "x.yaml"),
        ("a: 1\n b: 2\n", "x.yaml"),
        ("3: 4\n", "3 is no text"),
        ("on: 4\n", "True is no text"),
        ("max_running_requests: 3\n", "--max_running_requests"),
        ("a: !!python/object:os.system {}\n", "x.yaml"),
    ],
)
def test_what_the_engine_cannot_read_is_an_error(tmp_path: Path, text: str | None, said: str) -> None:
    found = of(started(tmp_path, text), "EC346")
    assert said in found.finding.message
    assert "server_args_config_parser.py" in found.finding.evidence[-1].text


def test_another_ending(tmp_path: Path) -> None:
    found = of(started(tmp_path, "max-running-requests: 8\n", name="x.json"), "EC346")
    assert ".yaml or .yml" in found.finding.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    started(tmp_path, "a: 1\n")
    (tmp_path / "x.yaml").chmod(0)
    assert "EC346" in ids(started(tmp_path, None))


def test_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    assert "EC346" in ids(started(tmp_path, None))


@pytest.mark.parametrize("name", ["/somewhere/in/the/image/x.yaml", "${SETTINGS}.yaml"])
def test_a_file_that_may_be_elsewhere_is_not_checked(tmp_path: Path, name: str) -> None:
    report = started(tmp_path, None, name=name)
    (skipped,) = [one for one in report.not_checked if one.rule.id == "EC346"]
    assert skipped.incomplete
    assert "EC346" not in ids(report)
    assert name in skipped.reason


def test_objects_are_no_json_before_0_5_14(tmp_path: Path) -> None:
    text = "json-model-override-args: {max_position_embeddings: 512}\n"
    findings = {version: ids(started(tmp_path / version, text, version)) for version in ("0.5.13", "0.5.14")}
    assert findings["0.5.13"] != findings["0.5.14"]


def test_nothing_is_read_without_an_engine(tmp_path: Path) -> None:
    assert "EC346" not in ids(started(tmp_path, "- a\n", "nightly"))


@pytest.mark.parametrize(
    ("key", "refusing"),
    [
        ("lora-paths", ("0.5.8", "0.5.23")),
        ("disable-cuda-graph", ("0.5.14", "0.5.23")),
        ("cuda-graph-bs-decode", ("0.5.14", "0.5.19")),
        ("enable-dp-attention", ("0.5.22", "0.5.23")),
        ("max-running-requests", None),
    ],
)
def test_flags_that_no_file_may_hold(tmp_path: Path, key: str, refusing: tuple[str, str] | None) -> None:
    found = []
    for version in VERSIONS:
        report = started(tmp_path / version, f"{key}: [1]\n", version)
        found += [version] if "EC346" in ids(report) else []
    first, last = refusing or ("", "")
    wanted = VERSIONS[VERSIONS.index(first) : VERSIONS.index(last) + 1] if refusing else ()
    assert found == list(wanted)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.yaml")
    assert "EC346" in ids(started(tmp_path, None))
