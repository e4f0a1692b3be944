"""The models behind eaglecfg.yaml. Shape only: values that an engine judges stay plain numbers and text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from eaglecfg.schema.base import FormatVersion, StrictModel
from eaglecfg.schema.core import Field, Tagged
from eaglecfg.schema.suppression import SUPPRESS, Suppression


class Engine(StrictModel):
    """The engine that will run the deployments."""

    name: str = Field(
        default="sglang", description="Engine name; sglang is the one whose facts ship with eaglecfg."
    )
    version: str = Field(description="Engine version, as pip spells it (0.5.14, 0.5.10.post1).", text=True)


class Target(StrictModel):
    """The model whose output is served. All but the checkpoint is optional and cross-checked with files."""

    checkpoint: str = Field(description="Folder of the checkpoint, relative to this file, or a hub id.")
    revision: str | None = Field(default=None, description="Hub revision (commit, tag or branch).", text=True)
    architecture: str | None = Field(default=None, description="architectures[0] of config.json.")
    hidden_size: int | None = Field(default=None, description="Width of the residual stream.")
    num_hidden_layers: int | None = Field(default=None, description="Number of decoder layers, n.")
    vocab_size: int | None = Field(default=None, description="Number of tokens in the vocabulary.")
    num_attention_heads: int | None = Field(default=None, description="Query heads of each layer.")
    num_key_value_heads: int | None = Field(default=None, description="Key and value heads of each layer.")
    head_dim: int | None = Field(default=None, description="Width of one head.")
    intermediate_size: int | None = Field(default=None, description="Width of the MLP.")
    max_position_embeddings: int | None = Field(
        default=None, description="Longest position the model was built for."
    )
    dtype: str | None = Field(
        default=None, description="dtype that config.json declares (bfloat16, float16, ...)."
    )


class Draft(StrictModel):
    """The EAGLE-3 draft. All but the checkpoint is optional and cross-checked with the files."""

    checkpoint: str = Field(description="Folder of the checkpoint, relative to this file, or a hub id.")
    revision: str | None = Field(default=None, description="Hub revision (commit, tag or branch).", text=True)
    architecture: str | None = Field(default=None, description="architectures[0] of config.json.")
    fc_input_width: int | None = Field(
        default=None, description="Columns of fc.weight: captured states × target hidden size."
    )
    hidden_size: int | None = Field(default=None, description="Width of the draft's own residual stream.")
    target_hidden_size: int | None = Field(
        default=None, description="Width of one captured state, where the draft names it."
    )
    num_hidden_layers: int | None = Field(default=None, description="Number of draft decoder layers.")
    vocab_size: int | None = Field(
        default=None, description="The target vocabulary as the draft's config spells it."
    )
    draft_vocab_size: int | None = Field(default=None, description="Rows of the draft's own head.")
    num_attention_heads: int | None = Field(default=None, description="Query heads of each layer.")
    num_key_value_heads: int | None = Field(default=None, description="Key and value heads of each layer.")
    head_dim: int | None = Field(default=None, description="Width of one head.")
    intermediate_size: int | None = Field(default=None, description="Width of the MLP.")
    max_position_embeddings: int | None = Field(
        default=None, description="Longest position the draft was built for."
    )
    dtype: str | None = Field(default=None, description="dtype that config.json declares.")


class Capture(StrictModel):
    """Which hidden states of the target feed the draft."""

    layer_ids: list[int] | None = Field(
        default=None, description="Capture layer ids as the draft's config.json spells them; cross-checked."
    )
    offset: int | None = Field(
        default=None,
        description="What the engine is expected to add to each id to get a boundary; cross-checked.",
    )
    trained_boundaries: list[int] | None = Field(
        default=None,
        description="Boundaries the draft was trained on; boundary i is the residual stream into layer i.",
    )


class Parallel(StrictModel):
    """How the model is spread over GPUs."""

    tp_size: int = Field(default=1, description="Tensor-parallel ranks.")
    dp_size: int | None = Field(
        default=None, description="Data-parallel replicas, or ranks of attention under DP attention."
    )
    pp_size: int | None = Field(default=None, description="Pipeline stages.")
    ep_size: int | None = Field(default=None, description="Expert-parallel ranks.")
    attn_dp_size: int | None = Field(
        default=None, description="Data-parallel ranks of attention (engines that have it)."
    )
    enable_dp_attention: bool | None = Field(
        default=None, description="Attention runs data-parallel, the rest tensor-parallel."
    )
    nnodes: int | None = Field(default=None, description="Number of hosts.")


class Speculative(StrictModel):
    """The shape of speculation. Absent numbers are chosen by the engine."""

    algorithm: str = Field(default="EAGLE3", description="EAGLE3, or another name that the engine knows.")
    num_steps: int | None = Field(default=None, description="Draft steps between two verifies.")
    eagle_topk: int | None = Field(default=None, description="Branches per step; 1 is a chain.")
    num_draft_tokens: int | None = Field(
        default=None, description="Tokens per verify; num_steps + 1 for a chain."
    )


class Hardware(StrictModel):
    """The machine that will serve, for checks that depend on it."""

    gpu: str | None = Field(default=None, description="GPU name (H200, RTX PRO 6000, ...).", text=True)
    count: int | None = Field(default=None, description="GPUs per host.")
    topology: Literal["single", "nvswitch", "nvlink-pair", "pcie"] | None = Field(
        default=None, description="single; nvswitch: all pairs one hop; nvlink-pair: bridged pairs; pcie."
    )
    gpu_memory: str | None = Field(default=None, description="Memory of one GPU (96GiB).", text=True)
    nccl_version: str | None = Field(default=None, description="NCCL as loaded at run time.", text=True)
    cuda: str | None = Field(default=None, description="CUDA version.", text=True)
    torch: str | None = Field(default=None, description="torch version.", text=True)
    python: str | None = Field(default=None, description="Python version.", text=True)


def _form_of_speculative(value: Any) -> str:
    return "<shape>" if isinstance(value, dict | Speculative) else "<off>"


SpeculativeForm = Annotated[Literal["off"] | Speculative, Tagged(_form_of_speculative, ("<off>", "<shape>"))]
"""``off`` or a shape. The tags cannot be keys of a file, so that error locations stay readable."""

ServerValue = str | int | float | bool | None | list[Any] | dict[str, Any]


class Deployment(StrictModel):
    """One server: a target, its draft, and how they are run."""

    target: Target = Field(description="The model whose output is served.")
    draft: Draft | None = Field(
        default=None, description="The EAGLE-3 draft; absent where speculation is off."
    )
    capture: Capture = Field(default=Capture(), description="The wiring between target and draft.")
    parallel: Parallel = Field(default=Parallel(), description="How the model is spread over the GPUs.")
    speculative: SpeculativeForm | None = Field(
        default=None,
        description="off, or its shape. Absent: EAGLE3 with the engine's defaults, if there is a draft.",
    )
    server: dict[str, ServerValue] = Field(
        default={},
        description="Any other server flag; underscores canonical, hyphens and engine aliases accepted.",
    )
    nccl: dict[str, str] = Field(
        default={},
        description="NCCL variables without the NCCL_ prefix, in lower or upper case.",
        text=True,
    )
    env: dict[str, str] = Field(
        default={},
        description="Environment variables of the server. NAME: ${NAME} hands on that of whoever launches.",
        text=True,
    )
    unchecked_variables: list[str] = Field(
        default=[],
        description="NCCL variables that eaglecfg does not know and shall hand on without a check.",
    )
    hardware: Hardware | None = Field(default=None, description="The machine that will serve.")
    expected_accept_length: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="Accept length that this deployment reached when it was measured; `validate --live` "
        "compares a running server with it.",
    )


class ConfigFile(StrictModel):
    """A whole eaglecfg.yaml."""

    version: FormatVersion = Field(description="Version of this file format.")
    engine: Engine = Field(description="The engine that runs the deployments.")
    defaults: dict[str, Any] = Field(
        default={},
        description="Merged under every deployment: mappings key by key, lists and values as a whole.",
    )
    deployments: dict[str, Deployment] = Field(description="Deployments by name.")
    suppress: list[Suppression] = Field(default=[], description=SUPPRESS)
