"""Scales and packed numbers of a quantised draft, form by form and tensor by tensor."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.outcome import Report
from tests.rules.pairs import LLAMA_SHAPES, check, serious

LINEAR = sorted(name for name, shape in LLAMA_SHAPES.items() if "_proj" in name and len(shape) == 2)
SOME = ("midlayer.self_attn.q_proj.weight", "midlayer.mlp.up_proj.weight", "midlayer.mlp.down_proj.weight")
"""The first part of a joined layer, the last of another, and a layer of its own."""

ALONE = ("midlayer.self_attn.o_proj.weight", "midlayer.mlp.down_proj.weight")


def compressed(weights: Mapping[str, Any], inputs: Mapping[str, Any] | None, form: str) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {"quant_method": "compressed-tensors", "format": form, "config_groups": {"group_0": group}}


FLOAT = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True, "dynamic": False}
INT = {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True, "dynamic": False}
FOUR = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}
TOKEN = {"num_bits": 8, "type": "float", "strategy": "token", "symmetric": True, "dynamic": True}
STATIC = {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True, "dynamic": False}

FORMS: Mapping[str, tuple[Mapping[str, Any], str, str, tuple[str, ...], tuple[str, ...]]] = {
    # name: block, dtype and name of the weight, scales, scales of inputs
    "fp8": ({"quant_method": "fp8"}, "F8_E4M3", "weight", ("weight_scale",), ()),
    "fp8 static": (
        {"quant_method": "fp8", "activation_scheme": "static"},
        "F8_E4M3",
        "weight",
        ("weight_scale",),
        ("input_scale",),
    ),
    "fp8 blocks": (
        {"quant_method": "fp8", "weight_block_size": [128, 128]},
        "F8_E4M3",
        "weight",
        ("weight_scale_inv",),
        (),
    ),
    "modelopt": (
        {"quant_method": "modelopt", "quant_algo": "FP8"},
        "F8_E4M3",
        "weight",
        ("weight_scale",),
        ("input_scale",),
    ),
    "compressed": (compressed(FLOAT, TOKEN, "float-quantized"), "F8_E4M3", "weight", ("weight_scale",), ()),
    "compressed static": (
        compressed(FLOAT, STATIC, "float-quantized"),
        "F8_E4M3",
        "weight",
        ("weight_scale",),
        ("input_scale",),
    ),
    "compressed int8": (compressed(INT, TOKEN, "int-quantized"), "I8", "weight", ("weight_scale",), ()),
    "compressed packed": (
        compressed(FOUR, None, "pack-quantized"),
        "I32",
        "weight_packed",
        ("weight_scale",),
        (),
    ),
    "awq": ({"quant_method": "awq", "bits": 4}, "I32", "qweight", ("qzeros", "scales"), ()),
    "gptq": ({"quant_method": "gptq", "bits": 4}, "I32", "qweight", ("scales",), ()),
}


def export(form: str) -> dict[str, Any]:
    """Every linear layer of the small draft in ``form``."""
    _, dtype, weight, scales, inputs = FORMS[form]
    tensors: dict[str, Any] = {}
    for name in LINEAR:
        stem, shape = name.removesuffix("weight"), LLAMA_SHAPES[name]
        tensors[name] = None
        tensors[f"{stem}{weight}"] = [dtype, shape if weight == "weight" else [shape[0], shape[1] // 8]]
        tensors |= {f"{stem}{scale}": ["F32", [1]] for scale in (*scales, *inputs)}
    return tensors


def run(folder: Path, form: str, tensors: Mapping[str, Any], **keys: Any) -> Report:
    config = {"quantization_config": {**FORMS[form][0], **keys}}
    return check(folder, draft={"config": config, "tensors": tensors})


@pytest.mark.parametrize("form", FORMS)
def test_a_whole_export_is_right(form: str, tmp_path: Path) -> None:
    report = run(tmp_path, form, export(form))
    assert not serious(report)
    assert not [skipped for skipped in report.not_checked if skipped.rule.id == "EC223"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SOME)
def test_each_missing_part_is_named(name: str, form: str, tmp_path: Path) -> None:
    _, _, weight, scales, inputs = FORMS[form]
    leaves = (weight, *scales, *(inputs if name in ALONE else ()))
    for leaf in leaves:
        gone = f"{name.removesuffix('weight')}{leaf}"
        found = serious(run(tmp_path / leaf, form, {**export(form), gone: None}))
        assert set(found) == {"EC223"}, leaf
        assert gone in found["EC223"].message


@pytest.mark.parametrize("form", [form for form, parts in FORMS.items() if parts[4]])
def test_one_scale_of_inputs_serves_a_joined_layer(form: str, tmp_path: Path) -> None:
    one = {"midlayer.self_attn.k_proj.input_scale": None, "midlayer.mlp.up_proj.input_scale": None}
    assert not serious(run(tmp_path / "one", form, {**export(form), **one}))
    none = dict.fromkeys(f"midlayer.self_attn.{part}_proj.input_scale" for part in "qkv")
    found = serious(run(tmp_path / "none", form, {**export(form), **none}))
    assert "input_scale" in found["EC223"].message


@pytest.mark.parametrize("form", ["fp8", "compressed", "modelopt"])
def test_a_joined_layer_has_scales_of_its_own(form: str, tmp_path: Path) -> None:
    _, dtype, _, scales, inputs = FORMS[form]
    tensors = export(form)
    for part in "qkv":
        stem = f"midlayer.self_attn.{part}_proj."
        tensors |= dict.fromkeys(f"{stem}{leaf}" for leaf in ("weight", *scales, *inputs))
    joined = "midlayer.self_attn.qkv_proj."
    tensors |= {f"{joined}weight": [dtype, [512, 512]]}
    tensors |= {f"{joined}{scale}": ["F32", [1]] for scale in (*scales, *inputs)}
    assert not serious(run(tmp_path / "whole", form, tensors))
    found = serious(run(tmp_path / "part", form, {**tensors, f"{joined}{scales[0]}": None}))
    assert f"{joined}{scales[0]}" in found["EC223"].message


def test_other_spellings_of_the_layer_count_for_scales_too(tmp_path: Path) -> None:
    tensors: dict[str, Any] = {}
    for name, what in export("fp8").items():
        tensors[name] = None
        if what is not None:
            tensors[f"model.layers.0.{name.removeprefix('midlayer.')}"] = what
    assert not serious(run(tmp_path / "whole", "fp8", tensors))
    gone = "model.layers.0.mlp.up_proj.weight_scale"
    assert gone in serious(run(tmp_path / "part", "fp8", {**tensors, gone: None}))["EC223"].message


def test_a_plain_layer_among_quantised_ones_is_built_quantised(tmp_path: Path) -> None:
    name = "midlayer.self_attn.o_proj.weight"
    tensors = {**export("fp8"), name: ["BF16", LLAMA_SHAPES[name]], f"{name}_scale": None}
    found = serious(run(tmp_path / "built", "fp8", tensors))
    assert f"{name}_scale" in found["EC223"].message
    report = run(tmp_path / "spared", "fp8", tensors, ignored_layers=["o_proj"])
    assert not serious(report)
    assert not any(name in skipped.reason for skipped in report.not_checked)


@pytest.mark.parametrize(
    "block",
    [
        {"quant_method": "quark"},
        compressed(
            {"num_bits": 4, "type": "float", "strategy": "tensor_group"}, None, "nvfp4-pack-quantized"
        ),
        {"quant_method": "modelopt", "quant_algo": "NVFP4"},
        {"quant_method": "compressed-tensors", "config_groups": "many"},
    ],
)
def test_a_form_that_was_not_read_is_said_to_be_unchecked(block: dict[str, Any], tmp_path: Path) -> None:
    tensors = {**export("fp8"), "midlayer.self_attn.o_proj.weight_scale": None}
    report = check(tmp_path, draft={"config": {"quantization_config": block}, "tensors": tensors})
    assert not serious(report)
    assert any(skipped.rule.id == "EC223" and "not known" in skipped.reason for skipped in report.not_checked)


def test_a_file_of_its_own_declares_like_config_json(tmp_path: Path) -> None:
    side = {"draft/hf_quant_config.json": json.dumps({"quantization": {"quant_algo": "FP8"}})}
    assert not serious(check(tmp_path / "whole", draft={"tensors": export("modelopt")}, files=side))
    gone = {**export("modelopt"), "midlayer.mlp.down_proj.input_scale": None}
    found = serious(check(tmp_path / "part", draft={"tensors": gone}, files=side))
    assert "midlayer.mlp.down_proj.input_scale" in found["EC223"].message
    assert any("hf_quant_config.json" in each.file for each in found["EC223"].evidence)


def test_the_older_key_of_compressed_tensors_declares_too(tmp_path: Path) -> None:
    config = {"compression_config": FORMS["compressed"][0]}
    gone = "midlayer.mlp.gate_proj.weight_scale"
    tensors = {**export("compressed"), gone: None}
    found = serious(check(tmp_path, draft={"config": config, "tensors": tensors}))
    assert set(found) == {"EC223"}
    assert gone in found["EC223"].message


def test_a_quantised_draft_is_not_said_to_inherit_the_flag(tmp_path: Path) -> None:
    side = {"draft/hf_quant_config.json": json.dumps({"quantization": {"quant_algo": "FP8"}})}
    server = {"server": {"quantization": "fp8"}}
    report = check(tmp_path, draft={"tensors": export("modelopt")}, files=side, deployment=server)
    assert "EC259" not in serious(report)


PLAIN_ATTENTION = {
    change: value
    for part in "qkvo"
    for name in (f"midlayer.self_attn.{part}_proj.weight",)
    for change, value in ((name, ["BF16", LLAMA_SHAPES[name]]), (f"{name}_scale", None))
}


@pytest.mark.parametrize(
    ("form", "spared", "lost"),
    [
        ("compressed", {"ignore": ["lm_head", "re:.*self_attn.*"]}, "qkv"),
        ("compressed", {"ignore": ["midlayer.self_attn.q_proj", "midlayer.self_attn.o_proj"]}, "qkvo"),
        ("fp8", {"ignored_layers": ["self_attn"]}, "qkv"),
        ("fp8", {"modules_to_not_convert": ["midlayer.self_attn"]}, "qkvo"),
    ],
)
def test_a_list_that_misses_the_names_the_engine_asks_for_leaves_nothing_out(
    form: str, spared: dict[str, Any], lost: str, tmp_path: Path
) -> None:
    found = serious(run(tmp_path, form, {**export(form), **PLAIN_ATTENTION}, **spared))
    assert set(found) == {"EC223"}
    assert found["EC223"].values["missing"] == [f"midlayer.self_attn.{one}_proj.weight_scale" for one in lost]
    assert "model.qkv_proj" in (found["EC223"].help or "")
    assert ("model.self_attn.o_proj" in (found["EC223"].help or "")) is ("o" in lost)


@pytest.mark.parametrize(
    ("form", "spared"),
    [
        ("compressed", {"ignore": ["re:.*qkv_proj", "self_attn.o_proj"]}),
        ("compressed", {"ignore": ["model.qkv_proj", "model.self_attn.o_proj"]}),
        ("fp8", {"ignored_layers": ["q_proj", "k_proj", "v_proj", "o_proj"]}),
    ],
)
def test_a_list_with_the_names_the_engine_asks_for_is_right(
    form: str, spared: dict[str, Any], tmp_path: Path
) -> None:
    report = run(tmp_path, form, {**export(form), **PLAIN_ATTENTION}, **spared)
    assert not serious(report)
    assert not any("plain beside" in skipped.reason for skipped in report.not_checked)


def test_a_list_that_was_not_read_is_said_to_be_unchecked(tmp_path: Path) -> None:
    tensors = {**export("modelopt"), **PLAIN_ATTENTION}
    tensors |= dict.fromkeys(f"midlayer.self_attn.{one}_proj.input_scale" for one in "qkvo")
    report = run(tmp_path, "modelopt", tensors, exclude_modules=["*self_attn*"])
    assert not serious(report)
    assert any("o_proj.weight are plain beside" in skipped.reason for skipped in report.not_checked)


def test_one_plain_layer_is_told_of_in_the_singular(tmp_path: Path) -> None:
    name = "midlayer.mlp.down_proj.weight"
    gone = {f"{name}_scale": None, "midlayer.mlp.down_proj.input_scale": None}
    tensors = {**export("modelopt"), name: ["BF16", LLAMA_SHAPES[name]], **gone}
    report = run(tmp_path, "modelopt", tensors, exclude_modules=["down_proj"])
    assert any("is plain beside" in skipped.reason for skipped in report.not_checked)


def test_a_variable_that_leaves_layers_out_too_is_not_guessed_at(tmp_path: Path) -> None:
    block = {**FORMS["fp8"][0], "ignored_layers": ["lm_head"]}
    draft = {"config": {"quantization_config": block}, "tensors": {**export("fp8"), **PLAIN_ATTENTION}}
    report = check(tmp_path, draft=draft, deployment={"env": {"SGLANG_FP8_IGNORED_LAYERS": "qkv_proj"}})
    assert "EC223" not in serious(report)


@pytest.mark.parametrize(
    ("form", "spared", "names"),
    [
        ("compressed", {"ignore": ["re:.*down_proj"]}, ["mlp.down_proj"]),
        (
            "fp8",
            {"ignored_layers": ["q_proj", "k_proj", "v_proj"]},
            [f"self_attn.{one}_proj" for one in "qkv"],
        ),
    ],
)
def test_a_quantised_layer_that_the_list_leaves_out_is_built_plain(
    form: str, spared: dict[str, Any], names: list[str], tmp_path: Path
) -> None:
    found = serious(run(tmp_path, form, export(form), **spared))
    assert found["EC268"].values["tensors"] == [f"midlayer.{name}.weight" for name in names]
    assert "leaves" in found["EC268"].message


def test_entries_that_reach_no_layer_do_no_harm_to_a_whole_export(tmp_path: Path) -> None:
    assert not serious(
        run(tmp_path, "compressed", export("compressed"), ignore=["lm_head", "fc", "re:.*mlp.*"])
    )
