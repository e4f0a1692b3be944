"""Which of the draft's tensors run, and their values: read once for all deployments that share a draft."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.checkpoint.values import DraftValues, read_values
from eaglecfg.checkpoint.vocabulary import is_map
from eaglecfg.engines.wiring import ExpectedTensor, Wiring
from eaglecfg.rules.evidence import listed
from eaglecfg.rules.files.problems import weighted
from eaglecfg.rules.model import NotChecked
from eaglecfg.rules.shapes.expected import wiring
from eaglecfg.rules.shapes.tensors import plain

if TYPE_CHECKING:
    from eaglecfg.checkpoint.values import Told
    from eaglecfg.rules.context import Context

_LACK = "values of the draft's weights could not be read"

FC = "fc.weight"
FED = (
    *("q_proj", "k_proj", "v_proj", "qkv_proj"),
    *("q_a_proj", "kv_a_proj_with_mqa", "fused_qkv_a_proj_with_mqa"),
)
"""Weights of attention that take what enters the layer."""

SCALES = (".weight_scale", ".weight_scale_inv", ".weight_scale_2", ".input_scale", ".scales")
"""Numbers beside a quantised weight that it, or what it is multiplied by, is multiplied or divided by."""

TWINS = (
    ("mlp.gate_proj.weight", "mlp.up_proj.weight"),
    ("self_attn.q_proj.weight", "self_attn.k_proj.weight"),
    ("self_attn.q_proj.weight", "self_attn.v_proj.weight"),
)
"""Tensors of one layer that training never makes alike. Not k and v, which some models share."""


def weigher(told: Callable[[str], Told] | None = None) -> Callable[[Context], DraftValues | None]:
    """What reads the values of a deployment's draft; None where it loads none.

    ``told`` gives, for a draft as it is shown, a function that is told how far the reading has come.
    """
    known: dict[object, DraftValues] = {}

    def weigh(context: Context) -> DraftValues | None:
        draft = dict(weighted(context)).get("draft")
        if draft is None:
            return None
        unread = _out_of_reach(draft)
        if unread is not None:
            return unread
        wanted, blocks, twins = frozenset(parts(context)), _blocks(context), twins_of(draft.tensors)
        key = (draft.folder, draft.shown, wanted, *blocks.items())
        if key not in known:
            tell = told(draft.shown) if told is not None else None
            known[key] = read_values(draft, wanted, blocks=blocks, twins=twins, told=tell)
        return known[key]

    return weigh


def _out_of_reach(draft: CheckpointFacts) -> DraftValues | None:
    """Why the values of ``draft`` are not read at all, None where they can be."""
    if draft.hub is not None and draft.hub.headers_only:
        return DraftValues(
            reason=f"the weights of {draft.shown} are not on this machine, only their headers were fetched",
            help=f"run `hf download {draft.hub.id.repo}`, then check without --online",
        )
    if draft.weights == "bin":
        return DraftValues(
            reason=f"{draft.shown} holds .bin files; values are read from safetensors files only",
            help="save the draft as safetensors",
        )
    if not draft.tensors:
        return DraftValues(reason=f"no weights of {draft.shown} could be read")
    return None


def parts(context: Context, among: Collection[str] | None = None) -> dict[str, str]:
    """The tensors of the draft that run, each with its part: those of ExpectedTensor, or ``other``. Of the
    names ``among``, or of the tensors whose header was read.

    Where this engine version builds no such draft, all but embedding and vocabulary maps are taken to run.
    """
    assert context.draft is not None
    built = wiring(context)
    named = context.draft.tensors if among is None else among
    if built is None:
        return {name: _guessed(name) for name in named if not is_map(name) and "embed_tokens" not in name}
    runs = [each for each in built.tensors if _runs(each, built)]
    out = {name: each.part for each in runs for name in (*each.names, *each.instead) if name in named}
    stems = {name.rpartition(".")[0] for each in runs for name in (*each.names, *each.instead)}
    # Biases, packed weights and the scales of quantised ones; of the rest the engine loads nothing.
    beside = (name for name in named if name.rpartition(".")[0] in stems and built.expected(name) is None)
    return {**out, **dict.fromkeys(beside, "other")}


def _runs(expected: ExpectedTensor, built: Wiring) -> bool:
    if expected.part == "map" or expected.strictness == "ignored":
        return False
    if expected.part == "embedding":
        return built.embedding == "own"
    return expected.required


def _guessed(name: str) -> str:
    if plain(name) == FC:
        return "fc"
    if "norm" in name:
        return "other"  # of a class that is not known a norm may be an offset from 1
    return "head" if name.endswith("lm_head.weight") else "attention" if "attn" in name else "mlp"


def must_differ(context: Context) -> dict[str, str]:
    """The tensors, each with its part, that do nothing when their values are all alike; scales: all zero."""
    assert context.draft is not None
    kind = context.draft.config.value("model_type") if context.draft.config is not None else None
    # The norms of Gemma add 1 to what is stored. No EAGLE-3 class does, but a draft may be converted.
    free = {"other", "norm"} if str(kind).startswith("gemma") else {"other"}
    runs = parts(context)
    return {name: "scale" for name in runs if name.endswith(SCALES)} | {
        name: part
        for name, part in runs.items()
        if part not in free
        and name.endswith(".weight")
        and (part == "norm" or len(context.draft.tensors[name].shape) > 1)
    }


def fused(context: Context) -> tuple[TensorFact, int] | None:
    """fc and the width of one state, where the draft's file has fc in the shape that the engine builds."""
    built = wiring(context)
    if built is None or context.draft is None or not built.state_width:
        return None
    found = (
        context.draft.tensors.get(name) for each in built.tensors if each.part == "fc" for name in each.names
    )
    fc = next((each for each in found if each is not None and each.name.endswith(FC)), None)
    return None if fc is None or fc.shape != built.fc_shape else (fc, built.state_width)


