"""``eaglecfg diff`` on git revisions: two branches, the index, checkpoints that are partly in git."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize
from tests.review.repositories import git


def test_two_branches_give_a_comment_that_names_what_changes(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["diff", "main:deploy", "other:deploy", "--format", "markdown"])
    out = capsys.readouterr().out.replace("\\", "")
    assert code == 1
    assert out.startswith("<!-- eaglecfg diff -->")
    assert "| capture | **effective boundaries** | [3, 6, 9], as trained" in out
    assert "| [4, 7, 10]; the draft was trained on [3, 6, 9]" in out
    assert "| setting | `speculative_num_steps` | 3 as asked | 2 as asked |" in out
    assert "| environment | `NCCL_PROTO` | not set | LL |" in out
    assert "+ --speculative-num-steps 2" in out
    assert "introduced: **error EC201** trained-boundaries in `chat` at `deploy/eaglecfg.yaml:8:27`" in out
    assert "FAIL: 1 finding at or above error is new" in out


@pytest.mark.parametrize("standing_on", ["main", "other"])
def test_checkpoints_are_those_of_the_revision_whatever_is_checked_out(
    standing_on: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("checkout", "-q", standing_on)
    run(["diff", "main:deploy/eaglecfg.yaml", "other:deploy/eaglecfg.yaml"])
    out = capsys.readouterr().out
    assert "layer ids: [2, 5, 8] → [3, 6, 9]" in out
    assert "introduced" in out
    assert "note:" not in out


def test_the_working_tree_against_head_and_against_the_index(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository / "deploy" / "eaglecfg.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("tp_size: 1", "tp_size: 2"), encoding="utf-8")
    assert run(["diff", "HEAD:deploy/eaglecfg.yaml", "--exit-code"]) == 1
    assert "tp_size: 1 as asked → 2 as asked" in capsys.readouterr().out
    git("add", "-A")
    assert run(["diff", ":deploy/eaglecfg.yaml", "--exit-code"]) == 0
    assert run(["diff", "HEAD:", ":", "--exit-code"]) == 1
    assert run(["diff", ":", ".", "--exit-code"]) == 0


def test_weights_that_git_does_not_keep_come_from_the_working_tree(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("rm", "-q", "--cached", "deploy/draft/model.safetensors")
    (repository / ".gitignore").write_text("*.safetensors\n", encoding="utf-8")
    git("commit", "-q", "-a", "-m", "weights are kept elsewhere")
    code = run(["diff", "HEAD:deploy/eaglecfg.yaml", "--exit-code"])
    out = capsys.readouterr().out
    assert code == 0
    assert "no change in effect" in out
    assert "read from the working tree for HEAD:\n  deploy/draft/model.safetensors\n" in out


def test_a_checkpoint_that_git_does_not_hold_at_all_is_read_where_it_lies(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("rm", "-q", "-r", "--cached", "deploy/target")
    git("commit", "-q", "-m", "the target is kept elsewhere")
    assert run(["diff", "HEAD:deploy/eaglecfg.yaml", "--exit-code"]) == 0
    assert "read from the working tree for HEAD:\n  deploy/target\n" in capsys.readouterr().out


def test_a_checkpoint_that_is_a_link_is_read_where_it_leads(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "deploy" / "draft").rename(repository / "elsewhere")
    (repository / "deploy" / "draft").symlink_to(repository / "elsewhere")
    git("add", "-A")
    git("commit", "-q", "-m", "a link")
    assert run(["diff", "HEAD:deploy/eaglecfg.yaml", "--exit-code"]) == 0
    assert "read from the working tree for HEAD:\n  deploy/draft\n" in capsys.readouterr().out


def test_a_pointer_to_large_file_storage_stands_for_the_working_trees_file(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = repository / "deploy" / "draft" / "model.safetensors"
    real = weights.read_bytes()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {len(real)}\n"
    weights.write_text(pointer, encoding="utf-8")
    git("commit", "-q", "-a", "-m", "a pointer")
    weights.write_bytes(real)
    assert run(["diff", "HEAD:deploy", "deploy", "--exit-code"]) == 0
    assert "working tree for HEAD:\n  deploy/draft/model.safetensors\n" in capsys.readouterr().out


def test_names_count_from_the_top_or_from_here(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository / "deploy")
    assert run(["diff", "main:./eaglecfg.yaml", "other:deploy/eaglecfg.yaml"]) == 1
    assert "\neaglecfg.yaml\n" in capsys.readouterr().out
    assert run(["diff", "main:eaglecfg.yaml"]) == 2
    assert "write main:./eaglecfg.yaml, or main:deploy/eaglecfg.yaml" in capsys.readouterr().err
    assert run(["diff", "main:../../x", "eaglecfg.yaml"]) == 2
    assert "leads out of the repository" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["nowhere:eaglecfg.yaml", "--output=made:x", "--upload-pack=touch made:x", "HEAD;touch made:x", "-:x"],
)
def test_what_is_no_revision_is_no_option_and_no_command(
    name: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", "--", name, "deploy/eaglecfg.yaml"]) == 2
    assert "no such revision" in capsys.readouterr().err
    assert not (repository / "made").exists()


def test_a_repositorys_own_programs_are_not_run(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "spy").write_text("#!/bin/sh\ntouch made\n", encoding="utf-8")
    (repository / "spy").chmod(0o755)
    for key in ("core.fsmonitor", "diff.x.textconv", "filter.x.smudge", "core.sshCommand", "core.pager"):
        git("config", key, str(repository / "spy"))
    (repository / ".gitattributes").write_text("* diff=x filter=x\n", encoding="utf-8")
    run(["diff", "main:deploy", ":deploy"])
    assert not (repository / "made").exists()


def test_a_config_that_is_a_link_is_what_it_stands_for(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "deploy" / "prod.yaml").symlink_to("../deploy/eaglecfg.yaml")
    git("add", "-A")
    git("commit", "-q", "-m", "a link")
    assert run(["diff", "main:deploy/eaglecfg.yaml", "HEAD:deploy/prod.yaml"]) == 1
    assert "EC201" in capsys.readouterr().out
    assert run(["diff", "HEAD:deploy/prod.yaml", "--exit-code"]) == 0


def test_links_that_lead_nowhere_and_an_unborn_repository_are_told(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, leads in enumerate(("nowhere.yaml", "linked1.yaml", "/etc/hosts", "../x", "deploy")):
        (repository / f"linked{number}.yaml").symlink_to(leads)
    git("add", "-A")
    git("commit", "-q", "-m", "links")
    for number in range(5):
        assert run(["diff", f"HEAD:linked{number}.yaml", "deploy/eaglecfg.yaml"]) == 2
        assert "is a symbolic link that leads to no file of it" in capsys.readouterr().err
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    git("init", "-q")
    assert run(["diff", "HEAD:eaglecfg.yaml", "../deploy/eaglecfg.yaml"]) == 2
    assert "no such revision" in capsys.readouterr().err


def test_outside_of_a_repository_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert run(["diff", "HEAD:eaglecfg.yaml", "x"]) == 2
    assert "can only be read in a git repository" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "")
    assert run(["diff", "HEAD:eaglecfg.yaml", "x"]) == 2
    assert "no git on the PATH" in capsys.readouterr().err


def test_a_name_with_a_colon_is_a_file_where_there_is_one(repository: Path) -> None:
    text = (repository / "deploy" / "eaglecfg.yaml").read_text(encoding="utf-8")
    (repository / "deploy" / "main:x.yaml").write_text(text, encoding="utf-8")
    assert run(["diff", "deploy/main:x.yaml", "deploy/eaglecfg.yaml", "--exit-code"]) == 0


def test_results_of_studies_that_do_not_hold_any_more(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deploy = repository / "deploy"
    study = materialize({"study": {}}, repository / "scratch").with_name("study.yaml")
    (deploy / "studies" / "results").mkdir(parents=True)
    text = study.read_text(encoding="utf-8").replace("config: eaglecfg.yaml", "config: ../eaglecfg.yaml")
    (deploy / "studies" / "steps.yaml").write_text(text, encoding="utf-8")
    (deploy / "studies" / "results" / "steps-h200.md").write_text("# recorded\n", encoding="utf-8")
    record = deploy / ".eaglecfg" / "studies" / "steps"
    record.mkdir(parents=True)
    (record / "result.json").write_text(json.dumps({"version": 1, "settings": []}), encoding="utf-8")
    run(["diff", "main:deploy/eaglecfg.yaml", "other:deploy/eaglecfg.yaml", "--format", "json"])
    (deployment,) = json.loads(capsys.readouterr().out)["files"][0]["deployments"]
    assert deployment["results"] == [
        "study steps measured another state of this deployment: .eaglecfg/studies/steps/result.json "
        "does not hold any more",
        "studies/results/steps-h200.md was recorded before this change and does not describe the "
        "deployment any more",
    ]


def test_a_change_that_applies_a_winner_is_known_as_measured(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eaglecfg.schema.load import load_config
    from eaglecfg.source.read import read_document
    from eaglecfg.tune.arm import arm_key

    git("checkout", "-q", "main")
    deploy = repository / "deploy"
    study = materialize({"study": {}}, repository / "scratch").with_name("study.yaml")
    (deploy / "studies").mkdir()
    text = study.read_text(encoding="utf-8").replace("config: eaglecfg.yaml", "config: ../eaglecfg.yaml")
    (deploy / "studies" / "steps.yaml").write_text(text, encoding="utf-8")
    path = deploy / "eaglecfg.yaml"
    changed = path.read_text(encoding="utf-8").replace("num_steps: 3", "num_steps: 2")
    path.write_text(changed.replace("num_draft_tokens: 4", "num_draft_tokens: 3"), encoding="utf-8")
    (only,) = load_config(read_document(path)).deployments
    row = {
        "arm": arm_key(only.model),
        "label": "2 steps",
        "launches": 4,
        "against_as_is": {"ratio": 1.12, "low": 1.08, "high": 1.16, "p": 0.01},
    }
    record = deploy / ".eaglecfg" / "studies" / "steps"
    record.mkdir(parents=True)
    (record / "result.json").write_text(json.dumps({"version": 1, "settings": [row]}), encoding="utf-8")
    run(["diff", "main:deploy/eaglecfg.yaml", "--format", "json"])
    (deployment,) = json.loads(capsys.readouterr().out)["files"][0]["deployments"]
    (text,) = deployment["results"]
    assert text.startswith(
        "study steps measured this setting (2 steps), +12.0 % against the deployment as it stood"
    )
    row["against_off"] = row.pop("against_as_is")
    (record / "result.json").write_text(json.dumps({"version": 1, "settings": [row]}), encoding="utf-8")
    run(["diff", "main:deploy/eaglecfg.yaml", "--format", "json"])
    (deployment,) = json.loads(capsys.readouterr().out)["files"][0]["deployments"]
    assert "(2 steps), +12.0 % against speculation off (" in deployment["results"][0]
    (record / "result.json").write_text("[" * 100_000, encoding="utf-8")
    assert run(["diff", "main:deploy/eaglecfg.yaml"]) == 0, "a record that cannot be read is none"


def test_sarif_of_the_branch_carries_the_findings_that_the_comment_names(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["diff", "main:deploy", "other:deploy", "--format", "json"])
    introduced = json.loads(capsys.readouterr().out)["files"][0]["findings"]["introduced"]
    run(["diff", "main:deploy", "other:deploy", "--format", "markdown"])
    comment = capsys.readouterr().out.replace("\\", "")
    run(["validate", "deploy/eaglecfg.yaml", "--output", "sarif=report.sarif"])
    sarif = json.loads((repository / "report.sarif").read_text(encoding="utf-8"))
    results = {
        each["ruleId"]: each for each in sarif["runs"][0]["results"] if each.get("kind", "fail") == "fail"
    }
    assert {each["rule"] for each in introduced} >= {"EC201", "EC629"}
    for each in introduced:
        result = results[each["rule"]]
        assert each["message"] in result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == each["location"]["file"] == "deploy/eaglecfg.yaml"
        assert place["region"]["startLine"] == each["location"]["line"]
        assert each["message"] in comment


def test_names_of_any_bytes_are_shown_without_harm(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (repository / "deploy" / "eaglecfg.yaml").read_bytes()
    for name in (b"\xff", b"a\nb", b"x\x1b[31m", "\u00fc \u2603".encode()):
        folder = repository / "odd" / os.fsdecode(name)
        folder.mkdir(parents=True)
        (folder / "eaglecfg.yaml").write_bytes(text)
    git("add", "-A")
    for form in ("text", "markdown", "json"):
        assert run(["diff", "HEAD:", ":", "--format", form]) in (0, 3)
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\udcff" not in out, "a lone surrogate cannot be written"
        if form == "json":
            assert {file["kind"] for file in json.loads(out)["files"]} == {"same", "added"}


@pytest.mark.parametrize("standing_on", ["main", "other"])
def test_studies_are_read_beside_the_config_of_their_revision(
    standing_on: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def add_study(deployment: str) -> None:
        study = materialize({"study": {"deployment": deployment}}, repository / "scratch")
        text = study.with_name("study.yaml").read_text(encoding="utf-8")
        (repository / "deploy" / "studies").mkdir(exist_ok=True)
        path = repository / "deploy" / "studies" / "steps.yaml"
        path.write_text(text.replace("config: eaglecfg.yaml", "config: ../eaglecfg.yaml"), encoding="utf-8")
        prompts = study.with_name("prompts.jsonl").read_text(encoding="utf-8")
        (repository / "deploy" / "studies" / "prompts.jsonl").write_text(prompts, encoding="utf-8")
        git("add", "deploy")
        git("commit", "-q", "-m", "a study")

    git("checkout", "-q", "main")
    add_study("chat")
    git("checkout", "-q", "-B", "other")
    path = repository / "deploy" / "eaglecfg.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("  chat:", "  talk:"), encoding="utf-8")
    add_study("talk")
    git("checkout", "-q", standing_on)
    assert run(["diff", "main:", "other:", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    config, study = data["files"]
    assert [each["kind"] for each in config["deployments"]] == ["renamed"]
    assert [each["name"] for each in study["changes"]] == ["deployment"]
    assert all(not rows for file in data["files"] for rows in file["findings"].values())


def test_a_suppression_accepts_and_its_end_introduces(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("checkout", "-q", "other")
    path = repository / "deploy" / "eaglecfg.yaml"
    text = path.read_text(encoding="utf-8")
    reason = "suppress: [{rule: EC201, deployment: chat, reason: an experiment}]\n"
    path.write_text(text + reason, encoding="utf-8")
    git("commit", "-q", "-a", "-m", "accepted")
    assert run(["diff", "other~1:deploy", "other:deploy", "--format", "json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    (accepted,) = file["findings"]["accepted"]
    assert (accepted["finding"]["rule"], accepted["reason"]) == ("EC201", "an experiment")
    assert file["findings"]["fixed"] == []
    run(["diff", "other~1:deploy", "other:deploy"])
    assert "o error[EC201 trained-boundaries] accepted (an experiment) in chat" in capsys.readouterr().out
    assert run(["diff", "other:deploy", "other~1:deploy"]) == 1
    assert "1 finding introduced (1 error)" in capsys.readouterr().out
