"""Order of NCCL and engine versions, without the packaging library."""

from __future__ import annotations

import re

PREFIXES_SINCE = "2.24"
"""From this version on ALGO and PROTO know collectives, and an unknown name stops initialisation."""

FORCED_SINCE = "2.31"
"""From here on NCCL_ALGO leaves collectives that it does not name without an algorithm, where a protocol is
forced."""


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version: ``2.30.7`` -> (2, 30, 7), ``0.5.10.post1`` -> (0, 5, 10, 1)."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version.partition("+")[0]))


def at_least(version: str, least: str) -> bool:
    """Whether ``version`` is ``least`` or later. ``2.31`` and ``2.31.0`` are the same."""
    have, want = release(version), release(least)
    width = max(len(have), len(want))
    return have + (0,) * (width - len(have)) >= want + (0,) * (width - len(want))


def before(version: str, limit: str) -> bool:
    """Whether ``version`` is earlier than ``limit``."""
    return not at_least(version, limit)


def declared_version(text: str) -> str | None:
    """The version that ``text`` declares (``v2.28.9-1+cuda13.0`` -> ``2.28.9``), None where it is none."""
    found = re.fullmatch(r"v?(2\.\d{1,2}(\.\d{1,2})?)([-+].*)?", text.strip())
    return found[1] if found else None


def coded_version(text: str) -> str | None:
    """The version behind NCCL_VERSION_CODE: ``22809`` -> ``2.28.9``, None where it is none."""
    plain = text.strip()
    if not re.fullmatch(r"2[0-9]{3,4}", plain):
        return None
    code = int(plain)
    # Four digits until 2.8, five from 2.9 on.
    major, rest = divmod(code, 10000 if code >= 20000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"
