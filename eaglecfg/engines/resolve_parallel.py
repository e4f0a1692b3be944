"""How many ranks share target and draft, and which attention kernel the flags fix."""

from __future__ import annotations

from eaglecfg.engines.resolve import Draftsheet, Origin


def resolve_parallel(sheet: Draftsheet) -> None:
    """Settle attention parallelism, the draft's ranks, and page size as far as flags alone decide them."""
    tp = _whole(sheet.runs("tp_size"), 1)
    attention_dp = _attention_dp(sheet)
    ranks = tp // attention_dp if attention_dp and tp % attention_dp == 0 else None
    why = (
        "all ranks"
        if attention_dp == 1
        else f"{tp} ranks in {attention_dp} groups of data-parallel attention"
    )
    sheet.put("attention.dp_size", attention_dp, "default", why)
    sheet.put(
        "attention.tp_size", ranks, "default", why if ranks else f"{tp} does not divide by {attention_dp}"
    )
    # The draft runs inside the attention group of its rank, whole, whatever the target does.
    sheet.put("draft.tp_size", ranks, "default", "the draft is split over one attention group")
    _page_size(sheet)


def _attention_dp(sheet: Draftsheet) -> int:
    given = _whole(sheet.runs("attn_dp_size"), 1)
    if given > 1:
        return given
    if not sheet.asked("enable_dp_attention"):
        return 1
    groups = _whole(sheet.runs("dp_size"), 1)
    if groups == 1:
        sheet.put(
            "enable_dp_attention", False, "rewritten", "switched off without a word, because dp_size is 1"
        )
    return groups


def _page_size(sheet: Draftsheet) -> None:
    backend = sheet.asked("attention_backend")
    # Anything but text is refused as a flag, and a list or a mapping cannot even be looked up.
    sizes = sheet.facts.values["page_forced"].get(backend) if isinstance(backend, str) else None
    asked = sheet.asked("page_size")
    if sizes and (asked is None or asked not in sizes):
        page = sizes[0] if len(sizes) == 1 else 64
        origin: Origin = "default" if asked is None else "rewritten"
        why = f"{backend} works on pages of {_either(sizes)} tokens"
        sheet.put("page_size", page, origin, why, "page_forced")
    elif asked is None:
        sheet.put(
            "page_size", 1, "default", "unless the engine picks a kernel for this GPU that needs larger pages"
        )
    if backend is None and sheet.setting("attention_backend").origin != "refused":
        sheet.put(
            "attention_backend",
            None,
            "default",
            "picked at start by GPU, model and shape: not known from files",
        )


def _either(sizes: list[int]) -> str:
    return " or ".join(str(one) for one in sizes)


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise
