"""Which setting switches the CUDA graphs of decode off, and how large a batch they are recorded for."""

from __future__ import annotations

from typing import Any

from eaglecfg.engines.numerals import whole
from eaglecfg.engines.resolve import Resolution, override_args
from eaglecfg.record import record

CONFIG = "cuda_graph_config"
"""The flag that takes an object for both phases. What it says wins over the flags for one thing each."""

OFF = ("cuda_graph_backend_decode", "disable_decode_cuda_graph", "disable_cuda_graph")
BATCHES = ("cuda_graph_bs_decode", "cuda_graph_bs")
LARGEST = ("cuda_graph_max_bs_decode", "cuda_graph_max_bs")


@record
class Said:
    """A setting of the graphs. ``flag`` gives it, ``shown`` is how a message names it, ``value`` what it
    says; ``source`` where what it does was read, if it is no flag about graphs; ``listed``: its value is the
    end of a list of sizes."""

    flag: str
    shown: str
    value: Any
    source: str = ""
    listed: bool = False


def switched_off(resolution: Resolution) -> Said | None:
    """The setting that switches the graphs of decode off, None where they are on."""
    row = resolution.graphs_off_by()
    if row is not None:
        flag = row["by"]
        value = resolution.asked(flag)
        shown = flag if value is True else f"{flag} {value}"
        read_in = resolution.facts.sources["graphs_off"].rpartition(" (")[2]
        return Said(flag, shown, value, f"{row['source']} ({read_in}")
    if resolution.graph_backend("decode") != "disabled":
        return None
    if _of_config(resolution).get("backend") == "disabled":
        return Said(CONFIG, f"{CONFIG} (decode.backend disabled)", "disabled")
    for flag in OFF:
        value = resolution.runs(flag)
        if value in (True, "disabled"):
            return Said(flag, flag if value is True else f"{flag} {value}", value)
    return None


def largest_batch(resolution: Resolution) -> Said | None:
    """The largest batch that a setting has graphs recorded for; None where the engine chooses, or nobody can
    tell. A list of sizes wins over a limit, and the object over flags."""
    config = _of_config(resolution)
    if config.get("bs") is not None:
        return _listed(CONFIG, f"{CONFIG} (decode.bs)", config["bs"])
    for flag in BATCHES:
        if resolution.runs(flag) is not None:
            return _listed(flag, flag, resolution.runs(flag))
    if config.get("max_bs") is not None:
        return _limit(CONFIG, f"{CONFIG} (decode.max_bs)", config["max_bs"])
    for flag in LARGEST:
        if resolution.runs(flag) is not None:
            return _limit(flag, flag, resolution.runs(flag))
    return None


def _listed(flag: str, shown: str, value: Any) -> Said | None:
    sizes = [whole(one) for one in (value if isinstance(value, list) else [value])]
    known = [size for size in sizes if size is not None]
    return Said(flag, shown, max(known), listed=True) if known and len(known) == len(sizes) else None


def _limit(flag: str, shown: str, value: Any) -> Said | None:
    number = whole(value)
    return None if number is None else Said(flag, shown, number)


def _of_config(resolution: Resolution) -> dict[str, Any]:
    """What ``cuda_graph_config`` says of decode, empty where this version has no such flag."""
    found = override_args(resolution.runs(CONFIG)).get("decode")
    return found if isinstance(found, dict) else {}
