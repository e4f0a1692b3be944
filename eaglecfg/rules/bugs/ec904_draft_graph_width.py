"""CUDA graphs of the draft are recorded on an input that is sized apart from fc."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.attention import attention_kind
from eaglecfg.engines.draft_graphs import GraphWidth, Recorded, graph_width, recorded
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.reading import IDS_KEY
from eaglecfg.engines.wiring import Wiring
from eaglecfg.rules.arguments.backends import gpu_of
from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.capture.ids import counted, draft_config, ids_path, target_config
from eaglecfg.rules.capture.reach import OUT_OF_REACH
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line, either, key_line
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)
from eaglecfg.rules.shapes.expected import wiring
from eaglecfg.rules.versions import later_versions


def check(context: Context) -> Iterator[Item]:
    """The input on which the draft's graphs are recorded must be as wide as fc takes it."""
    found, built = context.boundaries, wiring(context)
    facts, resolution = context.engine, context.resolution
    assert facts is not None
    assert resolution is not None
    if found is None or found.outcome != "captured" or built is None or algorithm(context) != "EAGLE3":
        yield NotApplicable()
        return
    target, draft = target_config(context), draft_config(context)
    width = graph_width(facts, target, draft)
    if width is None or width.features is None or built.fc_in is None:
        yield NotApplicable()
        return
    if width.features == built.fc_in:
        return
    graph = recorded(facts, resolution, target, draft, context.model.env)
    if graph.runs is None:
        yield NotChecked(_undecided(facts, draft, width, built))
    if not graph.runs:
        return
    yield Finding(
        f"{engine_label(context)} records the draft's CUDA graphs with {counted(width.states, 'state')} of "
        f"{width.state}, {width.features} features, but fc takes {built.states} × {built.state_width} = "
        f"{built.fc_in}",
        path=ids_path(context),
        related=_cause(context, graph),
        why=_why(width, graph),
        help=_help(context, width, built),
        evidence=(
            key_line(draft, built.states_from, f"{counted(built.states, 'state')}: the width of fc")
            if built.states_from != "default"
            else Evidence(draft.file, f"eagle_config.{IDS_KEY}", "absent", "fc is built for 3 states"),
            *(
                (
                    key_line(
                        {"target": target, "draft": draft}[width.role],
                        width.counted_by,
                        f"{counted(width.states, 'state')}: the width of the graph's input",
                    ),
                )
                if width.counted_by != "default"
                else ()
            ),
            config_line(target, "hidden_size", "width of one state"),
            Evidence("sizes the input", width.source, _counted_in(width)),
            Evidence("records the graph", graph.source, graph.by),
        ),
        values={"graph_width": width.features, "fc_width": built.fc_in, "graph": graph.graph},
        arithmetic=(f"{width.states} × {width.state} = {width.features}, fc takes {built.fc_in}",),
    )


def _counted_in(width: GraphWidth) -> str:
    if width.counted_by == "default":
        return f"3 states, as the {width.role}'s config.json says nothing"
    return f"by {width.counted_by} of the {width.role}"


def _why(width: GraphWidth, graph: Recorded) -> str:
    where = (
        "looks for the ids in the target's config.json, not in the draft's"
        if width.role == "target"
        else f"counts the states by {width.counted_by}, and fc does not"
        if width.counted_by != "default"
        else "counts three states, and fc does not"
    )
    step = "its prefill" if graph.graph == "prefill" else "the step that feeds it accepted tokens"
    return f"what sizes the input {where}; recording the graph of {step} stops with a shape error in fc"


def _cause(context: Context, graph: Recorded) -> tuple[tuple[tuple[str | int, ...], str], ...]:
    flag = graph.by.split(" ")[0]
    if flag not in (context.arguments or {}):
        return ()
    return ((context.argument_path(flag), "records this graph"),)


def _undecided(facts: EngineFacts, draft: ModelConfig, width: GraphWidth, built: Wiring) -> str:
    """What is missing, and what hangs on it. Names the backends that carry a draft of this kind."""
    rule = facts.values["draft_extend_graphs"]
    kind = attention_kind(facts, draft)
    latent = [name for name in rule["backends"] if name.endswith("_mla")]
    if kind == "mla":
        names = either([name for name in rule["backends"] if name != "trtllm_mha"])
    else:
        others = [
            name for name in rule["backends"] if name not in (*latent, "dsa", "nsa", "dsv4", "flashmla")
        ]
        names = either([*others, *rule.get("mha_backends", ())])
    return (
        f"needs the attention backend or hardware.gpu: with {names} the draft's graphs take "
        f"{counted(width.states, 'state')} and fc {built.states}, a crash at start"
    )


def _help(context: Context, width: GraphWidth, built: Wiring) -> str:
    """What helps: the ids where they are read, a later version, or no graphs."""
    off = "set server.disable_cuda_graph: true, which costs speed"
    if width.role == "draft":
        key = f"eagle_config.{IDS_KEY}"
        if width.counted_by == "num_aux_hidden_states":
            return f"remove num_aux_hidden_states, or set it to {built.states}; else {off}"
        return f"list the {counted(built.states, 'layer')} of training as {key} and nowhere else; else {off}"
    fixed = _first_fixed(context, built)
    spared = _spared(context)
    return ", or ".join(
        part for part in (f"run sglang {fixed} or later" if fixed else "", spared, off) if part
    )


def _first_fixed(context: Context, built: Wiring) -> str | None:
    """The first later version whose graphs are as wide as its fc."""
    assert context.engine is not None
    target, draft = target_config(context), draft_config(context)
    for facts in later_versions(context.engine):
        width = graph_width(facts, target, draft)
        if draft.architecture in facts.drafts and (width is None or width.features == built.fc_in):
            return facts.version
    return None


def _spared(context: Context) -> str:
    """The backend that H100 and H200 run by default, where this version records no graph with it."""
    assert context.engine is not None
    rule = context.engine.values["draft_extend_graphs"]
    gpu, major = gpu_of(context)
    if "fa3" in rule["backends"] or "v1_spares" in rule or (gpu is not None and major != 9):
        return ""
    return "server.attention_backend: fa3 where the GPU is of the Hopper family"


RULE = Rule(
    id="EC904",
    slug="draft-graph-width",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=(
        "EC202", "EC203", "EC213", "EC214", "EC216", "EC217", "EC219", "EC222",
        *OUT_OF_REACH, *UNLOADABLE,
    ),
)  # fmt: skip