def fed(context: Context) -> tuple[list[TensorFact], int]:
    """The weights of attention whose columns belong to the embedding first and then to the state, as many to
    each; and the width of one."""
    built = wiring(context)
    if built is None or context.draft is None or not built.hidden:
        return [], 0
    names = (
        name
        for each in built.tensors
        if each.part == "attention" and each.shape[1:] == (2 * built.hidden,)
        for name in (*each.names, *each.instead)
    )
    leaves = tuple(f".{name}.weight" for name in FED)
    found = (context.draft.tensors.get(name) for name in dict.fromkeys(names) if name.endswith(leaves))
    return [each for each in found if each and each.shape[1:] == (2 * built.hidden,)], built.hidden


def _blocks(context: Context) -> Mapping[str, int]:
    state, (attention, width) = fused(context), fed(context)
    return ({} if state is None else {state[0].name: state[1]}) | {each.name: width for each in attention}


def twins_of(names: Mapping[str, TensorFact]) -> Sequence[tuple[str, str]]:
    """Pairs of tensors of one layer that must differ."""
    pairs = [
        (name, f"{name.removesuffix(first)}{second}")
        for name in names
        for first, second in TWINS
        if name.endswith(first)
    ]
    return [pair for pair in pairs if pair[1] in names]


def undecided(context: Context, *only: str) -> Iterator[NotChecked]:
    """Why some values, or those of the tensors ``only``, were not judged.

    The run is incomplete where they could not be read, since it was asked to; not where their format is one
    that is not judged.
    """
    values, draft = context.values, context.draft
    assert values is not None
    assert draft is not None
    if values.reason:
        yield NotChecked(values.reason, incomplete=True, help=values.help, lack=_LACK)
        return
    for reason in values.unread:
        yield NotChecked(reason, incomplete=True, lack=_LACK)
    other = [tensor for tensor in values.not_judged if not only or tensor.name in only]
    if other:
        dtypes = " or ".join(sorted({tensor.dtype for tensor in other}))
        names = listed([tensor.name for tensor in other])
        verb = "is" if len(other) == 1 else "are"
        yield NotChecked(f"{names} {verb} {dtypes}; values of whole-number and packed formats are not judged")
    cut = [name for name in values.cut if not only or name in only]
    if cut:
        reason = f"the draft's file ends before the values of {listed(cut)} do"
        yield NotChecked(reason, incomplete=True, lack=_LACK)
    away = [] if only else sorted(parts(context, (draft.names or frozenset()) - draft.tensors.keys()))
    if away:
        reason = f"the values of {listed(away)} could not be read: no file that could be opened holds them"
        yield NotChecked(reason, incomplete=True, lack=_LACK)
