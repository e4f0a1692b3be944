"""Screens of the how-to pages: the commands in them are run, and what they print stands below."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCREEN = re.compile(r"```console\n\$ eaglecfg (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)
Run = Callable[[list[str]], str]


def page(name: str) -> Path:
    return ROOT / "docs" / "how-to" / name


def written_anew(text: str, run: Run, instead: Mapping[str, str] | None = None) -> str:
    """``text`` with the output of every screen as it is now. ``instead``: what stands in the page to what
    is meant here (a port)."""

    def screen(found: re.Match[str]) -> str:
        command = found["command"]
        here = command
        for shown, meant in (instead or {}).items():
            here = here.replace(shown, meant)
        output = run(shlex.split(here))
        for shown, meant in (instead or {}).items():
            output = output.replace(meant, shown)
        return f"```console\n$ eaglecfg {command}\n{output}```"

    return SCREEN.sub(screen, text)


def steady(text: str) -> str:
    """``text`` without what differs from machine to machine: measured lengths, times, counts of rules."""
    text = re.sub(r"\d+\.\d\d s\b", "T s", text)
    text = re.sub(r"\d\.\d{2,3}\b", "N", text)
    text = re.sub(r"\d+ (rules|checks|passed|not applicable|%)", r"N \1", text)
    return " ".join(text.split())
