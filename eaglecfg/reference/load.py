"""Read a draft checkpoint into the reference's draft model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from eaglecfg.reference.draft import Draft, DraftShape
from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.wiring import listed_ids

ARCHITECTURE = "LlamaForCausalLMEagle3"


def read_config(folder: Path) -> dict[str, Any]:
    """``config.json`` of a folder. Raises ReferenceFailure naming the file."""
    path = folder / "config.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReferenceFailure(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(raw, dict):
        raise ReferenceFailure(f"{path}: expected a JSON object, got {type(raw).__name__}")
    return raw


def shape_of(raw: Mapping[str, Any], where: Path) -> DraftShape:
    """The draft's shape. Raises ReferenceFailure for what this decoder does not build."""
    if ARCHITECTURE not in (raw.get("architectures") or ()):
        raise ReferenceFailure(
            f"{where}: expected the architecture {ARCHITECTURE}, got {raw.get('architectures')}"
        )
    if raw.get("num_hidden_layers", 1) != 1:
        raise ReferenceFailure(
            f"{where}: expected one draft layer, got num_hidden_layers {raw['num_hidden_layers']}"
        )
    for key in ("fc_norm", "use_aux_norm", "tie_word_embeddings"):
        if raw.get(key):
            raise ReferenceFailure(f"{where}: {key} is set, which the reference decoder does not build")
    try:
        hidden, heads = int(raw["hidden_size"]), int(raw["num_attention_heads"])
        ids = listed_ids(raw)
        return DraftShape(
            hidden=hidden,
            target_hidden=int(raw.get("target_hidden_size", hidden)),
            states=int(raw.get("num_aux_hidden_states") or (len(ids) if ids else 3)),
            heads=heads,
            kv_heads=int(raw.get("num_key_value_heads") or heads),
            head_dim=int(raw.get("head_dim") or hidden // heads),
            intermediate=int(raw["intermediate_size"]),
            draft_vocab=int(raw["draft_vocab_size"]),
            eps=float(raw.get("rms_norm_eps", 1e-6)),
            fc_bias=bool(raw.get("bias", False)),
            norm_output=bool(raw.get("norm_output", False)),
        )
    except KeyError as error:
        raise ReferenceFailure(f"{where}: the key {error.args[0]} is missing") from error
    except (TypeError, ValueError) as error:
        raise ReferenceFailure(f"{where}: a size is not a number: {error}") from error


def read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """All safetensors of a folder, by name without ``model.`` in front; ``layers.0.`` reads ``midlayer.``."""
    from safetensors.torch import load_file

    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ReferenceFailure(f"{folder}: expected safetensors files, found none")
    tensors: dict[str, torch.Tensor] = {}
    for file in files:
        for name, tensor in load_file(file).items():
            tensors[name.removeprefix("model.").replace("layers.0.", "midlayer.")] = tensor
    return tensors


def load_draft(folder: Path, embed: torch.Tensor, *, dtype: torch.dtype, use_d2t: bool = True) -> Draft:
    """Build the draft of ``folder`` beside a target's embedding, on the embedding's device.

    Raises ReferenceFailure for a missing or misshapen tensor: SGLang would leave the one uninitialised and
    may cut or pad the other, which a reference must not copy.
    """
    raw = read_config(folder)
    draft = Draft(shape_of(raw, folder / "config.json"), raw, embed)
    tensors = read_tensors(folder)
    for name, parameter in draft.named_parameters():
        given = tensors.get(name)
        if given is None:
            raise ReferenceFailure(f"{folder}: the tensor {name} is missing")
        if given.shape != parameter.shape:
            raise ReferenceFailure(
                f"{folder}: expected {name} of shape {list(parameter.shape)}, got {list(given.shape)}"
            )
        parameter.data = given.to(dtype)
    if use_d2t and "d2t" in tensors:
        ids = tensors["d2t"].long() + torch.arange(len(tensors["d2t"]))
        if len(ids) != draft.shape.draft_vocab or int(ids.min()) < 0 or int(ids.max()) >= embed.shape[0]:
            raise ReferenceFailure(
                f"{folder}: d2t leads {len(ids)} draft ids to target ids {int(ids.min())}..{int(ids.max())}, "
                f"expected {draft.shape.draft_vocab} within 0..{embed.shape[0] - 1}"
            )
        draft.target_ids = ids
    return draft.to(embed.device).eval()
