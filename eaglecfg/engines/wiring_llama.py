"""The Llama-shaped draft, LlamaForCausalLMEagle3: fc over the captured states, then decoder layers.

Only the first layer is fed twice the width: embedding and state side by side.
"""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.config_classes import biased, head_width, key_value_heads
from eaglecfg.engines.facts import DraftFact
from eaglecfg.engines.reading import CONFIG_KEY, CaptureRequest
from eaglecfg.engines.wiring import (
    MOST_STATES,
    ExpectedTensor,
    Wiring,
    WiringProblem,
    count_states,
    maps_vocabulary,
    owners,
    times,
)
from eaglecfg.record import replace

MOST_LAYERS = 128
"""Layers of a draft whose tensors are listed. Drafts have one to four; a file can say anything."""

_AUX_NORMS = ("aux_norm_low.weight", "aux_norm_mid.weight", "aux_norm_high.weight")


def build(fact: DraftFact, target: ModelConfig | None, draft: ModelConfig, request: CaptureRequest) -> Wiring:
    """The draft that this version's Llama class builds from ``draft``."""
    states, states_from = count_states(fact, draft)
    head, embedding = owners(draft, needs_key=True)
    hidden, heads = draft.integer("hidden_size"), draft.integer("num_attention_heads")
    layers = draft.integer("num_hidden_layers")
    mlp_key = "intermediate_size_mlp" if draft.value("model_type") == "llama4_text" else "intermediate_size"
    blank = Wiring(
        architecture=fact.architecture,
        fact=fact,
        ids=request.ids,
        ids_from=request.came_from,
        states=states,
        states_from=states_from,
        state_width=draft.integer("target_hidden_size") if draft.find("target_hidden_size") else hidden,
        hidden=hidden,
        input_norm="norm_before_fc" in fact.honours and _norm_before_fc(draft),
        fc_norm="fc_norm" in fact.honours and bool(draft.value("fc_norm") or draft.value("use_aux_norm")),
        norm_output="norm_output" in fact.honours and bool(draft.value("norm_output", False)),
        layers=1 if layers is None else layers,
        heads=heads,
        kv_heads=key_value_heads(draft),
        head_dim=head_width(draft),
        intermediate=draft.integer(mlp_key),
        vocabulary=draft.integer("vocab_size"),
        draft_vocabulary=draft.integer("draft_vocab_size"),
        head=head,
        embedding=embedding,
        needs_map=maps_vocabulary(target, draft, head),
        tensors=(),
        unknown=fact.unknown,
    )
    return replace(blank, tensors=tuple(_tensors(blank, draft)), problems=tuple(_problems(fact, draft)))


def _norm_before_fc(draft: ModelConfig) -> bool:
    inner = draft.raw.get(CONFIG_KEY)
    if isinstance(inner, dict) and "norm_before_fc" in inner:
        return bool(inner["norm_before_fc"])
    return bool(draft.value("norm_before_fc", False))


def _tensors(wiring: Wiring, draft: ModelConfig) -> Iterator[ExpectedTensor]:
    for index in range(min(wiring.layers, MOST_LAYERS)):
        yield from _layer(wiring, index, row_bias=row_bias(draft) is not None)
    outer = wiring.fact.outer
    hidden, width = wiring.hidden, wiring.state_width

    def plain(
        name: str, *shape: int | None, why: str, part: str = "norm", also: tuple[str, ...] = ()
    ) -> ExpectedTensor:
        names = tuple(spelling for one in (name, *also) for spelling in (one, outer + one))
        return ExpectedTensor(names, shape, True, "exact", why, part)  # type: ignore[arg-type]

    yield plain("fc.weight", hidden, wiring.fc_in, why=f"{wiring.states} states of {width} each", part="fc")
    if draft.value("bias", False):
        yield plain("fc.bias", hidden, why="bias is true", part="fc")
    if wiring.input_norm:
        yield plain(
            "input_norm.weight", wiring.fc_in, why="norm_before_fc: one norm over all captured states"
        )
    if wiring.fc_norm:
        for index in range(min(wiring.states, MOST_STATES)):
            also = _AUX_NORMS[index : index + 1]
            yield plain(
                f"fc_norm.{index}.weight", width, why="fc_norm: one norm per captured state", also=also
            )
    yield plain("norm.weight", hidden, why="the norm before the head")
    yield from vocabulary_tensors(wiring, outer)


