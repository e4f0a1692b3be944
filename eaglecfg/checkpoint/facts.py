"""What is known about one checkpoint folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.record import record

if TYPE_CHECKING:
    from eaglecfg.checkpoint.hubid import HubSource


@record
class TensorFact:
    """One tensor as a header describes it. ``dtype`` as safetensors spells it, shape in elements."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str

    def __str__(self) -> str:
        return f"{self.dtype} [{', '.join(map(str, self.shape))}]"


@record
class FileProblem:
    """Something wrong with a file of the checkpoint.

    ``kind`` names it (``missing-folder``, ``missing-config``, ``missing-shard``, ``truncated``,
    ``malformed``, ``duplicate-tensor``, ``unreadable``, ``not-supported``, ...). ``incomplete`` is true where
    something that the config names could not be read, so that rules which need it must not pass. ``file`` as
    shown to the user; ``key`` is the tensor, JSON key or place in the file (``byte 8``), ``text`` what stands
    there.
    """

    kind: str
    file: str
    message: str
    help: str = ""
    incomplete: bool = False
    key: str = ""
    text: str = ""


@record
class VocabularyMap:
    """Values of ``d2t`` (draft_vocab integers, as stored) and ``t2d`` (one byte per target token, 0 or 1)."""

    d2t: tuple[int, ...] | None = None
    t2d: bytes | None = None


@record
class CheckpointFacts:
    """Everything that files say about one checkpoint.

    ``folder`` is the path as resolved, ``shown`` as the user spelled it. ``names`` are all tensor names known
    from indexes and headers (None when no weight file could be read); ``tensors`` those whose header was
    read, by name. ``weights`` is ``safetensors``, ``bin`` or None. ``training`` is the parsed
    eaglecfg-training.json and ``quantization`` the parsed hf_quant_config.json, if any. ``files`` are the
    names of the files looked at. ``hub`` is set where the checkpoint is named by a hub id.
    """

    folder: str
    shown: str
    config: ModelConfig | None
    names: frozenset[str] | None = None
    tensors: Mapping[str, TensorFact] = field(default_factory=dict)
    weights: str | None = None
    vocabulary: VocabularyMap = VocabularyMap()
    generation_config: Mapping[str, Any] | None = None
    tokenizer_config: Mapping[str, Any] | None = None
    training: Mapping[str, Any] | None = None
    problems: tuple[FileProblem, ...] = ()
    files: tuple[str, ...] = ()
    quantization: Mapping[str, Any] | None = None
    hub: HubSource | None = None
