"""How a checkpoint says that it is quantised: in config.json, or beside it in hf_quant_config.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.jsonfiles import QUANTIZATION
from eaglecfg.record import record

KEYS = ("quantization_config", "compression_config")
"""Keys of config.json, in the order in which SGLang asks them; hf_quant_config.json comes last (0.5.4.post1
srt/configs/model_config.py:489 and 0.5.23 :1727, _parse_quant_hf_config)."""

SPARED = (
    "ignored_layers",
    "modules_to_not_convert",
    "ignore",
    "exclude_modules",
    "dynamic",
    "modules_in_block_to_quantize",
    "modules_to_convert",
)
"""Keys of a block that leave layers out, whichever method reads them."""


@record
class Declared:
    """A declaration of quantised weights.

    ``method`` is what the block calls it, in lower case (``modelopt`` where only a quant_algo is given),
    ``block`` its settings, ``file`` as shown to the user, ``key`` the key of config.json, empty where the
    block stands in a file of its own.
    """

    method: str
    block: Mapping[str, Any]
    file: str
    key: str

    @property
    def algorithm(self) -> str:
        """quant_algo of a ModelOpt export, in capitals."""
        return str(self.block.get("quant_algo") or "").upper()

    @property
    def form(self) -> str:
        """How messages call the format."""
        return self.algorithm or self.method

    @property
    def spares(self) -> bool:
        """Whether the block leaves layers out."""
        return any(self.block.get(key) for key in SPARED)


def declared(facts: CheckpointFacts) -> Declared | None:
    """What ``facts`` declare; None where nothing does, or where no method is named."""
    config = facts.config
    if config is None:
        return None
    for key in KEYS:
        found = config.find(key)
        if found is not None and found.value is not None:
            return _of(found.value, config.file, found.key) if isinstance(found.value, dict) else None
    beside = (facts.quantization or {}).get("quantization")
    file = config.file.rpartition("config.json")[0] + QUANTIZATION
    return _of(beside, file, "") if isinstance(beside, dict) else None


def _of(block: Mapping[str, Any], file: str, key: str) -> Declared | None:
    method = block.get("quant_method")
    if not isinstance(method, str) or not method:
        method = "modelopt" if block.get("quant_algo") else ""
    return Declared(method.lower(), block, file, key) if method else None
