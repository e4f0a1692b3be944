"""Hub ids: ``org/name`` and ``org/name@revision``, and where the environment says that hub files lie."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from eaglecfg.record import record

HUB = "hub id"
"""``FileProblem.key`` of what concerns a checkpoint that is named by a hub id."""

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
_REPO = rf"{_PART}/{_PART}"
_REVISION = r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}"
COMMIT = r"[0-9a-f]{40}"


@record
class HubId:
    """A model on the hub. ``inline`` is what stands after the ``@``, ``key`` the config's ``revision``."""

    repo: str
    inline: str | None = None
    key: str | None = None

    @property
    def asked(self) -> str | None:
        """The revision that the config gives; the key counts where both are given."""
        return self.key if self.key is not None else self.inline

    @property
    def revision(self) -> str:
        """The revision that is loaded; without one it is the branch ``main``."""
        return self.asked or "main"

    @property
    def fixed(self) -> bool:
        """Whether the revision is a commit, which cannot move."""
        return re.fullmatch(COMMIT, self.revision) is not None

    @property
    def cache_name(self) -> str:
        """The folder of the model in a hub cache."""
        return f"models--{self.repo.replace('/', '--')}"


@record
class HubSource:
    """Where facts of a hub id come from. ``commit`` is None where nothing was found of it.

    ``headers_only``: they were fetched, and in place of weights the files have holes.
    """

    id: HubId
    commit: str | None = None
    headers_only: bool = False


@record
class HubAccess:
    """What the environment says about the hub. All paths absolute; no path, no cache.

    ``cache`` is the hub library's, ``own`` that of headers fetched by eaglecfg. ``settings`` is the
    environment, which a connection asks for a token, proxies and timeouts.
    """

    cache: str = ""
    own: str = ""
    online: bool = False
    settings: Mapping[str, str] | None = None


def hub_id(spelled: str, revision: str | None = None) -> HubId | None:
    """The hub id in ``spelled``, None where it can only be a path. ``revision`` is the config's own key."""
    repo, at, inline = spelled.partition("@")
    if not re.fullmatch(_REPO, repo) or "--" in repo or ".." in repo or bool(at) != bool(inline):
        return None
    return HubId(repo, inline or None, revision or None)


def proper_revision(revision: str) -> bool:
    """Whether a revision can be a name of git's, which then is also a safe path."""
    parts = revision.split("/")
    safe = all(parts) and ".." not in revision and "." not in parts
    return safe and re.fullmatch(_REVISION, revision) is not None


def hub_access(environment: Mapping[str, str], *, online: bool = False) -> HubAccess:
    """The hub's places as its own library finds them (huggingface_hub 0.20-2.4, ``constants.py``)."""
    home = environment.get("HOME", "")
    caches = environment.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    hub_home = environment.get("HF_HOME") or (f"{caches}/huggingface" if caches else "")
    cache = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    cache = cache or (f"{hub_home}/hub" if hub_home else "")
    own = f"{caches}/eaglecfg/hub" if caches else ""
    return HubAccess(_absolute(cache, home), _absolute(own, home), online, environment)


def token_files(environment: Mapping[str, str]) -> str:
    """Where the hub library keeps the token of ``hf auth login``; empty where there is no home."""
    home = environment.get("HOME", "")
    caches = environment.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    hub_home = environment.get("HF_HOME") or (f"{caches}/huggingface" if caches else "")
    path = environment.get("HF_TOKEN_PATH") or (f"{hub_home}/token" if hub_home else "")
    return _absolute(path, home)


def _absolute(path: str, home: str) -> str:
    if path.startswith("~/") and home:
        path = f"{home}{path[1:]}"
    return os.path.abspath(path) if path else ""  # noqa: PTH100 - text from the environment
