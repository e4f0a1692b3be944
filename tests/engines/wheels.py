"""An invented engine wheel of a few small files, and the facts that are true of it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglecfg.engines.facts import CaptureFact, DraftFact, EngineFacts
from eaglecfg.engines.flags import Flags

ARGUMENTS = """
class ServerArgs:
    model_path: str
    steps: Optional[int] = None
    kernel: str = "plain"

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", type=str, required=True)
        parser.add_argument("--steps", type=int, default=ServerArgs.steps)
        parser.add_argument("--kernel", type=str, choices=["plain", "fast"], default=ServerArgs.kernel)


def handle_eagle(args, arch):
    if arch in ["WolfForCausalLM"]:
        if args.draft_model_path is None:
            args.draft_model_path = args.model_path


def auto_choose_speculative_params(args, arch):
    if arch in ["WolfForCausalLM"]:
        return (2, 1, 3)
    elif arch in ["BearForCausalLM", "LynxForCausalLM"]:
        return (5, 4, 8)
    else:
        return (3, 1, 4)
"""

MODEL = """
class WolfForCausalLM(Module):
    def __init__(self, config):
        self.model = Inner(config)

    def set_eagle3_layers_to_capture(self, layer_ids: Optional[List[int]] = None):
        self.capture_aux_hidden_states = True
        if layer_ids is None:
            n = self.config.num_hidden_layers
            self.model.layers_to_capture = [2, n // 2, n - 3]
        else:
            self.model.layers_to_capture = [one + 1 for one in layer_ids]


class PlainForCausalLM(Module):
    pass


EntryClass = [WolfForCausalLM, PlainForCausalLM]
"""

DRAFT = """
class WolfForCausalLMEagle3(Module):
    def __init__(self, config):
        self.width = config.hidden_size
        self.rows = getattr(config, "draft_vocab_size", None)
        self.ids = config.eagle_config.get("ids") if hasattr(config, "eagle_config") else None


EntryClass = WolfForCausalLMEagle3
"""

ALGORITHMS = """
class SpeculativeAlgorithm(Enum):
    EAGLE3 = auto()
    NONE = auto()
"""

FACTORY = """
class Factory:
    def create_decode_backend(self):
        backend_map = {"plain": self._plain, "fast": self._fast}
        return self._create(backend_map)
"""

COUNTERS = """
class TokenizerManager:
    def finish(self, meta_info, one):
        meta_info["spec_verify_ct"] = one.verify
        meta_info["spec_num_correct_drafts"] = one.correct
        meta_info["spec_accept_length"] = 1.0
"""

METADATA = """Metadata-Version: 2.1
Name: sglang
Version: 9.9.9
Requires-Python: >=3.12
Requires-Dist: torch==9.0.0
Requires-Dist: transformers (==8.1)
"""

MODEL_CONFIG = """HARES = ("HareForCausalLM",)


class ModelConfig:
    def _config_draft_model(self):
        is_draft_model = self.is_draft_model
        if is_draft_model and isinstance(self.hf_text_config, LynxConfig):
            self.hf_config.architectures[0] = self.hf_text_config.configure_draft_model()
        if is_draft_model and self.hf_config.architectures[0] in ["WolfForCausalLM"]:
            self.hf_config.architectures[0] = "WolfForCausalLMNextN"
        if is_draft_model and self.hf_config.architectures[0] == "BearForCausalLM":
            self.hf_config.architectures[0] = "BearMTP"
        if is_draft_model and self.hf_config.architectures[0] in HARES:
            self.hf_config.architectures[0] = "HareMTP"
"""

FILES: Mapping[str, str] = {
    "sglang/srt/server_args.py": ARGUMENTS,
    "sglang/srt/configs/model_config.py": MODEL_CONFIG,
    "sglang/srt/models/wolf.py": MODEL,
    "sglang/srt/models/wolf_eagle3.py": DRAFT,
    "sglang/srt/speculative/spec_info.py": ALGORITHMS,
    "sglang/srt/speculative/draft_utils.py": FACTORY,
    "sglang/srt/managers/tokenizer_manager.py": COUNTERS,
    "sglang-9.9.9.dist-info/METADATA": METADATA,
}


def write_wheel(folder: Path, **changes: tuple[str, str]) -> Path:
    """The unpacked wheel under ``folder``; each change is (old text, new text) in any of its files."""
    for path, text in FILES.items():
        for old, new in changes.values():
            text = text.replace(old, new)
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / "sglang"


def zip_wheel(file: Path, extra: Mapping[str, str] | None = None) -> Path:
    """The same as a ``.whl``."""
    with zipfile.ZipFile(file, "w") as wheel:
        for path, text in {**FILES, **(extra or {})}.items():
            wheel.writestr(path, text)
    return file


def wheel_facts() -> EngineFacts:
    """What is true of the wheel as ``write_wheel`` writes it without changes."""
    flags: dict[str, Mapping[str, Any]] = {
        "model_path": {"type": "str", "aliases": ["model"]},
        "steps": {"type": "int"},
        "kernel": {"type": "str", "default": "plain", "choices": ["plain", "fast"]},
    }
    flags = {name: {**row, "source": "srt/server_args.py:1", "since": "9.9.9"} for name, row in flags.items()}
    fact = CaptureFact(
        "WolfForCausalLM", "plus_one", "third_points", "captured", "short", False, True, True, "",
        "srt/models/wolf.py:6", "9.9.9",
    )  # fmt: skip
    draft = DraftFact(
        "WolfForCausalLMEagle3", 1, False, frozenset({"hidden_size", "draft_vocab_size", "eagle_config"}),
        frozenset({"ids"}), "srt/models/wolf_eagle3.py:2",
    )  # fmt: skip
    values = {
        "auto_shape": {
            "by_architecture": {
                "WolfForCausalLM": [2, 1, 3],
                "BearForCausalLM": [5, 4, 8],
                "LynxForCausalLM": [5, 4, 8],
            },
            "otherwise": [3, 1, 4],
        },
        "draft_from_target": ["WolfForCausalLM"],
        "mtp_in_target": ["BearForCausalLM", "HareForCausalLM", "Lynx*", "WolfForCausalLM"],
        "algorithms": ["EAGLE3"],
        "draft_backends": ["fast", "plain"],
        "meta_info": {
            "correct_drafts": "spec_num_correct_drafts",
            "verify_steps": "spec_verify_ct",
            "proposed_drafts": None,
            "histogram": None,
            "accept_length": "spec_accept_length",
            "accept_rate": None,
        },
        "pins": {"torch": "==9.0.0", "transformers": "==8.1", "python": ">=3.12"},
        "graph_resets_layers": False,
    }
    return EngineFacts(
        name="sglang",
        version="9.9.9",
        facts_of="9.9.9",
        standing="known",
        flags=Flags(lambda: flags),
        captures={"WolfForCausalLM": fact},
        drafts={"WolfForCausalLMEagle3": draft},
        values=values,
        sources={},
        architectures=frozenset({"WolfForCausalLM", "PlainForCausalLM", "WolfForCausalLMEagle3"}),
    )
