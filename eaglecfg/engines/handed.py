"""Values that only whoever launches a server knows: ``NAME: ${NAME}`` in a deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eaglecfg.errors import ValueFromLaunch


class Handed(dict[str, str]):
    """Environment variables, of which those in ``names`` are set to something that nobody here knows.

    Asking for such a value raises ValueFromLaunch; that it is set can be asked.
    """

    def __init__(self, given: Mapping[str, str], names: Iterable[str] = ()) -> None:
        super().__init__(given)
        self.names = frozenset(names)

    def __getitem__(self, name: str) -> str:
        if name in self.names:
            raise ValueFromLaunch(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value, ``default`` where the variable is not set."""
        if name in self.names:
            raise ValueFromLaunch(name)
        return super().get(name, default)

    def without(self, names: Iterable[str]) -> Handed:
        """All but ``names``."""
        left = frozenset(names)
        return Handed({name: text for name, text in self.items() if name not in left}, self.names - left)


def handed_names(env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables of an ``env`` block that are handed on."""
    return tuple(name for name, text in env.items() if text == f"${{{name}}}")
