"""Whether the environment puts another NCCL in the place of the one that torch brings."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from eaglecfg.errors import ValueFromLaunch

_LIBRARY = re.compile(r"libnccl\.so(?:\.\d+)*")
ENGINES_OWN = "SGLANG_NCCL_SO_PATH"
PRELOAD = "LD_PRELOAD"


class VersionNotKnown(ValueFromLaunch):
    """Somebody asked for the version of an NCCL that only the file which a variable names could tell."""

    def __init__(self, chosen: str) -> None:
        super().__init__(chosen.partition("=")[0])
        self.chosen = chosen

    @property
    def reason(self) -> str:
        how = "preloaded" if self.names == (PRELOAD,) else "named"
        return f"another NCCL is {how} ({self.chosen}), whose version hardware.nccl_version would tell"


def preloaded(text: str) -> str:
    """The NCCL among the libraries of an LD_PRELOAD, empty where there is none; plug-ins of it are none."""
    words = re.split(r"[\s:]+", text)
    return next((word for word in words if _LIBRARY.fullmatch(posixpath.basename(word))), "")


def chosen_library(env: Mapping[str, str]) -> str:
    """``LD_PRELOAD=/opt/libnccl.so.2`` where the environment chooses an NCCL, empty where it chooses none."""
    library = preloaded(env.get(PRELOAD, ""))
    if library:
        return f"{PRELOAD}={library}"
    own = env.get(ENGINES_OWN, "").strip()
    return f"{ENGINES_OWN}={own}" if own else ""
