"""What the rules about values say, and when they keep quiet, beyond their documented examples."""

from __future__ import annotations

import shutil
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglecfg.checkpoint.sketch import write_safetensors
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import chosen
from eaglecfg.rules.runner import validate
from eaglecfg.rules.weights import RULES
from eaglecfg.rules.weights.reading import weigher
from eaglecfg.source.read import read_document

ROOT = Path(__file__).parents[2]
IDS = [rule.id for rule in RULES]
FILE = Path("draft/model.safetensors")
DEAD = [
    "fc.weight",
    *(f"midlayer.self_attn.{name}_proj.weight" for name in "qkvo"),
    *(f"midlayer.mlp.{name}_proj.weight" for name in ("gate", "up", "down")),
    "lm_head.weight",
    "norm.weight",
    "midlayer.input_layernorm.weight",
    "midlayer.hidden_norm.weight",
    "midlayer.post_attention_layernorm.weight",
]


def weighed(path: Path) -> Report:
    return validate([read_document(path, shown=path.name)], weigh=weigher())


def check(folder: Path, weights: Mapping[str, Any] | None = None, **example: Any) -> Report:
    """The small pair with ``weights`` spoiled so, all rules run."""
    return weighed(materialize({"weights": weights or {}, **example}, folder))


def said(report: Report) -> list[str]:
    """Ids of the rules about values with findings, in order."""
    assert not report.crashes
    return [found.rule.id for found in report.findings if found.rule.id in IDS]


def message(report: Report) -> str:
    return next(found.finding.message for found in report.findings if found.rule.id in IDS)


def unread(report: Report) -> set[str]:
    return {skip.reason for skip in report.not_checked if skip.rule.id in IDS}


@pytest.mark.parametrize("name", DEAD)
def test_zeros_kill_each_of_them(name: str, tmp_path: Path) -> None:
    report = check(tmp_path, {name: {"fill": 0}})
    assert said(report) == ["EC818"]
    assert f"the draft's {name} is zero throughout" in message(report)


@pytest.mark.parametrize("name", DEAD)
def test_minus_zero_kills_as_well(name: str, tmp_path: Path) -> None:
    assert said(check(tmp_path, {name: {"fill": -0.0}})) == ["EC818"]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("name", DEAD)
def test_one_value_that_is_not_finite_is_found_in_each(name: str, value: str, tmp_path: Path) -> None:
    report = check(tmp_path, {name: {"fill": value, "values": [77, 77]}})
    assert said(report) == ["EC818"]
    word = "NaN" if value == "nan" else "infinite"
    assert f"{name} is not finite: 1 {word} value of" in message(report)


