"""``validate --engine-version``: what the same files come to under several versions of the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.engines.resolve import Setting
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.runner import validate
from eaglecfg.rules.upgrade import Difference, Upgrade, look_ahead
from eaglecfg.source.read import read_document

DEEPSEEK: Mapping[str, Any] = {
    "title": "a class whose id rule changed in 0.5.13",
    "target": {"config": {"architectures": ["DeepseekV3ForCausalLM"]}},
}


def upgrade_of(folder: Path, example: Mapping[str, Any], *versions: str) -> Upgrade:
    path = materialize(example, folder)
    return look_ahead([read_document(path, shown=path.name)], versions)


def chat(upgrade: Upgrade) -> Difference:
    (only,) = upgrade.of(("eaglecfg.yaml", "chat"))
    return only


def words(pair: tuple[Setting, Setting]) -> tuple[str, Any, str, Any]:
    return pair[0].origin, pair[0].runs, pair[1].origin, pair[1].runs


def text_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(["validate", *arguments])
    return code, capsys.readouterr().out


def test_nothing_changes_for_files_that_mean_the_same(tmp_path: Path) -> None:
    upgrade = upgrade_of(tmp_path, {}, "0.5.14", "0.5.23")
    assert upgrade.differences
    assert all(each.nothing for each in upgrade.differences)


def test_other_layers_are_captured_and_the_finding_appears(tmp_path: Path) -> None:
    change = chat(upgrade_of(tmp_path, DEEPSEEK, "0.5.12", "0.5.14"))
    assert change.boundaries is not None
    old, new = change.boundaries
    assert old is not None
    assert new is not None
    assert (old.captured, new.captured) == ((3, 6, 9), (2, 5, 8))
    assert [found.rule.id for found in change.appear] == ["EC201"]
    assert not change.vanish


def test_every_version_is_judged_as_a_run_of_its_own_would(tmp_path: Path) -> None:
    upgrade = upgrade_of(tmp_path, DEEPSEEK, "0.5.10.post1", "0.5.12", "0.5.14", "0.5.23")
    for view in upgrade.views:
        path = materialize({**DEEPSEEK, "engine": view.version}, tmp_path / view.version)
        alone = validate([read_document(path, shown=path.name)])
        assert [(f.rule.id, f.finding.message) for f in view.report.findings] == [
            (f.rule.id, f.finding.message) for f in alone.findings
        ]


def test_a_flag_that_comes_later_is_unknown_before(tmp_path: Path) -> None:
    example = {"deployment": {"server": {"speculative_draft_kv_cache_dtype": "auto"}}}
    change = chat(upgrade_of(tmp_path, example, "0.5.17", "0.5.18"))
    assert [(pair[0].name, *words(pair)) for pair in change.settings] == [
        ("speculative_draft_kv_cache_dtype", "unknown", None, "asked", "auto")
    ]
    assert [found.rule.id for found in change.vanish] == ["EC301"]


def test_the_version_in_a_sentence_alone_makes_no_difference(tmp_path: Path) -> None:
    example = {"deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}
    change = chat(upgrade_of(tmp_path, example, "0.5.21", "0.5.23"))
    assert change.nothing


def test_a_finding_that_says_something_else_is_neither_new_nor_gone(tmp_path: Path) -> None:
    example = {**DEEPSEEK, "deployment": {"capture": {"trained_boundaries": [1, 4, 7]}}}
    change = chat(upgrade_of(tmp_path, example, "0.5.12", "0.5.14"))
    assert not change.appear
    assert not change.vanish
    ((old, new),) = change.differ
    assert "[3, 6, 9]" in old.finding.message
    assert "[2, 5, 8]" in new.finding.message


def test_one_version_is_compared_with_the_one_in_the_file(tmp_path: Path) -> None:
    upgrade = upgrade_of(tmp_path, {"engine": "0.5.12"}, "0.5.14")
    assert [view.version for view in upgrade.views] == ["0.5.12", "0.5.14"]


def test_defaults_that_nobody_sets_are_told_once(tmp_path: Path) -> None:
    upgrade = upgrade_of(tmp_path, {}, "0.5.12", "0.5.14", "0.5.23")
    assert len(upgrade.defaults) == 2
    changed = {new.name: (old.default, new.default) for old, new in upgrade.defaults[0]}
    assert changed["hicache_mem_layout"] == ("layer_first", "page_first")
    given = {"deployment": {"server": {"hicache_mem_layout": "layer_first"}}}
    upgrade = upgrade_of(tmp_path / "given", given, "0.5.12", "0.5.14")
    assert "hicache_mem_layout" not in {new.name for _, new in upgrade.defaults[0]}


def test_checkpoints_are_read_once_for_all_versions(tmp_path: Path) -> None:
    upgrade = upgrade_of(tmp_path, {}, "0.5.12", "0.5.14")
    drafts = [view.contexts[("eaglecfg.yaml", "chat")].draft for view in upgrade.views]
    assert drafts[0] is drafts[1]


def test_the_text_says_same_files_other_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize(DEEPSEEK, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, text = text_of(capsys, "--engine-version", "0.5.12,0.5.14,0.5.23")
    assert code == 1
    assert "    0.5.12  [3, 6, 9], as trained (adds 1 to every id)\n" in text
    assert "    0.5.14  [2, 5, 8]; the draft was trained on [3, 6, 9]" in text
    assert "    same files, other layers\n" in text
    assert "  0.5.12 → 0.5.14\n    + error[EC201 trained-boundaries] appears: " in text
    assert "0.5.14 → 0.5.23\n    +" not in text
    assert "\n0.5.12  0 errors" in text
    assert "FAIL  findings at or above error with 0.5.14, 0.5.23 (exit 1)" in text


def test_the_text_is_short_where_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({}, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, text = text_of(capsys, "--engine-version", "0.5.21,0.5.23")
    assert code == 0
    assert "chat\n  captures [3, 6, 9], as trained (adds 1 to every id)\n  no difference\n" in text
    assert "same files" not in text
    assert "0.5.21 → 0.5.23\n    " not in text


def test_shapes_chosen_by_the_engine_are_told_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = {"num_steps": None, "eagle_topk": None, "num_draft_tokens": None}
    target = {"config": {"architectures": ["Qwen3ForCausalLM"]}}
    materialize({"deployment": {"speculative": shape}, "target": target}, tmp_path)
    monkeypatch.chdir(tmp_path)
    _, text = text_of(capsys, "--engine-version", "0.5.7,0.5.8")
    assert "    speculative_eagle_topk: 4 → 1 by default\n" in text
    assert "    ~ info[EC311 automatic-shape] says something else: sglang 0.5.8 chooses num_steps 3" in text


def test_what_an_engine_rewrites_is_told_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({"deployment": {"server": {"enable_mixed_chunk": True}}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    _, text = text_of(capsys, "--engine-version", "0.5.18,0.5.19")
    assert "enable_mixed_chunk: false (rewritten: " in text
    assert "→\n      true as asked" in text
    assert "- warning[EC322 mixed-chunk] vanishes: " in text


def test_a_file_that_does_not_parse_or_a_checkpoint_that_is_not_there_keep_their_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({"text": "version: [1\n"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, text = text_of(capsys, "--engine-version", "0.5.14,0.5.23")
    assert code == 2
    assert "could not be parsed (exit 2)" in text
    materialize({"deployment": {"target": {"checkpoint": "nowhere"}}}, tmp_path)
    code, text = text_of(capsys, "--engine-version", "0.5.14,0.5.23")
    assert code == 3
    assert "could not be read (exit 3)" in text


def test_a_residual_that_is_left_out_is_no_other_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({"target": {"config": {"architectures": ["Gemma3ForCausalLM"]}}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    _, text = text_of(capsys, "--engine-version", "0.5.14,0.5.17")
    assert "same files, other states of these layers" in text
    assert "as trained; without the residual" in text


@pytest.mark.parametrize(("version", "facts_of"), [("0.9.0", "0.5.23"), ("0.5.23-mine", "0.5.23")])
def test_a_version_without_facts_gets_the_nearest_and_says_so(
    version: str,
    facts_of: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    materialize({}, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, text = text_of(capsys, "--engine-version", version)
    assert code == 0
    assert f"facts of {facts_of}, the nearest version that was read" in text
    assert "warning[EC509 engine-version-standing] appears" in text


def test_json_holds_versions_captures_changes_and_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize(DEEPSEEK, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, text = text_of(capsys, "--engine-version", "0.5.12,0.5.14", "--format", "json")
    data = json.loads(text)
    assert code == data["summary"]["exit_code"] == 1
    assert [(row["version"], row["facts_of"], row["exit_code"]) for row in data["versions"]] == [
        ("0.5.12", "0.5.12", 0),
        ("0.5.14", "0.5.14", 1),
    ]
    place = next(row for row in data["places"] if row["deployment"] == "chat")
    assert [row["boundaries"]["captured"] for row in place["captures"]] == [[3, 6, 9], [2, 5, 8]]
    assert place["captures"][0]["trained"] == [3, 6, 9]
    (change,) = place["changes"]
    assert (change["from"], change["to"]) == ("0.5.12", "0.5.14")
    assert [found["rule"] for found in change["findings"]["appear"]] == ["EC201"]
    assert change["findings"]["appear"][0]["location"]["file"] == "eaglecfg.yaml"


def test_fail_on_counts_every_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({}, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, text = text_of(capsys, "--engine-version", "0.5.23,0.9.0", "--fail-on", "warning")
    assert code == 1
    assert "findings at or above warning with 0.9.0 (exit 1)" in text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--engine-version", "0.5.12,,0.5.14"], "takes versions with commas between them"),
        (["--engine-version", "0.5.12", "-d", "chats"], "there is no deployment 'chats'"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(
    given: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    materialize({}, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(["validate", *given]) == 2
    assert says in capsys.readouterr().err


def test_files_of_two_versions_want_two_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({}, tmp_path)
    materialize({"engine": "0.5.14"}, tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    files = ["eaglecfg.yaml", "other/eaglecfg.yaml"]
    assert run(["validate", *files, "--engine-version", "0.5.21"]) == 2
    assert "give two versions" in capsys.readouterr().err
    code, text = text_of(capsys, *files, "--engine-version", "0.5.21,0.5.23")
    assert code == 0
    assert "chat   (other/eaglecfg.yaml)\n" in text
    assert text.count("  no difference\n") == 2


def test_a_study_is_judged_under_each_version_too(tmp_path: Path) -> None:
    path = materialize({"study": {}}, tmp_path)
    documents = [read_document(each, shown=each.name) for each in (path, tmp_path / "study.yaml")]
    upgrade = look_ahead(documents, ["0.5.12", "0.5.14"])
    assert ("study.yaml", None) in upgrade.places
    assert all(each.nothing for each in upgrade.of(("study.yaml", None)))


def test_the_version_that_the_file_names_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for trained, expected in (([3, 6, 9], 0), ([2, 5, 8], 1)):
        materialize({"deployment": {"capture": {"trained_boundaries": trained}}}, tmp_path)
        monkeypatch.chdir(tmp_path)
        code, text = text_of(capsys, "--engine-version", "0.5.23")
        assert code == expected
        assert "\n  no difference\n" in text
        assert text.count("0.5.23  ") == 1
        assert text_of(capsys, "--engine-version", "0.5.23", "--format", "concise") == (expected, "")


def test_concise_is_one_line_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize(DEEPSEEK, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, text = text_of(capsys, "--engine-version", "0.5.12,0.5.14", "--format", "concise")
    assert code == 1
    lines = text.splitlines()
    assert all(each.startswith("eaglecfg.yaml:") and " 0.5.12 → 0.5.14: " in each for each in lines)
    (captures,) = [each for each in lines if ": chat: captures " in each]
    assert "chat: captures [3, 6, 9], as trained" in captures
    assert "→ [2, 5, 8]; the draft was trained on [3, 6, 9]" in captures
    assert sum("error[EC201] appears: " in each for each in lines) == 1
    _, back = text_of(capsys, "--engine-version", "0.5.14,0.5.12", "--format", "concise")
    assert "error[EC201] vanishes: " in back
