"""Lines of config.json that several rules of this family show."""

from __future__ import annotations

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.locate import locate
from eaglecfg.rules.evidence import shown
from eaglecfg.rules.model import Evidence

_KEY = "architectures[0]"


def architecture_line(config: ModelConfig, note: str = "") -> Evidence:
    """The entry that an engine picks the model class by, which stands at the top of the file."""
    line, column = locate(config, _KEY) or (None, None)
    return Evidence(config.file, _KEY, shown(config.architecture), note, line, column)