@given(at=st.integers(0, 256 * 768 - 1), value=st.sampled_from(["c07f", "807f", "80ff"]))
@settings(max_examples=25, deadline=None)
def test_it_is_found_wherever_it_stands(small: Path, at: int, value: str) -> None:
    path = small / FILE
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little") + 2 * at
    path.write_bytes(whole[:start] + bytes.fromhex(value) + whole[start + 2 :])
    try:
        assert said(weighed(small / "eaglecfg.yaml")) == ["EC818"]
    finally:
        path.write_bytes(whole)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small pair, whose first tensor is fc."""
    folder = tmp_path_factory.mktemp("small")
    materialize({"weights": {}}, folder)
    return folder


@pytest.mark.parametrize("value", [1.7e38, -3.3e38, 1e-40, -9e-41])
def test_huge_and_denormal_values_are_not_blamed(value: float, tmp_path: Path) -> None:
    assert said(check(tmp_path, {"fc.weight": {"fill": value, "values": [5, 5000]}})) == []


def test_what_is_not_finite_is_told_apart_from_what_is_dead(tmp_path: Path) -> None:
    report = check(
        tmp_path, {"norm.weight": {"fill": "nan"}, "lm_head.weight": {"fill": 0}, "fc.weight": {"fill": 0}}
    )
    assert said(report) == ["EC818", "EC818"]
    texts = sorted(found.finding.message for found in report.findings if found.rule.id == "EC818")
    assert texts == [
        "2 tensors of the draft are zero throughout: fc.weight, lm_head.weight",
        "the draft's norm.weight is not finite: all its 256 values are NaN",
    ]


def test_a_draft_that_is_a_hole_is_told_in_one_finding(tmp_path: Path) -> None:
    report = weighed(materialize({}, tmp_path))
    assert said(report) == ["EC818"]
    assert message(report).startswith("13 tensors of the draft are zero throughout: fc.weight, ")
    (found,) = [found.finding for found in report.findings if found.rule.id == "EC818"]
    assert "sees nothing of what the target computed" in found.why
    assert len(found.values["tensors"]) == 13


@pytest.mark.parametrize(
    "name", ["fc.bias", "midlayer.self_attn.q_proj.bias", "d2t", "t2d", "embed_tokens.weight", "spare.weight"]
)
def test_zeros_are_right_where_they_mean_something_else(name: str, tmp_path: Path) -> None:
    tensors = {} if name in ("d2t", "t2d") else {name: ["BF16", [1024, 256] if "embed" in name else [256]]}
    report = check(tmp_path, {name: {"fill": 0}} if tensors else {}, draft={"tensors": tensors})
    assert said(report) == []


def test_norms_of_gemma_may_be_zero(tmp_path: Path) -> None:
    draft = {"config": {"model_type": "gemma3_text"}}
    assert said(check(tmp_path, {"norm.weight": {"fill": 0}}, draft=draft)) == []


def test_norms_of_classes_that_are_not_known_may_be_zero(tmp_path: Path) -> None:
    draft = {"config": {"architectures": ["Qwen9ForCausalLMEagle3"]}}
    assert said(check(tmp_path, {"norm.weight": {"fill": 0}}, draft=draft)) == []
    assert said(check(tmp_path / "fc", {"fc.weight": {"fill": 0}}, draft=draft)) == ["EC818"]
    assert said(check(tmp_path / "nan", {"norm.weight": {"fill": "nan"}}, draft=draft)) == ["EC818"]


def test_a_bias_that_is_not_finite_is_found(tmp_path: Path) -> None:
    draft = {"config": {"bias": True}, "tensors": {"fc.bias": ["BF16", [256]]}}
    assert said(check(tmp_path, {"fc.bias": {"fill": "nan", "values": [255, 255]}}, draft=draft)) == ["EC818"]
    assert said(check(tmp_path / "zero", {"fc.bias": {"fill": 0}}, draft=draft)) == []


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("embed_tokens.weight", {}),  # the target's replaces it
        ("lm_head.weight", {"draft_vocab_size": "<null>"}),  # the target's is taken
        ("rotary.inv_freq", {}),  # nothing of that name is built
    ],
)
def test_what_the_engine_does_not_load_is_not_read(name: str, config: dict[str, Any], tmp_path: Path) -> None:
    shape = [1024, 256]
    draft = {"config": config, "tensors": {name: ["BF16", shape], "d2t": None, "t2d": None}}
    assert (
        said(
            check(
                tmp_path,
                {name: {"fill": "nan"}},
                draft=draft if config else {"tensors": {name: ["BF16", shape]}},
            )
        )
        == []
    )


def test_a_tensor_of_whole_numbers_is_said_to_be_unchecked(tmp_path: Path) -> None:
    report = check(tmp_path, draft={"tensors": {"fc.weight": ["I8", [256, 768]]}})
    assert said(report) == []
    assert unread(report) == {"fc.weight is I8; values of whole-number and packed formats are not judged"}
    assert {skip.rule.id for skip in report.not_checked if skip.rule.id in IDS} == {"EC818", "EC819", "EC820"}


@pytest.mark.parametrize(
    ("ids", "trained", "boundary"),
    [([2, 5, 8], [3, 6, 9], "boundary 9"), ([4, 6, 10], [5, 7, 11], "boundary 11")],
)
def test_the_boundary_of_an_ignored_state_is_named(
    ids: list[int], trained: list[int], boundary: str, tmp_path: Path
) -> None:
    report = check(
        tmp_path,
        {"fc.weight": {"fill": 0, "columns": [512, 767]}},
        draft={"config": {"eagle_config": {"eagle_aux_hidden_state_layer_ids": ids}}},
        deployment={"capture": {"trained_boundaries": trained}},
    )
    assert said(report) == ["EC819"]
    assert f"ignores state 3 of 3, {boundary}" in message(report)


def test_the_states_of_a_wider_target_are_told_apart(tmp_path: Path) -> None:
    report = check(
        tmp_path,
        {"fc.weight": {"fill": 0, "columns": [384, 767]}},
        target={
            "config": {"hidden_size": 384},
            "tensors": {
                "lm_head.weight": ["BF16", [1024, 384]],
                "model.embed_tokens.weight": ["BF16", [1024, 384]],
            },
        },
        draft={
            "config": {"target_hidden_size": 384},
            "tensors": {"fc.weight": ["BF16", [256, 1152]], "embed_tokens.weight": ["BF16", [1024, 256]]},
        },
    )
    assert "columns 384 to 767 of the draft's fc.weight are zero" in message(report)
    assert "state 2 of 3" in message(report)


def test_a_copy_that_was_cut_off_shows_in_all_that_it_lost(tmp_path: Path) -> None:
    path = materialize({"weights": {}}, tmp_path)
    size = (tmp_path / FILE).stat().st_size
    with (tmp_path / FILE).open("r+b") as stream:
        stream.truncate(size // 2)
        stream.truncate(size)
    report = weighed(path)
    assert sorted({*said(report)} & {"EC818", "EC820"}) == ["EC818", "EC820"]


def test_twins_that_are_zero_are_told_once(tmp_path: Path) -> None:
    dead = {f"midlayer.mlp.{name}_proj.weight": {"fill": 0} for name in ("gate", "up")}
    assert said(check(tmp_path, dead)) == ["EC818"]


def test_q_that_is_k_is_found_where_their_shapes_agree(tmp_path: Path) -> None:
    tensors = {f"midlayer.self_attn.{name}_proj.weight": ["BF16", [256, 512]] for name in "kv"}
    same = {"midlayer.self_attn.k_proj.weight": {"same_as": "midlayer.self_attn.q_proj.weight"}}
    draft = {"config": {"num_key_value_heads": 4}, "tensors": tensors}
    assert said(check(tmp_path, same, draft=draft)) == ["EC821"]


def test_a_file_that_ends_early_is_the_business_of_another_rule(tmp_path: Path) -> None:
    size = 8 + 1_700_000
    report = check(tmp_path, truncate={str(FILE): size})
    assert said(report) == []
    assert "EC804" in {found.rule.id for found in report.findings}
    assert any(reason.startswith("the draft's file ends before the values of") for reason in unread(report))


@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"version https://git-lfs", b"{}", b"\xff" * 40])
def test_files_that_are_none_do_not_crash_it(content: bytes, tmp_path: Path) -> None:
    path = materialize({"weights": {}}, tmp_path)
    (tmp_path / FILE).write_bytes(content)
    report = weighed(path)
    assert said(report) == []
    assert report.exit_code() != 0


def test_pickled_weights_are_said_to_be_unchecked(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = materialize({"weights": {}}, tmp_path)
    from safetensors.torch import load_file

    torch.save(load_file(tmp_path / FILE), tmp_path / "draft/pytorch_model.bin")
    (tmp_path / FILE).unlink()
    report = weighed(path)
    assert said(report) == []
    assert unread(report) == {"draft holds .bin files; values are read from safetensors files only"}


def test_a_draft_in_several_files_is_read_whole(tmp_path: Path) -> None:
    path = materialize({"weights": {}, "draft": {}}, tmp_path)
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(tmp_path / FILE, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    (tmp_path / FILE).unlink()
    tensors["lm_head.weight"][3, 5] = float("nan")
    save_file({name: tensors[name] for name in list(tensors)[:5]}, tmp_path / "draft/model-1.safetensors")
    save_file({name: tensors[name] for name in list(tensors)[5:]}, tmp_path / "draft/model-2.safetensors")
    report = weighed(path)
    assert said(report) == ["EC818"]
    assert "lm_head.weight is not finite: 1 NaN value of 65,536" in message(report)


@pytest.mark.parametrize("deployment", [{"speculative": "off"}, {"server": {"load_format": "dummy"}}])
def test_a_draft_that_is_not_loaded_is_not_read(deployment: dict[str, Any], tmp_path: Path) -> None:
    report = check(tmp_path, {"fc.weight": {"fill": "nan"}}, deployment=deployment)
    assert said(report) == []
    assert unread(report) == set()


def test_the_target_is_never_read(tmp_path: Path) -> None:
    assert said(check(tmp_path)) == []  # its files are holes


def test_deployments_that_share_a_draft_read_it_once(tmp_path: Path) -> None:
    other = {"deployments": {"other": {"target": {"checkpoint": "target"}, "draft": {"checkpoint": "draft"}}}}
    path = materialize({"weights": {"fc.weight": {"fill": "nan"}}, "config": other}, tmp_path)
    reads: list[str] = []

    def told(draft: str) -> Any:
        reads.append(draft)
        return lambda done, total: None

    report = validate([read_document(path, shown=path.name)], weigh=weigher(told))
    assert said(report) == ["EC818", "EC818"]
    assert reads == ["draft"]


def test_nothing_is_read_or_listed_unless_asked(tmp_path: Path) -> None:
    path = materialize({"weights": {"fc.weight": {"fill": "nan"}}}, tmp_path)
    report = validate([read_document(path, shown=path.name)])
    assert said(report) == []
    assert unread(report) == set()
    assert not {rule.id for rule in chosen()} & set(IDS)
    assert {rule.id for rule in chosen(weights=True)} == {rule.id for rule in chosen()} | set(IDS)
    assert not {rule.id for rule in chosen(live=True)} & set(IDS)


def test_the_trained_draft_passes_and_its_mutants_do_not(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/tiny/draft", tmp_path / "draft")
    shutil.copytree(ROOT / "examples/tiny/target", tmp_path / "target")
    text = (
        "version: 1\nengine: {name: sglang, version: 0.5.14}\ndeployments:\n  tiny:\n"
        "    target: {checkpoint: target}\n    draft: {checkpoint: draft}\n"
        "    speculative: {algorithm: EAGLE3, num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}\n"
    )
    path = tmp_path / "eaglecfg.yaml"
    path.write_text(text, encoding="utf-8")
    report = weighed(path)
    assert said(report) == []
    assert unread(report) == set()
    whole = (tmp_path / FILE).read_bytes()
    import json

    length = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + length])
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        for fill in (b"\xc0\x7f", b"\x80\xff", b"\0\0"):
            data = whole[:begin] + fill * ((end - begin) // 2) + whole[end:]
            (tmp_path / FILE).write_bytes(data)
            judged = entry["dtype"] == "BF16"
            assert (said(weighed(path)) == ["EC818"]) == judged, name


def test_nothing_is_read_where_no_rule_would_look_at_it(tmp_path: Path) -> None:
    path = materialize({"weights": {"fc.weight": {"fill": "nan"}}}, tmp_path)

    def refuse(_: object) -> None:
        raise AssertionError("read")

    document = read_document(path, shown=path.name)
    assert said(validate([document], select=["EC2"], weigh=refuse)) == []
    assert said(validate([document], ignore=IDS, weigh=refuse)) == []


def test_a_draft_of_very_many_tensors_takes_seconds(tmp_path: Path) -> None:
    path = materialize({"draft": {"config": {"architectures": ["Qwen9ForCausalLMEagle3"]}}}, tmp_path)
    tensors = {f"layers.{at}.mlp.gate_proj.weight": ("BF16", [4, 4]) for at in range(20_000)}
    write_safetensors(tmp_path / FILE, tensors)
    started = time.process_time()
    report = weighed(path)
    assert said(report) == ["EC818"]
    assert message(report).startswith("20,000 tensors of the draft are zero throughout")
    assert time.process_time() - started < 10
