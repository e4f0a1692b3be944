"""How captured states reach the draft: the right wiring, and wrong ones on the same weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eaglecfg.reference.failure import ReferenceFailure


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the draft is fed.

    ``boundaries``: captured residual streams, ascending (boundary i enters layer i, n the
    final norm). ``fc_order``: block j of the fc input is captured state ``fc_order[j]``; None: as captured.
    ``use_d2t``: draft ids become target ids through ``d2t``; without it they are taken for target ids.
    ``use_fc``: without it the target's final hidden state, after its norm, takes the place of fc's output.
    """

    boundaries: tuple[int, ...]
    fc_order: tuple[int, ...] | None = None
    use_d2t: bool = True
    use_fc: bool = True


def listed_ids(draft_config: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The capture layer ids of a draft's config, where SGLang reads them; None when it lists none."""
    nested = draft_config.get("eagle_config")
    ids = nested.get("eagle_aux_hidden_state_layer_ids") if isinstance(nested, Mapping) else None
    return tuple(int(i) for i in ids) if ids else None


def boundaries_by_rule(ids: tuple[int, ...] | None, layers: int) -> tuple[int, ...]:
    """Boundaries that SGLang's Llama class captures: each id plus one, ascending, without repeats.

    Without ids the class falls back to [2, n//2, n-3] (sglang 0.5.14 ``srt/models/llama.py``,
    ``set_eagle3_layers_to_capture``).
    """
    wanted = [i + 1 for i in ids] if ids is not None else [2, layers // 2, layers - 3]
    return tuple(sorted(set(wanted)))


def check_boundaries(boundaries: tuple[int, ...], layers: int) -> None:
    """Raise ReferenceFailure unless every boundary exists in a target of ``layers`` layers."""
    outside = [i for i in boundaries if not 0 <= i <= layers]
    if outside:
        raise ReferenceFailure(
            f"boundary {outside[0]} is outside 0..{layers}, the boundaries of a target of {layers} layers"
        )


def wrong_wirings(right: Wiring) -> dict[str, Wiring]:
    """The wrong wirings of the accept-length table, by name, all on the same weights as ``right``."""
    first, *rest = right.boundaries
    k = len(right.boundaries)
    return {
        "ids shifted by one": replace(right, boundaries=tuple(i + 1 for i in right.boundaries)),
        "embedding first": replace(right, boundaries=(0, first, *rest[:-1])),
        "fc column blocks permuted": replace(right, fc_order=tuple((j + 1) % k for j in range(k))),
        "d2t dropped": replace(right, use_d2t=False),
        "fc skipped": replace(right, use_fc=False),
    }
