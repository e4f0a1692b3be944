"""What the rules about a running server share: when two values are one, and how a setting is told."""

from __future__ import annotations

import json
from typing import Any

NEAR_ONE = 1.2
"""Accept length that right wiring does not fall to: one draft in five verify steps. A shuffled or dropped
map gives 1.00 to 1.05."""

TOLERANCE = 0.05
"""Share of the expected accept length that other prompts, ties and another batch size may cost."""

SPECULATION = (
    "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk",
    "speculative_num_draft_tokens",
)  # fmt: skip
"""Settings that a rule of their own compares."""

MODELS = frozenset(
    ("model_path", "revision", "speculative_draft_model_path", "speculative_draft_model_revision")
)

UNSETTLED = (None, "auto")
"""What a server reports of a setting that it works out later, or somewhere else."""


def same(told: Any, found: Any) -> bool:
    """Whether both are one setting: numbers by value, a switch that is off by its truth, JSON by content."""
    if told is False or told is None:
        return not found
    if isinstance(told, bool) or isinstance(found, bool):
        return bool(told) is bool(found)
    if isinstance(told, int | float) and isinstance(found, int | float):
        return told == found
    if isinstance(told, dict | list) or isinstance(found, dict | list):
        return bool(_parsed(told) == _parsed(found))
    return str(told).lower() == str(found).lower()


def _parsed(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def shown(value: Any) -> str:
    """A value in a sentence: text without quotes, ``off`` for nothing."""
    if value is None:
        return "off"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:80]} …"


def requests(count: int) -> str:
    """``1 request``, ``24 requests``."""
    return f"{count} request{'' if count == 1 else 's'}"


def option(name: str) -> str:
    """A flag as it is typed."""
    return "--" + name.replace("_", "-")
