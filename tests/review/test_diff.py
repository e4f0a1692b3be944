"""``eaglecfg diff``: what changes in effect, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "diff.schema.json").read_text(encoding="utf-8"))
Example = Mapping[str, Any]
Diff = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small pair and ``eaglecfg.yaml``; the current folder of the test."""
    materialize({"title": "base"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str]) -> Diff:
    """Compare as JSON, which has to fit its schema: exit code and data."""

    def _diff(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = run(["diff", "--format", "json", *arguments])
        data = json.loads(capsys.readouterr().out)
        Draft7Validator(SCHEMA).validate(data)
        assert data["summary"]["exit_code"] == code
        return code, data

    return _diff


def write(pair: Path, name: str, example: Example) -> str:
    """The config of ``example`` beside the other; the checkpoints stay as they are."""
    aside = pair / f".{name}"
    text = materialize(example, aside).read_text(encoding="utf-8")
    (pair / name).write_text(text, encoding="utf-8")
    return name


def only(data: Mapping[str, Any]) -> dict[str, Any]:
    """The one deployment of the one file."""
    (file,) = data["files"]
    (deployment,) = file["deployments"]
    found: dict[str, Any] = deployment
    return found


def changes(deployment: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """``group name`` to the words before and after."""
    return {
        f"{each['group']} {each['name']}": tuple(
            None if side is None else side["words"] for side in (each["before"], each["after"])
        )
        for each in deployment["changes"]
    }  # type: ignore[return-value]


def test_the_schema_is_a_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_comments_order_defaults_and_spelling_change_nothing(pair: Path, diff: Diff) -> None:
    (pair / "other.yaml").write_text(
        "# the same, told otherwise\n"
        "version: 1\n"
        "defaults: {target: {checkpoint: target}, parallel: {tp_size: 1}}\n"
        "deployments:\n"
        "  chat:\n"
        "    speculative:\n"
        "      num_draft_tokens: 4\n"
        "      eagle_topk: 1\n"
        "      num_steps: 3\n"
        "      algorithm: EAGLE3\n"
        "    draft: {checkpoint: ./draft}\n"
        "    capture: {trained_boundaries: [3, 6, 9]}\n"
        "    server: {enable_mixed_chunk: false}\n"
        'engine: {version: "0.5.23", name: sglang}\n',
        encoding="utf-8",
    )
    code, data = diff("eaglecfg.yaml", "other.yaml", "--exit-code")
    assert code == 0
    assert data["summary"]["changes_in_effect"] is False
    assert only(data)["kind"] == "same"


def test_settings_are_told_as_they_resolve(pair: Path, diff: Diff) -> None:
    other = write(pair, "other.yaml", {"deployment": {"speculative": {"num_steps": 2}}})
    code, data = diff("eaglecfg.yaml", other)
    found = changes(only(data))
    assert found["setting speculative_num_steps"] == ("3 as asked", "2 as asked")
    before, after = found["setting speculative_num_draft_tokens"]
    assert before == "4 as asked"
    assert after.startswith("3 (rewritten")
    assert only(data)["launch"]["removed"] == [["--speculative-num-steps", "3"]]
    assert only(data)["launch"]["added"] == [["--speculative-num-steps", "2"]]
    introduced = data["files"][0]["findings"]["introduced"]
    assert introduced
    assert code == (1 if any(each["severity"] == "error" for each in introduced) else 0)


def test_a_value_that_is_left_to_the_engine_is_told(pair: Path, diff: Diff) -> None:
    other = write(pair, "other.yaml", {"deployment": {"server": {"page_size": 1}}})
    _, data = diff(other, "eaglecfg.yaml")
    assert list(changes(only(data))) == ["setting page_size"]
    assert changes(only(data))["setting page_size"][0] == "1 as asked"


@pytest.mark.parametrize(
    "deployment",
    [
        {"speculative": {"num_draft_tokens": 6}},  # a chain: 4 run both times
        {"server": {"enable_mixed_chunk": True}, "engine": "0.5.12"},
        {"server": {"speculative_token_map": "map.pt"}},
        {"server": {"tensor_parallel_size": 1}, "parallel": None},
    ],
)
def test_what_the_engine_replaces_is_another_command_line_and_no_effect(
    deployment: dict[str, Any], pair: Path, diff: Diff, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = deployment.pop("engine", "0.5.23")
    one = write(pair, "one.yaml", {"engine": engine})
    other = write(pair, "other.yaml", {"engine": engine, "deployment": deployment})
    for before, after in ((one, other), (other, one)):
        code, data = diff(before, after, "--exit-code")
        assert code == 0
        assert data["summary"]["changes_in_effect"] is False
        assert data["summary"]["deployments"]["same"] == 1
        assert only(data)["kind"] == "same"
    launch = only(data)["launch"]
    run(["diff", one, other])
    text = capsys.readouterr().out
    respelled = "1 deployment has another command line and the same effect"
    assert (respelled in text) is bool(launch["removed"] or launch["added"])


def test_a_value_beside_one_that_is_replaced_still_counts(pair: Path, diff: Diff) -> None:
    shape = {"num_draft_tokens": 6}
    other = write(pair, "other.yaml", {"deployment": {"speculative": shape, "server": {"page_size": 64}}})
    code, data = diff("eaglecfg.yaml", other, "--exit-code")
    assert code == 1
    assert only(data)["kind"] == "changed"
    assert {"setting page_size", "setting speculative_num_draft_tokens"} <= set(changes(only(data)))


def test_another_engine_version_captures_other_layers(pair: Path, diff: Diff) -> None:
    target = {"config": {"architectures": ["DeepseekV3ForCausalLM"]}}
    materialize({"target": target, "engine": "0.5.12"}, pair)
    other = write(pair, "other.yaml", {"engine": "0.5.14"})
    code, data = diff("eaglecfg.yaml", other)
    found = changes(only(data))
    assert code == 1
    assert found["engine version"] == ("sglang 0.5.12", "sglang 0.5.14")
    before, after = found["capture effective boundaries"]
    assert before.startswith("[3, 6, 9], as trained")
    assert after.startswith("[2, 5, 8]; the draft was trained on [3, 6, 9]")
    assert [each["rule"] for each in data["files"][0]["findings"]["introduced"]] == ["EC201"]
    code, back = diff(other, "eaglecfg.yaml")
    assert code == 0
    assert [each["rule"] for each in back["files"][0]["findings"]["fixed"]] == ["EC201"]


def test_another_draft_has_another_fc_and_other_tensors(pair: Path, diff: Diff) -> None:
    wide = pair / "wide"
    materialize(
        {
            "draft": {
                "config": {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 5, 7, 8]}},
                "tensors": {"fc.weight": ["BF16", [256, 1024]]},
            }
        },
        wide,
    )
    other = write(pair, "other.yaml", {"deployment": {"draft": {"checkpoint": "wide/draft"}}})
    _, data = diff("eaglecfg.yaml", other)
    found = changes(only(data))
    assert found["draft fc input width"] == ("768 = 3 × 256", "1024 = 4 × 256")
    assert found["checkpoint draft"] == ("draft", "wide/draft")
    assert found["checkpoint draft tensor fc.weight"] == ("BF16 [256, 768]", "BF16 [256, 1024]")
    assert found["capture layer ids"] == ("[2, 5, 8]", "[2, 5, 7, 8]")
    before, after = found["memory draft weights"]
    assert before != after


def test_environment_and_what_the_engine_writes_into_it(pair: Path, diff: Diff) -> None:
    other = write(
        pair, "other.yaml", {"deployment": {"nccl": {"proto": "LL"}, "env": {"NCCL_CUMEM_ENABLE": "1"}}}
    )
    _, data = diff("eaglecfg.yaml", other)
    found = changes(only(data))
    assert found["environment NCCL_PROTO"] == (None, "LL")
    assert "environment NCCL_CUMEM_ENABLE" in found


def test_message_sizes_follow_the_shape(pair: Path, diff: Diff) -> None:
    two_ranks: Example = {"deployment": {"parallel": {"tp_size": 2}}}
    one = write(pair, "one.yaml", two_ranks)
    shape = {"num_steps": 2, "num_draft_tokens": 3}
    two = write(pair, "two.yaml", {"deployment": {**two_ranks["deployment"], "speculative": shape}})
    _, data = diff(one, two)
    found = changes(only(data))
    # 4 and 3 draft tokens of 256 bfloat16; 12 layers with two all-reduces each, and the embedding's
    assert found["messages verify all-reduce"] == ("25 × 2.0 KiB a request", "25 × 1.5 KiB a request")


def test_secrets_are_compared_and_never_shown(
    pair: Path, diff: Diff, capsys: pytest.CaptureFixture[str]
) -> None:
    def secret(text: str) -> Example:
        return {"deployment": {"env": {"HF_TOKEN": text}, "server": {"api_key": f"key-{text}"}}}

    one, two = write(pair, "one.yaml", secret("swordfish")), write(pair, "two.yaml", secret("sturgeon"))
    _, data = diff(one, two)
    assert set(changes(only(data))) == {"environment HF_TOKEN", "setting api_key"}
    for form in ("text", "markdown", "json"):
        run(["diff", one, two, "--format", form])
        out = capsys.readouterr().out
        assert "swordfish" not in out
        assert "sturgeon" not in out
        assert "HF_TOKEN" in out.replace("\\", "")


def test_deployments_come_go_and_get_another_name(pair: Path, diff: Diff) -> None:
    text = (pair / "eaglecfg.yaml").read_text(encoding="utf-8")
    (pair / "other.yaml").write_text(text.replace("  chat:", "  talk:"), encoding="utf-8")
    code, data = diff("eaglecfg.yaml", "other.yaml", "--exit-code")
    assert (code, only(data)["kind"], only(data)["was"]) == (1, "renamed", "chat")
    assert data["summary"]["findings"]["fixed"] == 0
    assert diff("eaglecfg.yaml", "other.yaml")[0] == 0
    body = text.split("  chat:\n")[1]
    (pair / "both.yaml").write_text(
        text + "  more:\n" + body.replace("tp_size: 1", "tp_size: 2"), encoding="utf-8"
    )
    _, data = diff("eaglecfg.yaml", "both.yaml")
    assert data["summary"]["deployments"] == {"same": 1, "changed": 0, "added": 1, "removed": 0, "renamed": 0}
    _, data = diff("both.yaml", "eaglecfg.yaml")
    assert data["summary"]["deployments"]["removed"] == 1


def test_what_a_finding_says_is_paired(pair: Path, diff: Diff) -> None:
    one = write(pair, "one.yaml", {"deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}})
    two = write(pair, "two.yaml", {"deployment": {"capture": {"trained_boundaries": [4, 7, 10]}}})
    code, data = diff(one, two)
    (pair_of,) = data["files"][0]["findings"]["changed"]
    assert pair_of["from"]["rule"] == pair_of["to"]["rule"] == "EC201"
    assert code == 0, "it was an error before, so that nothing new fails"
    assert changes(only(data)) == {"capture trained boundaries": ("[2, 5, 8]", "[4, 7, 10]")}


def test_the_measured_accept_length_of_another_state_is_questioned(pair: Path, diff: Diff) -> None:
    one = write(pair, "one.yaml", {"deployment": {"expected_accept_length": 2.5}})
    shape = {"num_steps": 2, "num_draft_tokens": 3}
    two = write(pair, "two.yaml", {"deployment": {"expected_accept_length": 2.5, "speculative": shape}})
    _, data = diff(one, two)
    (text,) = only(data)["results"]
    assert text.startswith("expected_accept_length 2.5 was measured before this change")
    three = write(pair, "three.yaml", {"deployment": {"expected_accept_length": 2.1, "speculative": shape}})
    assert only(diff(one, three)[1])["results"] == []


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("good", "bad", 2),
        ("bad", "good", 0),
        ("good", "gone", 2),
        ("good", "empty", 2),
        ("good", "lacking", 3),
    ],
)
def test_exit_codes_of_what_cannot_be_read(
    before: str, after: str, code: int, pair: Path, diff: Diff
) -> None:
    write(pair, "good", {})
    write(pair, "lacking", {"deployment": {"target": {"checkpoint": "elsewhere"}}})
    (pair / "bad").write_text("a: [", encoding="utf-8")
    (pair / "empty").write_text("", encoding="utf-8")
    got = run(["diff", before, after])
    assert got == code


def test_a_file_is_no_folder(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "eaglecfg.yaml", "."]) == 2
    assert "compare two files or two folders" in capsys.readouterr().err
    assert run(["diff", "eaglecfg.yaml"]) == 2
    assert "eaglecfg diff HEAD:eaglecfg.yaml" in capsys.readouterr().err
    assert run(["diff", "", "eaglecfg.yaml"]) == 2
    assert "empty name" in capsys.readouterr().err


