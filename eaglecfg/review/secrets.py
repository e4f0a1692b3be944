"""What is a secret in a launch: it is never written, and read from the environment of whoever launches."""

from __future__ import annotations

from eaglecfg.source.references import variable_of
from eaglecfg.source.secrets import is_secret_name, redact_text

__all__ = ["is_secret_flag", "is_secret_value", "variable_of"]


def is_secret_flag(name: str, kind: str) -> bool:
    """Whether the server flag ``name`` takes a secret. ``kind``: the type of its values, empty: unknown."""
    return kind in ("", "str") and is_secret_name(name.lower())


def is_secret_value(text: str) -> bool:
    """Whether a text holds what looks like a key, a token or a password in a URL."""
    return redact_text(text) != text
