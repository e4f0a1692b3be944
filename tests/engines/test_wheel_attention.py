"""What is read of attention backends out of a wheel's source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines import wheel_attention
from eaglecfg.engines.disagreements import compare
from eaglecfg.engines.table import load_facts, rows_of

CONFIG = """
def is_deepseek_dsa(config) -> bool:
    return arch(config) in ("WolfForCausalLM", "BearForCausalLM") and topk(config) is not None


class ModelConfig:
    def shapes(self):
        if (
            "WolfForCausalLM" in self.hf_config.architectures
            or (
                "LynxForCausalLM" in self.hf_config.architectures
                and getattr(self.text, "kv_lora_rank", None) is not None
            )
        ):
            self.attention_arch = AttentionArch.MLA
        elif "BearForCausalLM" in self.hf_config.architectures and getattr(self.text, "use_mla", True):
            self.attention_arch = AttentionArch.MLA
        else:
            self.attention_arch = AttentionArch.MHA
"""

ARGUMENTS = """
PACK = ["FoxForCausalLM", "FoxForConditionalGeneration"]


class ServerArgs:
    def adjust(self):
        if model_arch in ["WolfForCausalLM"]:
            allowed = ["fast", "plain"]
            prefill, decode = self.backends()
            assert prefill in allowed and decode in allowed, "no"
            assert prefill_backend in allowed and decode_backend in allowed, "no"
        elif model_arch in PACK and self.device != "cpu":
            assert self.attention_backend in {"plain", "slow"}, "no"
        elif "Owl" in model_arch:
            assert self.attention_backend in ("plain",), "no"
        elif model_arch == "HareForCausalLM":
            assert self.attention_backend != "slow", "no"
"""

REGISTRY = """
@register_attention_backend("latent")
def create_latent(runner):
    if not runner.use_mla_backend:
        raise ValueError("latent takes MLA")
    return Latent(runner)


@register_attention_backend("whole")
def create_whole(runner):
    if runner.use_mla_backend:
        raise ValueError("whole takes no MLA")
    return Whole(runner)


@register_attention_backend("any")
def create_any(runner):
    if not runner.use_mla_backend:
        return Any(runner)
    return Other(runner)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for path, text in (
        (wheel_attention.MODEL_CONFIG, CONFIG),
        (wheel_attention.CLASS_CHECKS[1], ARGUMENTS),
        (wheel_attention.REGISTRY, REGISTRY),
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("table", "value"),
    [
        (
            "mla",
            {
                "classes": ["WolfForCausalLM"],
                "where": {"BearForCausalLM": ["use_mla", True], "LynxForCausalLM": ["kv_lora_rank", None]},
            },
        ),
        ("dsa", ["BearForCausalLM", "WolfForCausalLM"]),
        (
            "class_backends",
            {
                "FoxForCausalLM": ["plain", "slow"],
                "FoxForConditionalGeneration": ["plain", "slow"],
                "OwlForCausalLM": ["plain"],
                "OwlForConditionalGeneration": ["plain"],
                "WolfForCausalLM": ["fast", "plain"],
            },
        ),
        ("takes", {"latent": "mla", "whole": "mha"}),
    ],
)
def test_each_reader_finds_what_stands_there(table: str, value: Any, package: Path) -> None:
    found = wheel_attention.READERS[table](package)
    assert found is not None
    assert found[0] == value
    assert found[1].startswith("srt/")
    assert int(found[1].rpartition(":")[2]) > 0


@pytest.mark.parametrize("table", sorted(wheel_attention.READERS))
def test_a_wheel_without_the_files_gives_nothing(table: str, tmp_path: Path) -> None:
    assert wheel_attention.READERS[table](tmp_path) is None


@pytest.mark.parametrize("table", sorted(wheel_attention.READERS))
def test_facts_are_told_in_the_readers_form(table: str, package: Path) -> None:
    rows = rows_of("sglang", "0.5.23", "attention.json")[table]
    found = wheel_attention.READERS[table](package)
    assert found is not None
    assert type(wheel_attention.told(table, rows)) is type(found[0])


def test_another_wheel_differs_where_its_backends_do(package: Path) -> None:
    facts = load_facts("sglang", "0.5.23")
    assert facts is not None
    (package / "srt" / "models").mkdir()
    names = {one.name for one in compare(facts, package).disagreements if one.topic == "values"}
    assert "attention takes.latent" in names
    assert "attention takes.trtllm_mla" in names
    assert "attention mla.classes WolfForCausalLM" in names
