"""The target: any Llama-family model of transformers, its boundaries captured by layer pre-hooks."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.wiring import check_boundaries


@dataclass(frozen=True, slots=True)
class TargetOutput:
    """One forward pass over T new tokens.

    ``logits``: [T, V], or [1, V] when only the last was asked for. ``states``: [T, k * H], the captured
    boundaries side by side, ascending. ``final``: [T, H], after the final norm.
    """

    logits: torch.Tensor
    states: torch.Tensor
    final: torch.Tensor


class BoundaryCapture:
    """Pre-hooks that keep the residual streams entering the wanted layers.

    Boundary i < n is the input of layer i, boundary n the input of the final norm: read there and not from
    ``output_hidden_states``, whose last entry is taken after the norm.
    """

    def __init__(self, layers: nn.ModuleList, norm: nn.Module, boundaries: Sequence[int]) -> None:
        check_boundaries(tuple(boundaries), len(layers))
        self.boundaries = tuple(sorted(set(boundaries)))
        self._kept: dict[int, torch.Tensor] = {}
        self._handles = [
            (layers[i] if i < len(layers) else norm).register_forward_pre_hook(
                self._keep(i), with_kwargs=True
            )
            for i in self.boundaries
        ]

    def _keep(self, boundary: int) -> Any:
        def hook(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self._kept[boundary] = args[0] if args else kwargs["hidden_states"]

        return hook

    def take(self) -> list[torch.Tensor]:
        """The captured states of the last forward pass, [batch, T, H] each, ascending."""
        states = [self._kept[i] for i in self.boundaries]
        self._kept = {}
        return states

    def close(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()


class TargetCache:
    """Key and value cache of one sequence; ``shorten`` forgets the newest tokens."""

    def __init__(self, config: Any) -> None:
        from transformers import DynamicCache

        self.inner = DynamicCache(config=config)

    def shorten(self, tokens: int) -> None:
        """Forget the newest ``tokens`` tokens: what a negative crop means in every release."""
        if tokens > 0:
            self.inner.crop(-tokens)


class Target:
    """A causal language model of transformers, one sequence at a time, without sampling."""

    def __init__(self, model: Any, boundaries: Sequence[int] = ()) -> None:
        self.model = model.eval()
        base = model.get_decoder() if hasattr(model, "get_decoder") else model.model
        if not hasattr(base, "layers") or not hasattr(base, "norm"):
            raise ReferenceFailure(
                f"{type(model).__name__} has no .layers and .norm, so it is not of the Llama family"
            )
        self.layers = len(base.layers)
        self.capture = BoundaryCapture(base.layers, base.norm, boundaries)
        self._final: torch.Tensor | None = None
        base.norm.register_forward_hook(self._keep_final)
        # The keyword was renamed in transformers 5; the old one still works there, with a warning.
        names = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        self.device = next(model.parameters()).device

    def _keep_final(self, _module: nn.Module, _args: Any, output: torch.Tensor) -> None:
        self._final = output

    def new_cache(self) -> TargetCache:
        """An empty cache for one sequence."""
        return TargetCache(self.model.config)

    def embedding(self) -> torch.Tensor:
        """The input embedding, [V, H]."""
        weight: torch.Tensor = self.model.get_input_embeddings().weight
        return weight

    def forward(self, ids: Sequence[int], cache: TargetCache, *, last_only: bool = False) -> TargetOutput:
        """Append ``ids`` to the sequence in ``cache`` and return what they come to."""
        tokens = torch.tensor([list(ids)], dtype=torch.long, device=self.device)
        output = self.model(
            input_ids=tokens, use_cache=True, logits_to_keep=int(last_only), **{self._cache_name: cache.inner}
        )
        states = self.capture.take()
        final = self._final
        assert final is not None, "the final norm ran in this forward pass"
        wide = torch.cat([s[0] for s in states], dim=-1) if states else final[0, :, :0]
        return TargetOutput(output.logits[0], wide, final[0])


def load_target(folder: Path, *, dtype: torch.dtype, device: str, boundaries: Sequence[int]) -> Target:
    """Load a target from a folder in HF format. Raises ReferenceFailure naming the folder."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging as transformers_logging

    with suppress(AttributeError):
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ReferenceFailure(f"{folder}: transformers cannot load this target: {reason}") from error
    return Target(model.to(device), boundaries)
