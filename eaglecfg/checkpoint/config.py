"""A model's config.json, with old and new key spellings behind one name and the raw key kept for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.record import record

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "dtype": ("dtype", "torch_dtype"),
    "rope": ("rope_parameters", "rope_scaling"),
    "quantization": ("quantization_config",),
}
"""Canonical name -> spellings in files, newest first. A name that is not listed is spelled as it is."""

CLASS_SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "LongcatFlashForCausalLM": {"num_hidden_layers": "num_layers", "intermediate_size": "ffn_hidden_size"},
}
"""Architecture -> canonical name -> the key that its config class takes where the canonical one is absent
(SGLang 0.5.23, srt/configs/longcat_flash.py:81-90). Not general: other classes give num_layers no meaning."""

GREATEST = 2**31 - 1
"""The greatest length that a model can have: its kernels count in 32 bits."""


@record
class ConfigValue:
    """A value found in the file. ``key`` is the path as the file spells it (``text_config.hidden_size``)."""

    key: str
    value: Any


@record
class ModelConfig:
    """A parsed config.json.

    ``file`` as shown to the user, ``raw`` the whole JSON object, ``text_key`` the dotted path of the nested
    text model's config (``text_config``, ``llm_config``, ``thinker_config.text_config``, ...), None when the
    text model is the top level.
    """

    file: str
    raw: Mapping[str, Any]
    source: str = ""
    text_key: str | None = None

    def find(self, name: str) -> ConfigValue | None:
        """The value of ``name`` in the text model's config, then at the top level. None: absent.

        ``architectures`` is of the whole model, whatever class its text model names.
        """
        if name == "architectures":
            return self.top(name)
        layers: list[tuple[str, Mapping[str, Any]]] = [("", self.raw)]
        if self.text_key is not None:
            nested: Any = self.raw
            for key in self.text_key.split("."):
                nested = nested.get(key) if isinstance(nested, dict) else None
            if isinstance(nested, dict):  # overrides may have put anything there
                layers.insert(0, (f"{self.text_key}.", nested))
        for prefix, layer in layers:
            for spelling in SPELLINGS.get(name, (name,)):
                if spelling in layer:
                    return ConfigValue(prefix + spelling, layer[spelling])
        other = CLASS_SPELLINGS.get(self.architecture or "", {}).get(name)
        return ConfigValue(other, self.raw[other]) if other is not None and other in self.raw else None

    def top(self, name: str) -> ConfigValue | None:
        """The value of ``name`` at the top level of the file only."""
        return ConfigValue(name, self.raw[name]) if name in self.raw else None

    def value(self, name: str, default: Any = None) -> Any:
        """The plain value of ``name``, or ``default`` where the key is absent or null."""
        found = self.find(name)
        return default if found is None or found.value is None else found.value

    def integer(self, name: str) -> int | None:
        """The value of ``name`` if it can be a length: a whole number (a bool is not), 1 to GREATEST."""
        return length(self.value(name))

    @property
    def architecture(self) -> str | None:
        """``architectures[0]`` of the whole file, which is what an engine picks the model class by."""
        names = self.raw.get("architectures")
        return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None


def length(value: Any) -> int | None:
    """``value`` where it can be a length or a count, else None; what no model is built from is not known."""
    usable = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= GREATEST
    return value if usable else None
