"""Keeps secrets out of what is shown and of what a trial leaves on disk."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "<redacted>"

SECRET_WORDS = frozenset(
    {"TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "APIKEY"}
)
SECRET_ENDINGS = (
    "API_KEY",
    "ACCESS_KEY",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "AUTH_KEY",
    "ADMIN_KEY",
    "KEYFILE_PASSWORD",
)
SECRET_VALUES = re.compile(
    r"\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[A-Z0-9]{16}"
    r"|xox[abp]-[A-Za-z0-9-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)"
)
URL_PASSWORD = re.compile(r"((?<!\w)\w+://[^/\s:@]+:)[^/\s@]+@")


def is_secret_name(name: str) -> bool:
    """Whether a variable or flag of this name usually holds a secret (HF_TOKEN, --api-key, ...)."""
    upper = name.lstrip("-").upper().replace("-", "_")
    return bool(SECRET_WORDS & set(upper.split("_"))) or upper.endswith(SECRET_ENDINGS)


def redact_text(text: str) -> str:
    """Text with everything that looks like a key, a token or a password in a URL replaced."""
    return URL_PASSWORD.sub(rf"\1{HIDDEN}@", SECRET_VALUES.sub(HIDDEN, text))


def redact_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with secrets replaced, sorted by name."""
    return {
        name: HIDDEN if is_secret_name(name) and value else redact_text(value)
        for name, value in sorted(environment.items())
    }


def redact_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line with the values of secret flags replaced."""
    shown: list[str] = []
    hide_next = False
    for argument in arguments:
        flag, equals, _ = argument.partition("=")
        if hide_next:
            shown.append(HIDDEN)
        elif equals and is_secret_name(flag):
            shown.append(f"{flag}={HIDDEN}")
        else:
            shown.append(redact_text(argument))
        hide_next = not hide_next and argument.startswith("--") and not equals and is_secret_name(argument)
    return shown


def redact_data(data: Any) -> Any:
    """Plain data (from JSON) with secret strings replaced, at any depth."""
    if isinstance(data, Mapping):
        return {
            key: HIDDEN
            if isinstance(value, str) and value and is_secret_name(str(key))
            else redact_data(value)
            for key, value in data.items()
        }
    if isinstance(data, (list, tuple)):
        return [redact_data(value) for value in data]
    return redact_text(data) if isinstance(data, str) else data
