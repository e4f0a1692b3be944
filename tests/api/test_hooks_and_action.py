"""The pre-commit hooks and the GitHub Action: their files are what those tools read; their scripts run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from eaglecfg.cli.main import COMMANDS, cli
from eaglecfg.rules.examples import materialize

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))

KEYS = {
    "id": str, "name": str, "entry": str, "language": str, "files": str, "exclude": str, "types": list,
    "types_or": list, "exclude_types": list, "always_run": bool, "fail_fast": bool, "verbose": bool,
    "pass_filenames": bool, "require_serial": bool, "description": str, "language_version": str,
    "minimum_pre_commit_version": str, "args": list, "stages": list, "additional_dependencies": list,
}  # fmt: skip
"""Keys of a hook as pre-commit 4 reads them (pre_commit/clientlib.py, MANIFEST_HOOK_DICT)."""

NAMED = ("eaglecfg.yaml", "eaglecfg.yml", "deploy/eaglecfg.yaml", "studies/night.yaml", "a/studies/b.yml")
OTHERS = (
    "my-eaglecfg.yaml",
    "eaglecfg.yaml.orig",
    "studies/results/night.yaml",
    "x.yaml",
    "studies/notes.md",
)


@pytest.fixture(scope="module")
def hooks() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    return found


def test_hooks_have_the_keys_that_pre_commit_reads(hooks: list[dict[str, Any]]) -> None:
    assert [hook["id"] for hook in hooks] == ["eaglecfg-validate", "eaglecfg-fix"]
    for hook in hooks:
        assert {"id", "name", "entry", "language"} <= set(hook) <= set(KEYS)
        assert {key for key, value in hook.items() if not isinstance(value, KEYS[key])} == set()
        command = hook["entry"].split()
        assert command[0] == "eaglecfg"
        assert command[1] in COMMANDS
        assert CliRunner().invoke(cli, [command[1], "--help"]).exit_code == 0


def test_hooks_look_at_configs_and_studies(hooks: list[dict[str, Any]]) -> None:
    for hook in hooks:
        assert [name for name in NAMED if not re.search(hook["files"], name)] == []
        assert [name for name in OTHERS if re.search(hook["files"], name)] == []


def test_pre_commit_itself_takes_the_hooks() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is not installed")
    assert len(clientlib.load_manifest(str(HOOKS))) == 2


def test_no_input_reaches_a_script_but_through_a_variable() -> None:
    steps = ACTION["runs"]["steps"]
    for step in steps:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        for name, value in step["env"].items():
            assert re.fullmatch(r"\$\{\{ (inputs\.[\w-]+|github\.action_path) \}\}", value), name
            assert f"${name}" in step["run"]
    used = {
        each.split("inputs.")[1].split(" ")[0]
        for step in steps
        for each in step["env"].values()
        if "inputs." in each
    }
    assert used == set(ACTION["inputs"])
    assert all(entry.get("description") for part in ("inputs", "outputs") for entry in ACTION[part].values())


class Repository:
    """A git repository with a good config on main, and one with a fault checked out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        shim = folder / "bin" / "eaglecfg"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eaglecfg "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
        self.work = folder / "work"
        self.work.mkdir()
        self.git("init", "-q", "-b", "main")
        materialize({}, self.work)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "good")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.work, env=self.env(), check=True, capture_output=True)

    def env(self) -> dict[str, str]:
        who = {f"GIT_{a}_{b}": "a@example.org" for a in ("AUTHOR", "COMMITTER") for b in ("NAME", "EMAIL")}
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GIT_"))},
            **who,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
        }

    def check(self, **inputs: str) -> tuple[int, str, dict[str, str], str]:
        """Run the step as a runner does: exit code, log, outputs, summary."""
        for name in ("output", "summary"):
            (self.folder / name).write_text("", encoding="utf-8")
        (step,) = (each for each in ACTION["runs"]["steps"] if each["id"] == "check")
        given = {
            variable: inputs.get(
                name := value.split("inputs.")[1].split(" ")[0].replace("-", "_"),
                str(ACTION["inputs"][name.replace("_", "-")]["default"]),
            )
            for variable, value in step["env"].items()
        }
        script = self.folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.work,
            env={**self.env(), **given},
            capture_output=True,
            text=True,
        )
        lines = (self.folder / "output").read_text(encoding="utf-8").splitlines()
        outputs = dict(line.split("=", 1) for line in lines)
        summary = (self.folder / "summary").read_text(encoding="utf-8")
        return done.returncode, done.stdout + done.stderr, outputs, summary

    def break_it(self) -> None:
        materialize({"deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}, self.work)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_good_repository_passes(repository: Repository) -> None:
    code, log, outputs, summary = repository.check(diff_base="HEAD")
    assert code == 0, log
    assert outputs["exit-code"] == "0"
    assert (repository.work / outputs["sarif"]).is_file()
    assert "no change in effect" in Path(outputs["comment"]).read_text(encoding="utf-8")
    assert summary.count("### eaglecfg") == 2
    assert "::error" not in log


def test_a_fault_fails_with_annotations_sarif_and_a_comment(repository: Repository) -> None:
    repository.break_it()
    code, log, outputs, summary = repository.check(diff_base="main", sarif="out.sarif")
    assert (code, outputs["exit-code"], outputs["sarif"]) == (1, "1", "out.sarif")
    assert "::error file=eaglecfg.yaml," in log
    assert "EC201" in (repository.work / "out.sarif").read_text(encoding="utf-8")
    comment = Path(outputs["comment"]).read_text(encoding="utf-8")
    assert "introduced: **error EC201**" in comment
    assert comment in summary


def test_old_faults_pass_a_gate_on_new_ones(repository: Repository) -> None:
    repository.break_it()
    repository.git("commit", "-q", "-a", "-m", "an old fault")
    assert repository.check(diff_base="HEAD")[0] == 1
    assert repository.check(diff_base="HEAD", gate="new")[0] == 0
    assert repository.check(diff_base="HEAD~1", gate="new")[0] == 1


@pytest.mark.parametrize(
    "inputs",
    [
        {"gate": "new"},
        {"gate": "$(touch made)"},
        {"sarif": "a\nexit-code=0"},
        {"working_directory": "nowhere"},
        {"fail_on": "fatal"},
        {"files": "nowhere.yaml"},
        {"arguments": "--no-such-option"},
    ],
)  # fmt: skip
def test_what_cannot_be_meant_fails(inputs: dict[str, str], repository: Repository) -> None:
    code, log, outputs, _ = repository.check(**inputs)
    assert code == 2, log
    assert outputs["exit-code"] == "2"
    assert ("sarif" in outputs) is (repository.work / "eaglecfg.sarif").is_file()


@pytest.mark.parametrize("gate", ["all", "new"])
def test_a_comparison_that_cannot_be_made_fails_with_an_annotation(gate: str, repository: Repository) -> None:
    code, log, outputs, _ = repository.check(diff_base="no-such%revision", gate=gate)
    assert (code, outputs["exit-code"]) == (2, "2")
    assert re.search(r"(?m)^::error title=eaglecfg::.*no-such%25revision.*no such revision", log)
    assert "comment" not in outputs


def test_files_of_any_name_are_compared_as_they_are_checked(repository: Repository) -> None:
    (repository.work / "deploy").mkdir()
    repository.git("mv", "eaglecfg.yaml", "deploy/prod.yaml")
    path = repository.work / "deploy" / "prod.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("checkpoint: ", "checkpoint: ../"), "utf-8")
    repository.git("commit", "-q", "-a", "-m", "another name")
    files = "deploy/prod.yaml"
    code, log, outputs, _ = repository.check(diff_base="HEAD", gate="new", files=files)
    assert (code, outputs["exit-code"]) == (0, "0"), log
    path.write_text(path.read_text(encoding="utf-8").replace("num_steps: 3", "num_steps: x"), "utf-8")
    for name in (files, str(path)):
        code, log, outputs, _ = repository.check(diff_base="HEAD", gate="new", files=name)
        assert (code, outputs["exit-code"]) == (1, "1"), log
        assert "::error title=eaglecfg::FAIL: 1 finding at or above error is new" in log
        assert "EC102" in Path(outputs["comment"]).read_text(encoding="utf-8")


def test_what_is_checked_is_what_is_compared(repository: Repository) -> None:
    hidden = repository.work / ".github"
    materialize({}, hidden)
    (repository.work / "gone").mkdir()
    (repository.work / "gone" / "eaglecfg.yml").write_text("version: 1\n", encoding="utf-8")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "more configs")
    repository.git("rm", "-q", "-r", "gone")
    materialize({"deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}, hidden)
    code, log, outputs, _ = repository.check(diff_base="HEAD", gate="new")
    comment = Path(outputs["comment"]).read_text(encoding="utf-8")
    assert code == 1, log
    assert ".github/eaglecfg.yaml" in comment
    assert "gone/eaglecfg.yml" in comment, "a config that is removed is part of the difference"


def without_weights(repository: Repository) -> None:
    """A checkout such as CI has: configs in git, checkpoints nowhere."""
    repository.git("rm", "-q", "-r", "target", "draft")
    repository.git("commit", "-q", "-m", "no weights")


def test_a_gate_on_new_ones_passes_where_checkpoints_are_nowhere(repository: Repository) -> None:
    without_weights(repository)
    path = repository.work / "eaglecfg.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"# a comment\n{text}", encoding="utf-8")
    code, log, outputs, _ = repository.check(diff_base="HEAD", gate="new")
    assert (code, outputs["exit-code"]) == (0, "0"), log
    assert "could not be read on either side" in Path(outputs["comment"]).read_text(encoding="utf-8")
    assert repository.check(diff_base="HEAD")[0] == 3, "what is there is incomplete"
    assert repository.check(diff_base="HEAD", gate="new", arguments="--strict")[0] == 3
    path.write_text(text.replace("num_steps: 3", "num_steps: x"), encoding="utf-8")
    assert repository.check(diff_base="HEAD", gate="new")[0] == 1
    path.write_text(text.replace("checkpoint: draft", "checkpoint: other"), encoding="utf-8")
    code, log, _, _ = repository.check(diff_base="HEAD", gate="new")
    assert code == 3, "another draft, that nobody can read"
    assert re.search(r"::error title=eaglecfg::INCOMPLETE: something that the later state names", log)


@pytest.mark.parametrize(
    "arguments",
    ["--select\nEC0\n--select=EC1", "--ignore=EC2", "-d\nchat", "--output\njson=x\n--ignore\nEC2"],
)
def test_arguments_reach_the_comparison_as_far_as_it_knows_them(
    arguments: str, repository: Repository
) -> None:
    repository.break_it()
    code, log, _, _ = repository.check(diff_base="main", gate="new", arguments=arguments)
    assert code == (1 if "chat" in arguments else 0), log


Fill = Callable[[str], dict[str, str]]


@pytest.mark.parametrize(
    "text",
    [
        "$(touch made)",
        "`touch made`",
        "; touch made",
        "' ; touch made ; '",
        '" ; touch made ; "',
        "-x",
        "a b",
        "*",
    ],
)
@pytest.mark.parametrize(
    "fill",
    [
        lambda text: {"files": text},
        lambda text: {"working_directory": text},
        lambda text: {"fail_on": text},
        lambda text: {"diff_base": text},
        lambda text: {"sarif": text},
        lambda text: {"arguments": text},
    ],
    ids=["files", "directory", "fail-on", "diff-base", "sarif", "arguments"],
)
def test_no_input_becomes_a_command(text: str, fill: Fill, tmp_path: Path) -> None:
    """Run without a repository and with a command that only notes its words: what matters is the script."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    shim = tmp_path / "bin" / "eaglecfg"
    shim.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> "$NOTES"\n', encoding="utf-8")
    shim.chmod(0o755)
    (step,) = (each for each in ACTION["runs"]["steps"] if each["id"] == "check")
    inputs = {"files": "eaglecfg.yaml", **fill(text)}
    given = {
        variable: inputs.get(name.replace("-", "_"), str(ACTION["inputs"][name]["default"]))
        for variable, value in step["env"].items()
        for name in [value.split("inputs.")[1].split(" ")[0]]
    }
    (tmp_path / "step.sh").write_text(step["run"], encoding="utf-8")
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(tmp_path / "step.sh")],
        cwd=tmp_path / "work",
        env={
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "NOTES": str(tmp_path / "notes"),
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            **given,
        },
        capture_output=True,
    )
    assert list(tmp_path.rglob("made")) == []
    if (tmp_path / "notes").exists():
        words = (tmp_path / "notes").read_text(encoding="utf-8").splitlines()
        assert any(text in word for word in words), "as one word, whatever it holds"