def vocabulary_tensors(wiring: Wiring, outer: str) -> Iterator[ExpectedTensor]:
    """Head, embedding and vocabulary maps; the same for both families but for the prefix."""
    rows, hidden = wiring.draft_vocabulary, wiring.hidden
    if wiring.head == "own":
        yield ExpectedTensor(
            ("lm_head.weight",), (rows, hidden), True, "exact", "draft_vocab_size rows", "head"
        )
    else:
        why = "the target's head is used" if wiring.head == "target" else "the head is tied to the embedding"
        yield ExpectedTensor(("lm_head.weight",), (rows, hidden), False, "ignored", why, "head")
    own = wiring.embedding == "own" or wiring.head == "tied"
    why = (
        "the draft keeps its own embedding"
        if wiring.embedding == "own"
        else "replaced by the target's embedding"
    )
    names = tuple(dict.fromkeys(("embed_tokens.weight", outer + "embed_tokens.weight")))
    shape = (wiring.vocabulary, hidden)
    yield ExpectedTensor(names, shape, own and wiring.embedding == "own", "exact", why, "embedding")
    why = "draft ids differ from target ids" if wiring.needs_map else "draft ids are target ids"
    maps = ("d2t", "model.d2t")
    yield ExpectedTensor(maps, (rows,), wiring.needs_map, "unchecked", why, "map")
    yield ExpectedTensor(("t2d", "model.t2d"), (wiring.vocabulary,), False, "ignored", "never read", "map")


def row_bias(draft: ModelConfig) -> str | None:
    """The key that gives o_proj a bias, None where it has none; q, k and v are built again without."""
    asked = next((key for key in ("attention_bias", "bias") if draft.value(key)), None)
    return asked or ("attention_bias" if biased(draft) else None)


def _layer(wiring: Wiring, index: int, *, row_bias: bool) -> Iterator[ExpectedTensor]:
    prefixes = wiring.fact.prefixes if index == 0 else (f"layers.{index}.",)
    outer = wiring.fact.outer
    hidden, heads, kv_heads, head_dim = wiring.hidden, wiring.heads, wiring.kv_heads, wiring.head_dim
    wide = times(hidden, 2 if index == 0 else 1)
    fed = "embedding and state side by side, 2 × hidden" if index == 0 else "hidden"

    def names(name: str) -> tuple[str, ...]:
        return tuple(extra + prefix + name for extra in ("", outer) for prefix in prefixes)

    def norm(name: str, required: bool = True) -> ExpectedTensor:
        why = "hidden" if required else "built but not used in this layer"
        return ExpectedTensor(names(f"{name}.weight"), (hidden,), required, "exact", why, "norm")

    yield norm("input_layernorm", required=index == 0)
    yield norm("hidden_norm")
    yield norm("post_attention_layernorm")
    fused = names("self_attn.qkv_proj.weight")
    for name, rows in (("q_proj", heads), ("k_proj", kv_heads), ("v_proj", kv_heads)):
        shape = (times(rows, head_dim), wide)
        why = f"{rows} heads × {head_dim} rows; columns: {fed}"
        full = names(f"self_attn.{name}.weight")
        yield ExpectedTensor(full, shape, True, "truncates", why, "attention", instead=fused)
    shape = (hidden, times(heads, head_dim))
    why = f"columns: {heads} heads × {head_dim}"
    yield ExpectedTensor(names("self_attn.o_proj.weight"), shape, True, "pads", why, "attention", axis=1)
    if row_bias:
        why = "hidden; attention_bias or bias is true"
        yield ExpectedTensor(names("self_attn.o_proj.bias"), (hidden,), True, "exact", why, "attention")
    wide, fused = wiring.intermediate, names("mlp.gate_up_proj.weight")
    for name in ("gate_proj", "up_proj"):
        full = names(f"mlp.{name}.weight")
        yield ExpectedTensor(
            full, (wide, hidden), True, "pads", "intermediate_size rows", "mlp", instead=fused
        )
    full = names("mlp.down_proj.weight")
    yield ExpectedTensor(full, (hidden, wide), True, "pads", "intermediate_size columns", "mlp", axis=1)


def _problems(fact: DraftFact, draft: ModelConfig) -> Iterator[WiringProblem]:
    layers = draft.find("num_hidden_layers")
    if fact.max_layers is not None and layers is not None and layers.value != fact.max_layers:
        message = f"{fact.architecture} has room for {fact.max_layers} layer, {layers.key} is {layers.value}"
        yield WiringProblem(layers.key, message)
    if draft.find("draft_vocab_size") is None:
        yield WiringProblem("draft_vocab_size", "the class reads draft_vocab_size without a default")
    width = draft.find("target_hidden_size")
    if width is not None and width.value is None:
        yield WiringProblem(width.key, "target_hidden_size is null, and the class multiplies with it")
    inner = draft.raw.get(CONFIG_KEY)
    if fact.free_capture_count and inner and not isinstance(inner, dict):
        yield WiringProblem(CONFIG_KEY, f"{CONFIG_KEY} is not an object, and the class looks keys up in it")
    act = draft.value("hidden_act", "silu")
    if act != "silu":
        yield WiringProblem("hidden_act", f"the class computes silu only, hidden_act is {act}")
