"""``eaglecfg diff``: a state is what its revision holds, what nobody can read fails nothing, what is gone for
another reason than a fix is not called fixed, and files are compared that no key shows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize
from tests.review.repositories import git

Compared = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def compared(capsys: pytest.CaptureFixture[str]) -> Compared:
    """Exit code and JSON of a comparison."""

    def _compared(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = run(["diff", "--format", "json", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return _compared


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def add_study(deploy: Path, scratch: Path) -> None:
    study = materialize({"study": {}}, scratch).with_name("study.yaml")
    text = study.read_text(encoding="utf-8").replace("config: eaglecfg.yaml", "config: ../eaglecfg.yaml")
    (deploy / "studies").mkdir()
    (deploy / "studies" / "steps.yaml").write_text(text, encoding="utf-8")
    prompts = study.with_name("prompts.jsonl").read_text(encoding="utf-8")
    (deploy / "studies" / "prompts.jsonl").write_text(prompts, encoding="utf-8")


def rules(data: Mapping[str, Any], kind: str) -> list[str]:
    rows = [row for file in data["files"] for row in file["findings"][kind]]
    return [(row["finding"] if kind == "accepted" else row)["rule"] for row in rows]


@pytest.mark.parametrize(
    "gone",
    [
        "eaglecfg.yaml",
        "studies/prompts.jsonl",
        "draft",
        "target",
        "draft/model.safetensors",
        "target/config.json",
    ],
)
def test_what_a_revision_lacks_is_missing_whatever_is_checked_out(
    gone: str, repository: Path, compared: Compared
) -> None:
    git("checkout", "-q", "main")
    add_study(repository / "deploy", repository / "scratch")
    git("add", "deploy")
    git("commit", "-q", "-m", "a study")
    git("checkout", "-q", "-B", "gone")
    git("rm", "-q", "-r", f"deploy/{gone}")
    git("commit", "-q", "-m", "gone")
    seen = []
    for standing_on in ("main", "gone"):
        git("checkout", "-q", standing_on)
        seen.append((compared("main:deploy", "gone:deploy"), compared("gone:deploy", "main:deploy")))
    assert seen[0] == seen[1]
    (code, data), (back, _) = seen[0]
    assert code in (1, 3)
    assert back == 0
    assert data["summary"]["incomplete"] or rules(data, "introduced")


def test_what_git_does_not_keep_comes_from_the_working_tree_with_a_note(
    repository: Path, compared: Compared
) -> None:
    git("checkout", "-q", "main")
    add_study(repository / "deploy", repository / "scratch")
    (repository / ".gitignore").write_text("prompts.jsonl\n*.safetensors\n", encoding="utf-8")
    git("rm", "-q", "-r", "--cached", "deploy/draft/model.safetensors", "deploy/target/model.safetensors")
    git("add", ".gitignore", "deploy")
    git("commit", "-q", "-m", "kept elsewhere")
    code, data = compared("HEAD:deploy", "HEAD:deploy")
    assert code == 0
    (note,) = data["notes"]
    assert "read from the working tree for HEAD and HEAD: " in note
    assert "deploy/studies/prompts.jsonl" in note


def test_what_cannot_be_read_on_either_side_fails_nothing(repository: Path, compared: Compared) -> None:
    path = repository / "deploy" / "eaglecfg.yaml"
    git("checkout", "-q", "main")
    git("rm", "-q", "-r", "deploy/draft", "deploy/target")
    git("commit", "-q", "-m", "no weights")
    text = path.read_text(encoding="utf-8")
    path.write_text(f"# only a comment\n{text}", encoding="utf-8")
    code, data = compared("HEAD:deploy/eaglecfg.yaml")
    assert (code, data["summary"]["incomplete"]) == (0, False)
    (note,) = data["notes"]
    assert note.startswith("could not be read on either side")
    assert "there is no folder target; draft.checkpoint: there is no folder draft" in note
    assert compared("HEAD:deploy/eaglecfg.yaml", "--strict")[0] == 3
    assert compared("HEAD:deploy/eaglecfg.yaml", "--require", "EC201")[0] == 3
    # Another deployment of the same checkpoints names nothing new that is not there.
    path.write_text(text + "  more:\n" + text.split("  chat:\n")[1], encoding="utf-8")
    assert compared("HEAD:deploy/eaglecfg.yaml")[0] == 0
    # Another checkpoint does.
    path.write_text(text.replace("checkpoint: draft", "checkpoint: other"), encoding="utf-8")
    code, data = compared("HEAD:deploy/eaglecfg.yaml")
    assert (code, data["summary"]["incomplete"]) == (3, True)
    assert data["notes"][0].startswith("could not be read in deploy/eaglecfg.yaml, so that the comparison is")
    # With rules alone that need no checkpoint, nothing is left unread.
    assert compared("HEAD:deploy/eaglecfg.yaml", "--select", "EC0,EC1,EC7")[0] == 0
    assert compared("HEAD:deploy/eaglecfg.yaml", "--select", "EC0", "--strict")[0] == 0


def test_a_checkpoint_that_is_there_now_fails_nothing(repository: Path, compared: Compared) -> None:
    git("checkout", "-q", "main")
    git("checkout", "-q", "-B", "late")
    git("rm", "-q", "-r", "deploy/draft")
    git("commit", "-q", "-m", "no draft")
    code, data = compared("late:deploy", "main:deploy")
    assert code == 0
    assert data["notes"] == [
        "could not be read in late: draft.checkpoint: there is no folder deploy/draft"
    ] or "could not be read in late" in str(data["notes"])


def test_an_error_that_comes_with_its_suppression_is_told_as_accepted(
    repository: Path, compared: Compared, capsys: pytest.CaptureFixture[str]
) -> None:
    git("checkout", "-q", "main")
    path = repository / "deploy" / "eaglecfg.yaml"
    accepted = 'suppress: [{rule: EC201, deployment: chat, reason: "agreed"}]'
    change(path, "version: 1", f"version: 1\n{accepted}")
    change(path, "[3, 6, 9]", "[2, 5, 8]")
    code, data = compared("HEAD:deploy/eaglecfg.yaml")
    assert code == 0
    assert "EC201" in rules(data, "accepted")
    assert data["summary"]["findings"]["accepted"] == 1
    run(["diff", "HEAD:deploy/eaglecfg.yaml", "--format", "markdown"])
    out = capsys.readouterr().out
    assert "- ⚪ accepted: " in out, "an accepted error is no alarm"
    assert "the file says why: agreed" in out
    git("commit", "-q", "-a", "-m", "accepted")
    change(path, "tp_size: 1", "tp_size: 1 # same")
    assert rules(compared("HEAD:deploy/eaglecfg.yaml")[1], "accepted") == [], "it was accepted before"


def test_what_is_left_out_or_undecided_is_not_called_fixed(
    repository: Path, compared: Compared, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository / "deploy" / "eaglecfg.yaml"
    git("checkout", "-q", "other")  # EC201: other layers than the draft was trained on
    for old, new in (
        ("checkpoint: draft", "checkpoint: nowhere"),  # cannot be read
        ("trained_boundaries: [3, 6, 9]", "trained_boundaries: x"),  # is refused
        ("name: sglang", "name: other"),  # is not known
    ):
        before = path.read_text(encoding="utf-8")
        change(path, old, new)
        _, data = compared("HEAD:deploy/eaglecfg.yaml")
        assert "EC201" in rules(data, "undecided"), new
        assert "EC201" not in rules(data, "fixed"), new
        path.write_text(before, encoding="utf-8")
    change(path, "checkpoint: draft", "checkpoint: nowhere")
    run(["diff", "HEAD:deploy/eaglecfg.yaml"])
    assert "? error[EC201 trained-boundaries] not decided any more in chat" in capsys.readouterr().out
    git("checkout", "-q", ".")
    _, data = compared("HEAD:deploy/eaglecfg.yaml", "--exit-code")
    assert not any(rules(data, kind) for kind in ("fixed", "undecided", "introduced"))


def test_a_value_that_moves_to_another_key_is_no_news(repository: Path, compared: Compared) -> None:
    path = repository / "deploy" / "eaglecfg.yaml"
    git("checkout", "-q", "other")
    _, data = compared("main:deploy/eaglecfg.yaml", "other:deploy/eaglecfg.yaml")
    assert "EC629" in rules(data, "introduced")
    change(path, "nccl: {proto: LL}", "env: {NCCL_PROTO: LL}")
    _, data = compared("HEAD:deploy/eaglecfg.yaml")
    assert not any(data["files"][0]["findings"].values())


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("target/generation_config.json", "checkpoint target generation_config.json"),
        ("target/tokenizer_config.json", "checkpoint target tokenizer_config.json"),
        ("target/chat_template.jinja", "checkpoint target chat_template.jinja"),
        ("target/modeling_own.py", "checkpoint target modeling_own.py"),
        ("draft/hf_quant_config.json", "checkpoint draft hf_quant_config.json"),
        ("template.jinja", "setting chat_template (content of template.jinja)"),
        ("topo.xml", "environment NCCL_TOPO_FILE (content of ./topo.xml)"),
        ("studies/prompts.jsonl", "study workload.prompts (content of prompts.jsonl)"),
    ],
)
def test_files_that_decide_what_is_served_are_compared(
    file: str, name: str, repository: Path, compared: Compared
) -> None:
    git("checkout", "-q", "main")
    deploy = repository / "deploy"
    materialize(
        {
            "deployment": {
                "server": {"chat_template": "template.jinja"},
                "env": {"NCCL_TOPO_FILE": "./topo.xml"},
            }
        },
        deploy,
    )
    add_study(deploy, repository / "scratch")
    path = deploy / file
    if not path.exists():
        path.write_text('{"a": 1}', encoding="utf-8")
    git("add", "deploy")
    git("commit", "-q", "-m", "a file")
    assert compared("HEAD:deploy", "deploy", "--exit-code")[1]["summary"]["changes_in_effect"] is False
    path.write_text(path.read_text(encoding="utf-8") + "\n\n", encoding="utf-8")
    git("add", "deploy")
    git("commit", "-q", "-m", "another content")
    for sides in (("HEAD~1:deploy", "deploy"), ("HEAD~1:deploy", "HEAD:deploy")):
        code, data = compared(*sides, "--exit-code")
        assert code == 1
        rows = [row for each in data["files"] for row in each["changes"]]
        rows += [row for each in data["files"] for one in each["deployments"] for row in one["changes"]]
        assert [f"{row['group']} {row['name']}" for row in rows] == [name]


def test_notes_of_a_folder_and_files_that_no_server_reads_are_nothing(
    repository: Path, compared: Compared
) -> None:
    git("checkout", "-q", "main")
    for name in ("README.md", "LICENSE.txt", "draft.png"):
        (repository / "deploy" / "target" / name).write_text("x", encoding="utf-8")
    (repository / "deploy" / "draft" / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert compared("HEAD:deploy", "deploy", "--exit-code")[0] == 0


def test_a_config_that_gets_another_name_draws_a_note(repository: Path, compared: Compared) -> None:
    git("checkout", "-q", "main")
    (repository / "deploy" / "eaglecfg.yaml").rename(repository / "deploy" / "conf.yaml")
    code, data = compared("HEAD:deploy", "deploy")
    assert (code, data["files"][0]["kind"]) == (0, "removed")
    assert "other names are compared with --file NAME" in data["notes"][0]
    _, data = compared("HEAD:deploy", "deploy", "--file", "conf.yaml", "--file", "eaglecfg.yaml")
    assert [file["kind"] for file in data["files"]] == ["added", "removed"]
    assert data["notes"] == []


def test_named_files_are_those_of_both_folders(
    repository: Path, compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("checkout", "-q", "other")
    for name in ("eaglecfg.yaml", "../deploy/eaglecfg.yaml", str(repository / "deploy" / "eaglecfg.yaml")):
        for sides in (("main:deploy", "deploy"), ("main:deploy", "other:deploy")):
            code, data = compared(*sides, "--file", name)
            assert (code, [file["name"] for file in data["files"]]) == (1, ["deploy/eaglecfg.yaml"]), name
    for wrong, what in (("nowhere.yaml", "neither"), ("../../x", "leads out"), ("", "got an empty one")):
        code, data = compared("main:deploy", "other:deploy", "--file", wrong)
        assert code == 2
        assert what in data["error"]["message"]
    code, data = compared("main:deploy/eaglecfg.yaml", "--file", "eaglecfg.yaml")
    assert (code, "two folders" in data["error"]["message"]) == (2, True)


def test_one_deployment_alone_is_compared(repository: Path, compared: Compared) -> None:
    path = repository / "deploy" / "eaglecfg.yaml"
    git("checkout", "-q", "main")
    text = path.read_text(encoding="utf-8")
    body = text.split("  chat:\n")[1]
    path.write_text(text + "  more:\n" + body.replace("num_draft_tokens: 4", "num_draft_tokens: 9"), "utf-8")
    code, data = compared("HEAD:deploy/eaglecfg.yaml")
    assert code in (0, 1)
    _, data = compared("HEAD:deploy/eaglecfg.yaml", "-d", "chat", "--exit-code")
    assert [each["name"] for each in data["files"][0]["deployments"]] == ["chat"]
    assert rules(data, "introduced") == []
    _, data = compared("HEAD:deploy/eaglecfg.yaml", "-d", "more")
    assert [each["kind"] for each in data["files"][0]["deployments"]] == ["added"]
    code, data = compared("HEAD:deploy/eaglecfg.yaml", "-d", "none")
    assert (code, "no deployment 'none'" in data["error"]["message"]) == (2, True)


def test_hub_ids_are_looked_for_as_validate_looks_for_them(
    repository: Path, compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(repository / "cache"))
    path = repository / "deploy" / "eaglecfg.yaml"
    git("checkout", "-q", "main")
    change(path, "checkpoint: draft", "checkpoint: acme/draft")
    assert "cache" in str(compared("HEAD:deploy/eaglecfg.yaml")[1]["notes"])
    assert "the hub 127.0.0.1 cannot be reached" in str(
        compared("HEAD:deploy/eaglecfg.yaml", "--online")[1]["notes"]
    )


def test_a_secret_that_is_another_one_is_told(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, secret in (("one.yaml", "swordfish"), ("two.yaml", "sturgeon")):
        made = materialize({"deployment": {"env": {"HF_TOKEN": secret}}}, repository / "aside")
        (repository / "deploy" / name).write_text(made.read_text(encoding="utf-8"), encoding="utf-8")
    run(["diff", "deploy/one.yaml", "deploy/two.yaml"])
    assert "HF_TOKEN: <redacted> → <redacted>, another value" in capsys.readouterr().out


def test_a_revision_alone_is_told_how_to_be_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", "HEAD"]) == 2
    said = capsys.readouterr().err
    assert "HEAD: for all of it, or HEAD:eaglecfg.yaml" in said
    assert "HEAD:HEAD" not in said
    assert run(["diff", "HEAD", "deploy"]) == 2
    assert "a git revision is written HEAD: or HEAD:PATH" in capsys.readouterr().err


def test_a_pipe_among_the_files_is_refused_and_never_waited_for(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "deploy" / "studies").mkdir()
    os.mkfifo(repository / "deploy" / "studies" / "pipe.yaml")
    for more in ([], ["--file", "studies/pipe.yaml"]):
        assert run(["diff", "HEAD:deploy", "deploy", *more]) == 2
        assert "studies/pipe.yaml: a file is expected, this is a pipe" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ('{"version": 1, "study": "s", "verdict": [], "settings": []}', "got the result of a study"),
        ('{"kind": "launch", "n": 1}', "got a file with the keys kind, n"),
        ("{}", "got a file with no keys"),
        ("version: 1\n", "got a file with the keys version"),
    ],
)
def test_what_is_neither_a_config_nor_a_study_never_passes(
    text: str, got: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({"title": "base"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.json").write_text(text, encoding="utf-8")
    for names in (
        ("other.json", "other.json"),
        ("eaglecfg.yaml", "other.json"),
        ("other.json", "eaglecfg.yaml"),
    ):
        assert run(["diff", *names]) == 2
        error = capsys.readouterr().err
        assert error.startswith("eaglecfg: other.json: expected a config")
        assert got in error
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "eaglecfg.yaml").write_text(text, encoding="utf-8")
    assert run(["diff", "a", "b"]) == 2
    assert got in capsys.readouterr().err
