"""How many ranks share target and draft."""

from __future__ import annotations

from eaglecfg.engines.resolve import Draftsheet


def resolve_parallel(sheet: Draftsheet) -> None:
    """Settle attention parallelism and the draft's ranks."""
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


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise
