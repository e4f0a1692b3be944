"""The stand-in's command line: every flag is accepted as SGLang spells them, and reported by /server_info."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Settings:
    """``flags`` by name with underscores, ``environment`` as given. Own flags: fault, fault_once (a file:
    the fault happens only while it does not exist), virtual_clock, time_scale (1: as slow as the formula
    says), noise (launch to launch standard deviation as a share)."""

    flags: Mapping[str, Any]
    faults: tuple[str, ...]
    environment: Mapping[str, str]

    def number(self, name: str, default: float) -> float:
        """A flag as a number."""
        value = self.flags.get(name, default)
        return float(value) if isinstance(value, (int, float)) else default

    def seen(self, name: str) -> str | None:
        """A flag or an environment variable in its text form."""
        value = self.flags.get(name, self.environment.get(name))
        return None if value is None else str(value)

    @property
    def port(self) -> int:
        """The port to listen on."""
        return int(self.number("port", 30000))

    @property
    def num_steps(self) -> int:
        """Draft steps; 0 where speculation is off."""
        if not self.flags.get("speculative_algorithm"):
            return 0
        return int(self.number("speculative_num_steps", 3))

    @property
    def simulated(self) -> float:
        """The accept length to simulate; 0 for none. A text that is no number counts as none, as in
        SGLang."""
        try:
            return max(float(self.environment.get("SGLANG_SIMULATE_ACC_LEN", "0")), 0.0)
        except ValueError:
            return 0.0


def read_settings(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Read ``--name value``, ``--name=value`` and ``--name``; numbers and true/false become such."""
    flags: dict[str, Any] = {}
    faults: list[str] = []
    place = 0
    while place < len(arguments):
        name, equals, value = arguments[place].partition("=")
        place += 1
        if not name.startswith("--"):
            continue
        name = name[2:].replace("-", "_")
        if not equals and place < len(arguments) and not arguments[place].startswith("--"):
            value = arguments[place]
            place += 1
            equals = "="
        if name == "fault":
            faults.append(value)
        else:
            flags[name] = plain(value) if equals else True
    return Settings(flags, tuple(faults), environment)


def plain(text: str) -> Any:
    """A flag's value: a number where it is one."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (int, float, bool)) else text
