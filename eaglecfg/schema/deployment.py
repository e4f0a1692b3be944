"""The models behind eaglecfg.yaml. Shape only: values that an engine judges stay plain numbers and text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from eaglecfg.schema.base import FormatVersion, StrictModel
from eaglecfg.schema.core import Field, Tagged
from eaglecfg.schema.suppression import SUPPRESS, Suppression


class Engine(StrictModel):
    """The engine that will run the deployments."""

    name: str = Field(
        default="sglang",
        description="Engine name; sglang is the one whose facts ship with eaglecfg.",
        examples=["sglang"],
    )
    version: str = Field(
        description="Engine version, as pip spells it (0.5.14, 0.5.10.post1).",
        text=True,
        examples=["0.5.14", "0.5.10.post1"],
    )


class Target(StrictModel):
    """The model whose output is served. All but the checkpoint is optional and cross-checked with files."""

    checkpoint: str = Field(
        description="Folder of the checkpoint, relative to this file, or a hub id.",
        examples=["models/target", "moonshotai/Kimi-K2.5"],
    )
    revision: str | None = Field(
        default=None, description="Hub revision (commit, tag or branch).", text=True, examples=["main"]
    )
    architecture: str | None = Field(
        default=None, description="architectures[0] of config.json.", examples=["LlamaForCausalLM"]
    )
    hidden_size: int | None = Field(
        default=None, description="Width of the residual stream.", examples=[7168]
    )
    num_hidden_layers: int | None = Field(
        default=None, description="Number of decoder layers, n.", examples=[61]
    )
    vocab_size: int | None = Field(
        default=None, description="Number of tokens in the vocabulary.", examples=[163840]
    )
    num_attention_heads: int | None = Field(
        default=None, description="Query heads of each layer.", examples=[64]
    )
    num_key_value_heads: int | None = Field(
        default=None, description="Key and value heads of each layer.", examples=[8]
    )
    head_dim: int | None = Field(default=None, description="Width of one head.", examples=[128])
    intermediate_size: int | None = Field(default=None, description="Width of the MLP.", examples=[18432])
    max_position_embeddings: int | None = Field(
        default=None, description="Longest position the model was built for.", examples=[262144]
    )
    dtype: str | None = Field(
        default=None,
        description="dtype that config.json declares (bfloat16, float16, ...).",
        examples=["bfloat16"],
    )


class Draft(StrictModel):
    """The EAGLE-3 draft. All but the checkpoint is optional and cross-checked with the files."""

    checkpoint: str = Field(
        description="Folder of the checkpoint, relative to this file, or a hub id.", examples=["models/draft"]
    )
    revision: str | None = Field(
        default=None, description="Hub revision (commit, tag or branch).", text=True, examples=["main"]
    )
    architecture: str | None = Field(
        default=None, description="architectures[0] of config.json.", examples=["LlamaForCausalLMEagle3"]
    )
    fc_input_width: int | None = Field(
        default=None,
        description="Columns of fc.weight: captured states × target hidden size.",
        examples=[21504],
    )
    hidden_size: int | None = Field(
        default=None, description="Width of the draft's own residual stream.", examples=[7168]
    )
    target_hidden_size: int | None = Field(
        default=None, description="Width of one captured state, where the draft names it.", examples=[7168]
    )
    num_hidden_layers: int | None = Field(
        default=None, description="Number of draft decoder layers.", examples=[1]
    )
    vocab_size: int | None = Field(
        default=None, description="The target vocabulary as the draft's config spells it.", examples=[163840]
    )
    draft_vocab_size: int | None = Field(
        default=None, description="Rows of the draft's own head.", examples=[32000]
    )
    num_attention_heads: int | None = Field(
        default=None, description="Query heads of each layer.", examples=[64]
    )
    num_key_value_heads: int | None = Field(
        default=None, description="Key and value heads of each layer.", examples=[8]
    )
    head_dim: int | None = Field(default=None, description="Width of one head.", examples=[128])
    intermediate_size: int | None = Field(default=None, description="Width of the MLP.", examples=[18432])
    max_position_embeddings: int | None = Field(
        default=None, description="Longest position the draft was built for.", examples=[262144]
    )
    dtype: str | None = Field(
        default=None, description="dtype that config.json declares.", examples=["bfloat16"]
    )


class Capture(StrictModel):
    """Which hidden states of the target feed the draft."""

    layer_ids: list[int] | None = Field(
        default=None,
        description="Capture layer ids as the draft's config.json spells them; cross-checked.",
        examples=[[2, 30, 58]],
    )
    offset: int | None = Field(
        default=None,
        description="What the engine is expected to add to each id to get a boundary; cross-checked.",
        examples=[1],
    )
    trained_boundaries: list[int] | None = Field(
        default=None,
        description="Boundaries the draft was trained on; boundary i is the residual stream into layer i.",
        examples=[[3, 31, 59]],
    )


class Parallel(StrictModel):
    """How the model is spread over GPUs."""

    tp_size: int = Field(default=1, description="Tensor-parallel ranks.", examples=[8])
    dp_size: int | None = Field(
        default=None,
        description="Data-parallel replicas, or ranks of attention under DP attention.",
        examples=[2],
    )
    pp_size: int | None = Field(default=None, description="Pipeline stages.", examples=[1])
    ep_size: int | None = Field(default=None, description="Expert-parallel ranks.", examples=[8])
    attn_dp_size: int | None = Field(
        default=None, description="Data-parallel ranks of attention (engines that have it).", examples=[2]
    )
    enable_dp_attention: bool | None = Field(
        default=None, description="Attention runs data-parallel, the rest tensor-parallel.", examples=[True]
    )
    nnodes: int | None = Field(default=None, description="Number of hosts.", examples=[2])


class Speculative(StrictModel):
    """The shape of speculation. Absent numbers are chosen by the engine."""

    algorithm: str = Field(
        default="EAGLE3", description="EAGLE3, or another name that the engine knows.", examples=["EAGLE3"]
    )
    num_steps: int | None = Field(default=None, description="Draft steps between two verifies.", examples=[3])
    eagle_topk: int | None = Field(default=None, description="Branches per step; 1 is a chain.", examples=[1])
    num_draft_tokens: int | None = Field(
        default=None, description="Tokens per verify; num_steps + 1 for a chain.", examples=[4]
    )


class Hardware(StrictModel):
    """The machine that will serve, for checks that depend on it."""

    gpu: str | None = Field(
        default=None, description="GPU name (H200, RTX PRO 6000, ...).", text=True, examples=["H200"]
    )
    count: int | None = Field(default=None, description="GPUs per host.", examples=[8])
    topology: Literal["single", "nvswitch", "nvlink-pair", "pcie"] | None = Field(
        default=None,
        description="single; nvswitch: all pairs one hop; nvlink-pair: bridged pairs; pcie.",
        examples=["nvswitch"],
    )
    gpu_memory: str | None = Field(
        default=None, description="Memory of one GPU (96GiB).", text=True, examples=["96GiB"]
    )
    nccl_version: str | None = Field(
        default=None, description="NCCL as loaded at run time.", text=True, examples=["2.28.9"]
    )
    cuda: str | None = Field(default=None, description="CUDA version.", text=True, examples=["13.0"])
    torch: str | None = Field(default=None, description="torch version.", text=True, examples=["2.11.0"])
    python: str | None = Field(default=None, description="Python version.", text=True, examples=["3.12"])


def _form_of_speculative(value: Any) -> str:
    return "<shape>" if isinstance(value, dict | Speculative) else "<off>"


SpeculativeForm = Annotated[Literal["off"] | Speculative, Tagged(_form_of_speculative, ("<off>", "<shape>"))]
"""``off`` or a shape. The tags cannot be keys of a file, so that error locations stay readable."""

ServerValue = str | int | float | bool | None | list[Any] | dict[str, Any]


class Deployment(StrictModel):
    """One server: a target, its draft, and how they are run."""

    target: Target = Field(
        description="The model whose output is served.", examples=[{"checkpoint": "models/target"}]
    )
    draft: Draft | None = Field(
        default=None,
        description="The EAGLE-3 draft; absent where speculation is off.",
        examples=[{"checkpoint": "models/draft"}],
    )
    capture: Capture = Field(
        default=Capture(),
        description="The wiring between target and draft.",
        examples=[{"trained_boundaries": [3, 31, 59]}],
    )
    parallel: Parallel = Field(
        default=Parallel(), description="How the model is spread over the GPUs.", examples=[{"tp_size": 8}]
    )
    speculative: SpeculativeForm | None = Field(
        default=None,
        description="off, or its shape. Absent: EAGLE3 with the engine's defaults, if there is a draft.",
        examples=["off", {"algorithm": "EAGLE3", "num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 4}],
    )
    server: dict[str, ServerValue] = Field(
        default={},
        description="Any other server flag; underscores canonical, hyphens and engine aliases accepted.",
        examples=[{"mem_fraction_static": 0.85, "attention_backend": "fa3"}],
    )
    nccl: dict[str, str] = Field(
        default={},
        description="NCCL variables without the NCCL_ prefix, in lower or upper case.",
        text=True,
        examples=[{"proto": "LL"}],
    )
    env: dict[str, str] = Field(
        default={},
        description="Environment variables of the server. NAME: ${NAME} hands on that of whoever launches.",
        text=True,
        examples=[{"HF_TOKEN": "${HF_TOKEN}"}],
    )
    unchecked_variables: list[str] = Field(
        default=[],
        description="NCCL variables that eaglecfg does not know and shall hand on without a check.",
        examples=[["NCCL_FUTURE_SETTING"]],
    )
    hardware: Hardware | None = Field(
        default=None,
        description="The machine that will serve.",
        examples=[{"gpu": "H200", "count": 8, "topology": "nvswitch"}],
    )
    expected_accept_length: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="Accept length that this deployment reached when it was measured; `validate --live` "
        "compares a running server with it.",
        examples=[2.46],
    )


class ConfigFile(StrictModel):
    """A whole eaglecfg.yaml."""

    version: FormatVersion = Field(description="Version of this file format.", examples=[1])
    engine: Engine = Field(
        description="The engine that runs the deployments.",
        examples=[{"name": "sglang", "version": "0.5.14"}],
    )
    defaults: dict[str, Any] = Field(
        default={},
        description="Merged under every deployment: mappings key by key, lists and values as a whole.",
        examples=[{"parallel": {"tp_size": 8}}],
    )
    deployments: dict[str, Deployment] = Field(
        description="Deployments by name.",
        examples=[
            {"chat": {"target": {"checkpoint": "models/target"}, "draft": {"checkpoint": "models/draft"}}}
        ],
    )
    suppress: list[Suppression] = Field(
        default=[],
        description=SUPPRESS,
        examples=[[{"rule": "EC218", "reason": "trained on the default boundaries", "deployment": "chat"}]],
    )
