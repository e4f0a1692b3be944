"""How an engine version builds the draft from its config.json, and which tensors it then looks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from eaglecfg.checkpoint.config import ModelConfig, length
from eaglecfg.engines.config_classes import tied
from eaglecfg.engines.facts import DraftFact, EngineFacts
from eaglecfg.engines.reading import IDS_KEY, IdsFrom, read_request
from eaglecfg.record import record

if TYPE_CHECKING:
    from eaglecfg.engines.resolve import Resolution

Strictness = Literal["exact", "truncates", "pads", "unchecked", "ignored"]
Part = Literal["fc", "norm", "attention", "mlp", "head", "embedding", "map"]
Owner = Literal["own", "target", "tied"]

MOST_STATES = 1_000
"""Captured states whose norms are listed: no target has as many layers; a file can say anything."""


@record
class ExpectedTensor:
    """A tensor that the draft class loads.

    ``names`` are all accepted spellings, the commonest first. ``shape`` holds None where the config does not
    settle a length. ``required``: without it the draft runs on initial values, and nothing says so.
    ``strictness`` is what happens when the length along ``axis`` differs (any other axis is always exact):
    ``exact``, the server stops; ``truncates``, longer ones are cut and shorter ones stop the server;
    ``pads``, longer ones are cut and shorter ones filled up with zeros, both silently; ``unchecked``, taken
    as it is; ``ignored``, never loaded. ``why`` says where the shape comes from, or why the tensor is not
    needed. ``instead``: a fused tensor that serves as well.
    """

    names: tuple[str, ...]
    shape: tuple[int | None, ...]
    required: bool
    strictness: Strictness
    why: str
    part: Part
    axis: int = 0
    instead: tuple[str, ...] = ()


@record
class WiringProblem:
    """A key of the draft's config that the class cannot be built from. ``key`` as the file spells it."""

    key: str
    message: str
    today: Literal["crash at start", "silent"] = "crash at start"


@record
class Wiring:
    """The draft as this engine version builds it. A number is None where the config does not settle it.

    ``ids`` and ``ids_from``: as the target's side reads them. ``states`` (k) and ``states_from``: captured
    states as the draft counts them, and the key that says so (``default``: none does). ``state_width`` (T):
    width of one state. ``hidden``: width of the draft's own residual stream (H). fc is [hidden, fc_in] with
    fc_in = k·T and is skipped where the incoming width equals ``hidden``. ``input_norm``: one norm over k·T
    before fc; ``fc_norm``: one per state; ``norm_output``: the recurrent state is normed. ``head`` and
    ``embedding``: whose weights run. ``needs_map``: draft ids are not target ids, so that d2t is needed.
    ``unknown``: what happens to tensors that match none.
    """

    architecture: str
    fact: DraftFact
    ids: tuple[int, ...] | None
    ids_from: IdsFrom
    states: int
    states_from: str
    state_width: int | None
    hidden: int | None
    input_norm: bool
    fc_norm: bool
    norm_output: bool
    layers: int
    heads: int | None
    kv_heads: int | None
    head_dim: int | None
    intermediate: int | None
    vocabulary: int | None
    draft_vocabulary: int | None
    head: Owner
    embedding: Owner
    needs_map: bool
    tensors: tuple[ExpectedTensor, ...]
    unknown: str
    problems: tuple[WiringProblem, ...] = ()

    @property
    def fc_in(self) -> int | None:
        """Columns of fc: captured states times the width of one."""
        return None if self.state_width is None else self.states * self.state_width

    @property
    def fc_shape(self) -> tuple[int | None, int | None]:
        """Shape of fc.weight."""
        return (self.hidden, self.fc_in)

    def expected(self, name: str) -> ExpectedTensor | None:
        """The tensor that ``name`` would load, a fused spelling included; None: the class drops it."""
        for tensor in self.tensors:
            if name in tensor.names or name in tensor.instead:
                return tensor
        return None


def wiring_of(
    facts: EngineFacts,
    target: ModelConfig | None,
    draft: ModelConfig | None,
    resolution: Resolution | None = None,
) -> Wiring | None:
    """How ``facts`` build ``draft``, None where its class is no EAGLE-3 draft of this version.

    ``unwired_reason`` says why. With ``resolution`` the json_model_override_args apply.
    """
    from eaglecfg.engines import wiring_llama, wiring_mla

    if draft is None:
        return None
    if resolution is not None:
        draft = resolution.overridden(draft)
        target = None if target is None else resolution.overridden(target)
    fact = facts.drafts.get(draft.architecture or "")
    if fact is None:
        return None
    request = read_request(draft, honours_use_aux=facts.values["capture_honours_use_aux"])
    build = {"llama": wiring_llama.build, "mla": wiring_mla.build}[fact.family]
    return build(fact, target, draft, request)


def unwired_reason(facts: EngineFacts, draft: ModelConfig) -> str:
    """Why ``draft`` is no EAGLE-3 draft for this engine version, and what to convert. Empty if it is one."""
    name = draft.architecture
    label = f"{facts.name} {facts.facts_of}"
    if name is None:
        return f"{draft.file} names no architecture, which is how {label} picks the draft class"
    if name in facts.drafts:
        return ""
    known = " or ".join(sorted(facts.drafts))
    if name in facts.foreign:
        return f"{name} is no EAGLE-3 draft class of {label} ({known}): {facts.foreign[name]}"
    if name in facts.architectures:
        return f"{name} is a model class of {label}, but no EAGLE-3 draft class ({known})"
    return f"{label} registers no class {name}; its EAGLE-3 draft classes are {known}"


def count_states(fact: DraftFact, draft: ModelConfig) -> tuple[int, str]:
    """(captured states as the draft class counts them, the key it counted by). Never raises on odd values."""
    for key in fact.count_keys:
        value = lookup(draft, key)
        if key == "num_aux_hidden_states" and length(value) is not None:
            return value, key
        # The Llama class takes an empty list for none; the MLA class counts it.
        if key.endswith(IDS_KEY) and isinstance(value, list) and (value or fact.family == "mla"):
            return len(value), key
    return 3, "default"


def lookup(config: ModelConfig, key: str) -> Any:
    """The value at the dotted path ``key`` of config.json, None where there is none."""
    value: Any = config.raw
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def owners(draft: ModelConfig, *, needs_key: bool) -> tuple[Owner, Owner]:
    """(whose head, whose embedding) the draft runs with.

    ``needs_key``: draft_vocab_size must be there to be null.
    """
    head: Owner = "own"
    if tied(draft):
        head = "tied"
    elif draft.value("draft_vocab_size") is None and (not needs_key or draft.find("draft_vocab_size")):
        head = "target"
    other = draft.value("target_hidden_size")
    # Only a draft of another width keeps its own table, and only where it does not borrow the head; else the
    # target's replaces it after loading.
    narrow = other is not None and other != draft.integer("hidden_size")
    embedding: Owner = "own" if narrow and head != "target" else "target"
    return head, embedding


def maps_vocabulary(target: ModelConfig | None, draft: ModelConfig, head: Owner) -> bool:
    """Whether draft token ids differ from target token ids, so that d2t has to translate."""
    rows = draft.integer("draft_vocab_size")
    whole = target.integer("vocab_size") if target is not None else None
    whole = whole or draft.integer("vocab_size")
    return head != "target" and rows is not None and whole is not None and rows != whole


def times(*factors: int | None) -> int | None:
    """The product, None where a factor is not known."""
    product = 1
    for factor in factors:
        if factor is None:
            return None
        product *= factor
    return product
