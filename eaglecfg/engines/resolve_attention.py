"""Attention backend and page size: as given, as the engine picks them, and what one does to the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.attention import (
    CHAINS_ONLY,
    FLAGS,
    attention_facts,
    attention_kind,
    chosen,
    is_dsa,
)
from eaglecfg.engines.resolve import Draftsheet, Origin
from eaglecfg.engines.table import source_of

BASE, PREFILL, DECODE = FLAGS.values()
_DECIDING = (
    *FLAGS.values(), "page_size", "speculative_algorithm", "speculative_eagle_topk", "device",
    "enable_deterministic_inference", "kv_cache_dtype", "dllm_algorithm",
)  # fmt: skip


def resolve_attention(sheet: Draftsheet, target: ModelConfig | None, major: int | None) -> None:
    """Settle the backends and the page size for ``target`` on a GPU of compute capability ``major``."""
    if any(sheet.setting(flag).origin == "refused" for flag in FLAGS.values()):
        _page_size(sheet, target, major, None)
        return
    _page_size(sheet, target, major, _backend(sheet, target, major))
    if BASE not in sheet.settings:
        sheet.put(BASE, None, "default", "picked at start by GPU, model and shape: not known from files")
    if sheet.runs(PREFILL) is None and "cutedsl_mla" in (sheet.asked(BASE), sheet.asked(DECODE)):
        sheet.put(PREFILL, "trtllm_mla", "default", "cutedsl_mla decodes only: trtllm_mla prefills beside it")


def _backend(sheet: Draftsheet, target: ModelConfig | None, major: int | None) -> int | None:
    """Settle ``attention_backend``; gives the page size that comes with what is picked."""
    both = sheet.asked(PREFILL)
    if both is not None and both == sheet.asked(DECODE):
        if sheet.asked(BASE) != both:
            origin: Origin = "default" if sheet.asked(BASE) is None else "rewritten"
            sheet.put(BASE, both, origin, f"prefill and decode both run {both}")
        return None
    if sheet.asked(BASE) is not None:
        return None
    choice = chosen(sheet.facts, target, {name: sheet.asked(name) for name in _DECIDING}, major)
    if choice.refused:
        assert target is not None
        why = f"not given, and {target.architecture} does not start without one in this version"
        sheet.put(BASE, None, "refused", why, source=choice.source)
    elif choice.backend is not None:
        assert target is not None
        on = "" if major is None else f" on compute capability {major}.x"
        why = f"not given: the engine picks {choice.backend} for {target.architecture}{on}"
        sheet.put(BASE, choice.backend, "default", why, source=choice.source)
        return choice.page
    return None


def _page_size(
    sheet: Draftsheet, target: ModelConfig | None, major: int | None, with_backend: int | None
) -> None:
    """Pages in the order in which the engine looks at them: by class, by backend, else one token."""
    asked = sheet.asked("page_size")
    page, why, source = asked, "", ""
    row = attention_facts(sheet.facts).get("values", {}).get("dsa_page")
    if row is not None and is_dsa(sheet.facts, target) and sheet.runs("device") in (None, "cuda", "auto"):
        page, why, source = (
            row["value"],
            "DeepSeek's sparse attention runs on pages of 64 tokens",
            source_of(row),
        )
    if page is None and with_backend is not None:
        page, why = with_backend, f"comes with {sheet.runs(BASE)}, which the engine picks"
    running = {name: sheet.runs(flag) for name, flag in FLAGS.items()}
    for backend, sizes in sheet.facts.values["page_forced"].items():
        looked_at = running.values() if backend in _ANY_STAGE else (running["base"], running["decode"])
        if backend in looked_at and page not in sizes:
            page = 64 if 64 in sizes else sizes[0]
            why = f"{backend} runs on pages of {_either(sizes)} tokens"
            source = sheet.facts.sources.get("page_forced", "")
    fa4 = _fa4_forces(sheet, target, major, running)
    if fa4:
        page, why, source = 128, "fa4 runs on pages of 128 tokens", fa4
    if page is None:
        known = running["base"] is not None
        sheet.put(
            "page_size", 1, "default",
            "" if known else "unless the engine picks a kernel for this GPU that needs larger pages",
        )  # fmt: skip
    elif page != asked:
        origin: Origin = "default" if asked is None else "rewritten"
        sheet.put("page_size", page, origin, why, source=source)


_ANY_STAGE = (CHAINS_ONLY, "cutedsl_mla", "hpc_ops")
"""Backends whose pages count whatever flag gives them; the others only as base or for decode."""


def _fa4_forces(
    sheet: Draftsheet, target: ModelConfig | None, major: int | None, running: Mapping[str, Any]
) -> str:
    """Where it was read that fa4 forces its pages here; empty where it does not, or may not."""
    row = attention_facts(sheet.facts).get("values", {}).get("fa4_pages")
    if row is None or "fa4" not in [running[flag] for flag in row["value"]["flags"]]:
        return ""
    value, topk = row["value"], sheet.asked("speculative_eagle_topk")
    if "majors" in value and major not in value["majors"]:
        return ""
    if value.get("chains") and isinstance(topk, int) and topk > 1:
        return ""
    applies = value.get("mla") or attention_kind(sheet.facts, target) == "mha"
    return source_of(row) if applies else ""


def _either(sizes: list[int]) -> str:
    return " or ".join(str(one) for one in sizes)
