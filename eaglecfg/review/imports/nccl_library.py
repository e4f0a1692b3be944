"""Which NCCL a launch runs, where it is not the one that torch brings: installed, preloaded, or named."""

from __future__ import annotations

import re

from eaglecfg.review.imports.calls import Call
from eaglecfg.review.imports.pins import Pin, of_package, version_of
from eaglecfg.review.imports.text import Text, guarded
from eaglecfg.rules.nccl.library import chosen_library

_TORCHS_OWN = re.compile(r".*/(?:site|dist)-packages/nvidia/nccl/lib/[^/]+")
_INSTALLS = re.compile(
    r"(?:\S*/)?(?:pip|uv|conda|mamba|micromamba|poetry|pdm|pixi|rye|python)[\d.]*[ ].*", re.S
)


def nccl_of(call: Call) -> tuple[str, str]:
    """(version, what says so), or without a version what decides it, in words; both empty: nothing does."""
    chosen = chosen_library({name: _words_of(value) for name, value in call.environment.items()})
    own = bool(_TORCHS_OWN.fullmatch(chosen.partition("=")[2]))
    pins = of_package(call.pins, "nccl")
    if chosen and not (own and pins):
        return "", f"{guarded(chosen)} decides which NCCL runs: write its version as nccl_version"
    if not pins:
        return "", ""
    after = _after(call.pins)
    version = "" if after else version_of(pins)
    if version:
        return version, pins[-1].text
    if after:
        what = f"whether {after[0].text} behind {pins[-1].text} puts torch's own NCCL back is not known"
        return "", f"{what}: write the version that runs as nccl_version"
    shown = " or ".join(dict.fromkeys(pin.shown for pin in pins[-3:]))
    return "", f"{shown} decides which NCCL runs: write its version as nccl_version"


def _words_of(value: Text) -> str:
    """The value, with a space for a part that is not known and ends in a separator of its own."""
    pieces, at = [], 0
    for begin, end in value.holes:
        hole = value.text[begin:end]
        pieces += [value.text[at:begin], " " if re.search(r"[\s:]", hole) else hole]
        at = end
    return "".join((*pieces, value.text[at:]))


def _after(pins: tuple[Pin, ...]) -> tuple[Pin, ...]:
    """What is installed behind the last NCCL and requires one of its own: the engine, torch."""
    last = max(at for at, pin in enumerate(pins) if pin.package == "nccl")
    return tuple(pin for pin in pins[last + 1 :] if pin.package != "nccl" and _INSTALLS.fullmatch(pin.text))
