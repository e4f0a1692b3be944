"""CUDA graphs of the draft that are recorded on a made-up input, and how wide the engine makes that input.

fc takes the captured states that the draft was built for. The input on which the engine records the draft's
graphs is sized apart from that, by keys of its own; where the two differ, recording stops the server.
"""

from __future__ import annotations

from collections.abc import Mapping

from eaglecfg.checkpoint.config import ModelConfig, length
from eaglecfg.engines.attention import DRAFT_FLAG, FLAGS, attention_kind
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.numerals import engine_switch
from eaglecfg.engines.reading import IDS_KEY
from eaglecfg.engines.resolve import Resolution
from eaglecfg.engines.wiring import lookup
from eaglecfg.record import record

SPEC_V2 = "SGLANG_ENABLE_SPEC_V2"


@record
class GraphWidth:
    """How wide the engine makes the input: ``states`` × ``state`` features.

    ``counted_by`` is the key that gives ``states``, of the config of ``role``; ``default``: no key does.
    ``state`` is None where the config does not settle it. ``source``: where that was read.
    """

    states: int
    state: int | None
    counted_by: str
    role: str
    source: str

    @property
    def features(self) -> int | None:
        """Width of the input."""
        return None if self.state is None else self.states * self.state


@record
class Recorded:
    """Whether the engine records such a graph. ``runs`` None: that depends on the attention backend that it
    picks. ``graph``: which one, in words; ``by``: the setting behind it; ``source``: where that was read."""

    runs: bool | None
    graph: str = ""
    by: str = ""
    source: str = ""


def graph_width(facts: EngineFacts, target: ModelConfig, draft: ModelConfig) -> GraphWidth | None:
    """The width for this pair, both configs as the engine sees them. None: fc goes by the same numbers."""
    rule = facts.values.get("draft_graph_width")
    if rule is None:
        return None
    config = {"target": target, "draft": draft}[rule["of"]]
    states, key = rule["otherwise"], "default"
    for name in rule["keys"]:
        value = lookup(config, name)
        if name.endswith(IDS_KEY) and isinstance(value, list):
            # An empty list counts for none, and ends the search.
            states, key = (len(value), name) if value else (rule["otherwise"], "default")
            break
        if not name.endswith(IDS_KEY) and length(value) is not None:
            states, key = value, name
            break
    own = lookup(config, "target_hidden_size")
    state = length(own) if own is not None else config.integer("hidden_size")
    return GraphWidth(states, state, key, rule["of"], facts.sources["draft_graph_width"])


def recorded(
    facts: EngineFacts,
    resolution: Resolution,
    target: ModelConfig,
    draft: ModelConfig,
    env: Mapping[str, str],
) -> Recorded:
    """Whether a graph of the draft is recorded on an input of ``graph_width``."""
    prefill = _prefill(facts, resolution, target)
    return prefill if prefill.runs else _extend(facts, resolution, draft, env)


def _prefill(facts: EngineFacts, resolution: Resolution, target: ModelConfig) -> Recorded:
    """The graph of the draft's prefill. False where it is not sure: only plain targets are followed."""
    rule = facts.values.get("draft_prefill_graphs")
    if rule is None:
        return Recorded(False)
    source = facts.sources["draft_prefill_graphs"]
    asked = resolution.graph_backend("prefill")
    if asked is not None:
        return Recorded(
            asked == "breakable", "prefill", "the prefill graphs that the config asks for", source
        )
    plain = attention_kind(facts, target) == "mha" and _text_only(target)
    if not plain or any(resolution.asked(name) not in (None, False, 1) for name in rule["not_with"]):
        return Recorded(False)
    return Recorded(True, "prefill", "prefill graphs, which are on by default", source)


def _text_only(target: ModelConfig) -> bool:
    name = target.architecture or ""
    parts = any(key in target.raw for key in ("vision_config", "audio_config", "thinker_config"))
    # Hybrid models have rules of their own: layers that are no attention.
    hybrid = any("linear" in key or "mamba" in key for key in target.raw)
    return name.endswith("ForCausalLM") and not parts and not hybrid


def _extend(
    facts: EngineFacts,
    resolution: Resolution,
    draft: ModelConfig,
    env: Mapping[str, str],
) -> Recorded:
    """The graph of the step that feeds accepted tokens to the draft."""
    rule = facts.values.get("draft_extend_graphs")
    if rule is None or not resolution.graphs or resolution.asked("device") not in (None, "cuda", "auto"):
        return Recorded(False)
    if engine_switch(env.get(rule.get("off_by", ""), "")):
        return Recorded(False)
    source = facts.sources["draft_extend_graphs"]
    backend, flag = _extend_backend(resolution)
    if "v1_spares" in rule and _worker_v1(resolution, env):
        if backend is None or backend not in rule["v1_spares"]:
            return Recorded(True, "extend", "the v1 worker, which records it with any backend", source)
        return Recorded(False)
    if backend is None:
        return Recorded(None, "extend", flag, source)
    by = f"{flag} {backend}"
    if backend in rule.get("mha_backends", ()):
        # Under one name there are two kernels; the draft's own attention decides, whatever the target's is.
        kind = attention_kind(facts, draft)
        return Recorded(None if kind is None else kind == "mha", "extend", by, source)
    return Recorded(backend in rule["backends"], "extend", by, source)


def _extend_backend(resolution: Resolution) -> tuple[str | None, str]:
    """(the backend of that step, the flag that gives it), None where the engine picks what files do not
    tell."""
    own = resolution.asked(DRAFT_FLAG)
    if isinstance(own, str):
        return own, DRAFT_FLAG
    stage = "decode" if resolution.asked("speculative_attention_mode") == "decode" else "prefill"
    for flag in (FLAGS[stage], FLAGS["base"]):
        runs = resolution.runs(flag)
        if isinstance(runs, str):
            return runs, flag
    return None, FLAGS["base"]


def _worker_v1(resolution: Resolution, env: Mapping[str, str]) -> bool:
    """Whether a version that has both runs the older worker."""
    topk = resolution.runs("speculative_eagle_topk")
    switched = engine_switch(env.get(SPEC_V2, "true")) is False
    return bool(resolution.asked("disable_overlap_schedule")) or switched or (topk or 1) > 1
