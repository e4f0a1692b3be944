"""Attention of models and the backends that carry it: which take which, and what the engine picks itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.table import rows_of, source_of
from eaglecfg.record import record

Kind = Literal["mla", "mha"]
FLAGS: Mapping[str, str] = {
    "base": "attention_backend",
    "prefill": "prefill_attention_backend",
    "decode": "decode_attention_backend",
}
CHAINS_ONLY = "trtllm_mha"
"""The backend that verifies no trees."""
DRAFT_FLAG = "speculative_draft_attention_backend"


@record
class Choice:
    """What the engine picks where ``attention_backend`` is not given.

    ``backend`` None: files do not decide it, and ``gpu_needed`` says that the GPU's name might. ``refused``:
    this version stops unless one is given. ``page`` is the page size that comes with the choice.
    """

    backend: str | None
    source: str = ""
    gpu_needed: bool = False
    refused: bool = False
    page: int | None = None


def attention_facts(facts: EngineFacts) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Rows of ``attention.json`` at this version: table, key, row."""
    return rows_of(facts.name, facts.facts_of, "attention.json")


def attention_kind(facts: EngineFacts, config: ModelConfig | None) -> Kind | None:
    """``mla`` for what this version sees as latent attention, else ``mha``; None for an unknown class."""
    name = config.architecture if config is not None else None
    if config is None or name is None or name not in facts.architectures:
        return None
    row = attention_facts(facts).get("mla", {}).get(name)
    if row is None:
        return "mha"
    if "where" not in row:
        return "mla"
    key, absent = row["where"]
    return "mla" if config.value(key, absent) not in (None, False) else "mha"


def is_dsa(facts: EngineFacts, config: ModelConfig | None) -> bool:
    """Whether this version runs the model with DeepSeek's sparse attention."""
    if config is None or config.architecture not in attention_facts(facts).get("dsa", {}):
        return False
    return config.value("index_topk") is not None


def misfit(facts: EngineFacts, backend: str, config: ModelConfig | None) -> Mapping[str, Any] | None:
    """The row of ``takes`` that says why ``backend`` cannot carry the model; None where it can or may."""
    row, kind = attention_facts(facts).get("takes", {}).get(backend), attention_kind(facts, config)
    if row is None or kind is None:
        return None
    fits = is_dsa(facts, config) if row["kind"] == "dsa" else row["kind"] == kind
    return None if fits else row


def chosen(
    facts: EngineFacts, target: ModelConfig | None, given: Mapping[str, Any], major: int | None
) -> Choice:
    """What this version picks for ``target`` on a GPU of compute capability ``major`` (None: not known).

    ``given`` are the values of flags as given, by name. Only classes that the facts follow are decided: the
    engine has rules of its own for many others.
    """
    name = target.architecture if target is not None else None
    if target is None or name is None or name not in facts.captures or _beyond_files(target, given):
        return Choice(None)
    tables = attention_facts(facts)
    row = tables.get("defaults", {}).get(name)
    if row is not None and _applies(row, target, given):
        found = _of_class(facts, row, target, given, major)
        if found is not None:
            return found
    rule = tables.get("values", {}).get("default_backend")
    if rule is None:
        return Choice(None)
    backend, gpu_needed = _general(facts, rule["value"], target, given, major)
    return Choice(backend, source_of(rule), gpu_needed)


def _beyond_files(target: ModelConfig, given: Mapping[str, Any]) -> bool:
    """Whether something decides that is looked at before the class, or after it."""
    return bool(
        given.get("enable_deterministic_inference")
        or given.get("dllm_algorithm") is not None
        or given.get("device") not in (None, "cuda", "auto")
        or target.value("dual_chunk_attention_config") is not None
        or target.value("learnable_sink")
    )


def _applies(row: Mapping[str, Any], target: ModelConfig, given: Mapping[str, Any]) -> bool:
    if row["unset"] == "all" and any(given.get(flag) is not None for flag in FLAGS.values()):
        return False
    return "where" not in row or target.value(row["where"]) is not None


def _of_class(
    facts: EngineFacts,
    row: Mapping[str, Any],
    target: ModelConfig,
    given: Mapping[str, Any],
    major: int | None,
) -> Choice | None:
    """The choice by a row of ``defaults``; None where it leaves the choice to the general rule."""
    source = source_of(row)
    if row.get("refused"):
        return Choice(None, source, refused=True)
    other = any(given.get(flag) == value for flag, value in row.get("unknown_with", {}).items())
    if row.get("unknown") or other:
        return Choice(None, source)
    if "dsa" in row and is_dsa(facts, target):
        return Choice(row["dsa"], source)
    by_gpu = row.get("sm", {})
    if major is None:
        return Choice(None, source, gpu_needed=True)
    key = str(major) if str(major) in by_gpu else "else"
    if key not in by_gpu:
        return None
    backend = by_gpu[key]
    if backend == "hybrid":
        if given.get("speculative_algorithm") is None:
            return Choice(None, source)
        rule = attention_facts(facts)["values"]["default_backend"]["value"]
        general, _ = _general(facts, rule, target, given, major)
        backend = CHAINS_ONLY if general == CHAINS_ONLY else "triton"
    return Choice(backend, source, page=row.get("page"))


def _general(
    facts: EngineFacts,
    rule: Mapping[str, Any],
    target: ModelConfig,
    given: Mapping[str, Any],
    major: int | None,
) -> tuple[str | None, bool]:
    """(backend, whether the GPU's name is what is missing) by the rule for all classes."""
    kind = attention_kind(facts, target)
    if kind is None or major is None:
        return None, kind is not None
    if kind == "mla":
        return {9: "fa3", 10: "flashinfer"}.get(major, "triton"), False
    topk, page = given.get("speculative_eagle_topk"), given.get("page_size")
    chain = topk is None or (topk == 1 and page in (None, 1))
    if major == 9 and chain:
        classes = rule.get("fa3_classes")
        return "fa3" if classes is None or target.architecture in classes else "flashinfer", False
    if major in rule.get("majors", ()) and chain and rule["trtllm_mha"] != "never":
        if rule["trtllm_mha"] == "given" and topk is None and given.get("speculative_algorithm") is not None:
            return "flashinfer", False
        uneven = target.value("v_head_dim") not in (None, target.value("head_dim"))
        return rule.get("asymmetric", CHAINS_ONLY) if uneven else CHAINS_ONLY, False
    return "flashinfer", False
