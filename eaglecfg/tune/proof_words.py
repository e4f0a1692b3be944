"""What the proof launches say, in sentences of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST = 12
"""Settings named; the rest is counted."""


def proof_words(proofs: Mapping[str, Mapping[str, Any]], winner: str | None) -> tuple[str, ...]:
    """Sentences about the proof of the winner, or of the fastest setting that changes NCCL's. ``proofs`` are
    the ledger's records by arm, ``winner`` is an arm's key."""
    setting = proofs.get(winner or "") or next(
        (one for one in reversed(list(proofs.values())) if one["role"] == "setting" and winner is None), None
    )
    if setting is None:
        return ()
    label = setting["arm"]["label"]
    if setting["failure"] and not setting["choices"]:
        return (
            f"Whether NCCL settings acted is not known: the launch of {label} with NCCL's log on failed "
            f"({setting['failure']}: {setting['message']}).",
        )
    if not setting["messages"]:
        return (
            f"Whether NCCL settings acted is not known: {label} wrote no line of NCCL with its log on; "
            f"its ranks did not start it, or wrote elsewhere.",
        )
    out = [f"{_headline(setting, label)}: {_settings(setting['settings'])}."]
    if not setting["choices"]:
        out.append(
            "No collective ran through NCCL there: what its settings change cannot be seen in these numbers."
        )
    else:
        out += _against(setting, proofs)
    out += [f"Ranks disagree: {text}." for text in setting["disagreements"][:3]]
    return tuple(out)


def _headline(setting: Mapping[str, Any], label: str) -> str:
    version = f" (NCCL {setting['nccl_versions'][0]})" if setting["nccl_versions"] else ""
    return f"In a launch of {label} with NCCL's log on{version}, not timed"


def _settings(settings: Sequence[Mapping[str, Any]]) -> str:
    if not settings:
        return "no variable of NCCL is set"
    parts = [
        f"{one['name']}={one['asked']} {_STATUS[one['status']]} ({one['why']})"
        for one in sorted(settings, key=lambda one: not one["failed"])[:MOST]
    ]
    more = f"; and {len(settings) - MOST} more" if len(settings) > MOST else ""
    return "; ".join(parts) + more


_STATUS = {
    "acted": "acted",
    "taken": "was taken, but nothing that ran shows it",
    "contradicted": "did NOT act",
    "misread": "was MISREAD",
    "overridden": "was OVERRIDDEN",
    "not taken": "was NOT taken",
    "cannot tell": "cannot be told",
}


def _against(setting: Mapping[str, Any], proofs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Whether NCCL chose otherwise than under the baseline, for the messages that both have."""
    base = next((one for one in proofs.values() if one["role"] == "baseline" and one["choices"]), None)
    if base is None:
        return []
    here, there = _chosen(setting["choices"]), _chosen(base["choices"])
    shared = here.keys() & there.keys()
    changed = [key for key in shared if here[key] != there[key]]
    if not shared:
        return []
    if not changed:
        return [
            f"NCCL chose the same algorithm, protocol and channels as under the baseline for all "
            f"{len(shared)} messages that both have: a gain is not shown to come from its settings."
        ]
    return [
        f"NCCL chose otherwise than under the baseline for {len(changed)} of {len(shared)} messages that "
        f"both have."
    ]


def _chosen(choices: Sequence[Sequence[Any]]) -> dict[tuple[str, int, int | None], frozenset[str]]:
    found: dict[tuple[str, int, int | None], set[str]] = {}
    for function, size, ranks, chosen, _ in choices:
        found.setdefault((function, size, ranks), set()).add(chosen)
    return {key: frozenset(value) for key, value in found.items()}