def test_a_folder_is_compared_file_by_file(pair: Path, diff: Diff, tmp_path: Path) -> None:
    for side in ("old", "new"):
        materialize({}, pair / side / "deploy")
    (pair / "new" / "deploy" / "studies").mkdir()
    (pair / "new" / ".hidden").mkdir()
    (pair / "new" / ".hidden" / "eaglecfg.yaml").write_text("a: [", encoding="utf-8")
    study = materialize({"study": {}}, pair / "scratch").with_name("study.yaml").read_text(encoding="utf-8")
    study = study.replace("config: eaglecfg.yaml", "config: ../eaglecfg.yaml")
    (pair / "new" / "deploy" / "studies" / "steps.yaml").write_text(study, encoding="utf-8")
    _, data = diff("old", "new")
    assert [(file["name"], file["kind"]) for file in data["files"]] == [
        ("new/deploy/eaglecfg.yaml", "same"),
        ("new/deploy/studies/steps.yaml", "added"),
    ]
    (pair / "old" / "deploy" / "studies").mkdir()
    longer = study.replace("launches: 20", "launches: 30")
    (pair / "old" / "deploy" / "studies" / "steps.yaml").write_text(longer, encoding="utf-8")
    _, data = diff("old", "new")
    (change,) = data["files"][1]["changes"]
    assert (change["name"], change["before"]["words"], change["after"]["words"]) == (
        "budget.launches",
        "30",
        "20",
    )


def test_nothing_to_compare_is_no_comparison_that_passes(
    pair: Path, diff: Diff, capsys: pytest.CaptureFixture[str]
) -> None:
    (pair / "none").mkdir()
    (pair / "nothing").mkdir()
    code, data = diff("none", "nothing")
    assert code == 2
    assert data["error"]["message"].startswith("neither none nor nothing has an eaglecfg.yaml")
    assert run(["diff", "none", "nothing"]) == 2
    assert "name files of the folders with --file" in capsys.readouterr().err
