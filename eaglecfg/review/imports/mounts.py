"""Folders of the host that a container sees under another path."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from eaglecfg.record import record


@record
class Mount:
    """``host`` is what the container sees as ``inside``."""

    host: str
    inside: str


def short_form(text: str) -> Mount | None:
    """``host:inside[:options]``, as docker run and compose have it; None where no host folder is named."""
    host, colon, rest = text.partition(":")
    inside = rest.partition(":")[0]
    return (
        Mount(host, inside) if colon and inside.startswith("/") and host.startswith(("/", ".", "~")) else None
    )


def long_form(text: str) -> Mount | None:
    """``type=bind,source=host,target=inside``, as docker run --mount has it."""
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    host = parts.get("source") or parts.get("src") or ""
    inside = parts.get("target") or parts.get("dst") or parts.get("destination") or ""
    return Mount(host, inside) if parts.get("type", "bind") == "bind" and host and inside else None


def on_the_host(path: str, mounts: Sequence[Mount]) -> str:
    """Where ``path`` of a container lies on the host, empty where no mount tells."""
    best = ""
    found = ""
    for mount in mounts:
        inside = mount.inside.rstrip("/")
        if (path == inside or path.startswith(f"{inside}/")) and len(inside) >= len(best):
            best, found = inside, posixpath.join(mount.host, path[len(inside) :].lstrip("/"))
    return found.rstrip("/")
