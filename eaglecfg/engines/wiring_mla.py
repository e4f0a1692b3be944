"""The draft with multi-latent attention, Eagle3DeepseekV2ForCausalLM: fc over the states, then one layer."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.facts import DraftFact
from eaglecfg.engines.reading import CaptureRequest
from eaglecfg.engines.wiring import (
    MOST_STATES,
    ExpectedTensor,
    Part,
    Strictness,
    Wiring,
    WiringProblem,
    count_states,
    maps_vocabulary,
    owners,
    times,
)
from eaglecfg.engines.wiring_llama import vocabulary_tensors
from eaglecfg.record import replace


def build(fact: DraftFact, target: ModelConfig | None, draft: ModelConfig, request: CaptureRequest) -> Wiring:
    """The draft that this version's MLA class builds from ``draft``."""
    states, states_from = count_states(fact, draft)
    head, embedding = owners(draft, needs_key=False)
    hidden, heads = draft.integer("hidden_size"), draft.integer("num_attention_heads")
    nope, rope = draft.integer("qk_nope_head_dim"), draft.integer("qk_rope_head_dim")
    wiring = Wiring(
        architecture=fact.architecture,
        fact=fact,
        ids=request.ids,
        ids_from=request.came_from,
        states=states,
        states_from=states_from,
        state_width=draft.integer("target_hidden_size") or hidden,
        hidden=hidden,
        input_norm=False,
        fc_norm="fc_norm" in fact.honours and bool(draft.value("fc_norm") or draft.value("use_aux_norm")),
        norm_output="norm_output" in fact.honours and bool(draft.value("norm_output", False)),
        layers=1,
        heads=heads,
        kv_heads=heads,
        head_dim=None if nope is None or rope is None else nope + rope,
        intermediate=draft.integer("intermediate_size"),
        vocabulary=draft.integer("vocab_size"),
        draft_vocabulary=draft.integer("draft_vocab_size"),
        head=head,
        embedding=embedding,
        needs_map=maps_vocabulary(target, draft, head),
        tensors=(),
        unknown=fact.unknown,
    )
    return replace(wiring, tensors=tuple(_tensors(wiring, draft)), problems=tuple(_problems(fact, draft)))


def _tensors(wiring: Wiring, draft: ModelConfig) -> Iterator[ExpectedTensor]:
    hidden, width = wiring.hidden, wiring.state_width
    yield from _layer(wiring, draft)
    why = f"{wiring.states} states of {width} each"
    # Split over ranks, fc loads like any column-parallel weight: extra rows are cut off.
    strictness: Strictness = "truncates" if wiring.fact.fc_split else "exact"
    yield ExpectedTensor(("fc.weight",), (hidden, wiring.fc_in), True, strictness, why, "fc")
    if draft.value("bias", False):
        yield ExpectedTensor(("fc.bias",), (hidden,), True, "exact", "bias is true", "fc")
    if wiring.fc_norm:
        why = "fc_norm: one norm per captured state"
        for index in range(min(wiring.states, MOST_STATES)):
            yield ExpectedTensor((f"fc_norm.{index}.weight",), (width,), True, "exact", why, "norm")
    yield ExpectedTensor(("norm.weight",), (hidden,), True, "exact", "the norm before the head", "norm")
    yield from vocabulary_tensors(wiring, "")


def _layer(wiring: Wiring, draft: ModelConfig) -> Iterator[ExpectedTensor]:
    hidden, heads, wide = wiring.hidden, wiring.heads, wiring.intermediate
    low, kv_low = draft.integer("q_lora_rank"), draft.integer("kv_lora_rank")
    nope, rope, value = (
        draft.integer(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    )

    def tensor(
        name: str,
        *shape: int | None,
        why: str,
        part: Part = "attention",
        strictness: Strictness = "exact",
        axis: int = 0,
        instead: tuple[str, ...] = (),
    ) -> ExpectedTensor:
        names = tuple(f"{prefix}{name}.weight" for prefix in wiring.fact.prefixes)
        other = tuple(f"{prefix}{one}.weight" for one in instead for prefix in wiring.fact.prefixes)
        return ExpectedTensor(names, shape, True, strictness, why, part, axis, other)

    for name in ("input_layernorm", "hidden_norm", "post_attention_layernorm"):
        yield tensor(name, hidden, why="hidden", part="norm")
    # Both halves are joined before they load, so each needs the other.
    fed = "columns: embedding and state side by side, 2 × hidden"
    yield tensor("self_attn.q_a_proj", low, times(hidden, 2), why=f"q_lora_rank rows; {fed}")
    rows = None if kv_low is None or rope is None else kv_low + rope
    why = f"kv_lora_rank + qk_rope_head_dim rows; {fed}"
    yield tensor("self_attn.kv_a_proj_with_mqa", rows, times(hidden, 2), why=why)
    yield tensor("self_attn.q_a_layernorm", low, why="q_lora_rank", part="norm")
    yield tensor("self_attn.kv_a_layernorm", kv_low, why="kv_lora_rank", part="norm")
    rows = times(heads, None if nope is None or rope is None else nope + rope)
    yield tensor("self_attn.q_b_proj", rows, low, why="heads × query width", strictness="truncates")
    rows = times(heads, None if nope is None or value is None else nope + value)
    yield tensor(
        "self_attn.kv_b_proj", rows, kv_low, why="heads × (key + value width)", strictness="truncates"
    )
    why = "columns: heads × value width"
    yield tensor("self_attn.o_proj", hidden, times(heads, value), why=why, strictness="pads", axis=1)
    pair = ("mlp.gate_up_proj",)
    for name in ("mlp.gate_proj", "mlp.up_proj"):
        why = "intermediate_size rows"
        yield tensor(name, wide, hidden, why=why, part="mlp", strictness="pads", instead=pair)
    yield tensor(
        "mlp.down_proj", hidden, wide, why="intermediate_size columns", part="mlp", strictness="pads", axis=1
    )


def _problems(fact: DraftFact, draft: ModelConfig) -> Iterator[WiringProblem]:
    layers = draft.find("num_hidden_layers")
    if layers is not None and layers.value != fact.max_layers:
        message = f"{fact.architecture} has room for {fact.max_layers} layer, {layers.key} is {layers.value}"
        yield WiringProblem(layers.key, message)
    if draft.value("q_lora_rank") is None:
        yield WiringProblem("q_lora_rank", "the class needs q_lora_rank")
    act = draft.value("hidden_act", "silu")
    if act != "silu":
        yield WiringProblem("hidden_act", f"the class computes silu only, hidden_act is {act}")
