"""The installed engine makes something else of the arguments than the facts say. Opt-in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eaglecfg.engines.flags import UNREADABLE
from eaglecfg.engines.resolve import Setting
from eaglecfg.rules.arguments import ec303_flag_type
from eaglecfg.rules.arguments.refused import refused, stops
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today

if TYPE_CHECKING:
    from eaglecfg.engines.ask import EngineSays

OF_THE_MACHINE = frozenset(
    {
        "attention_backend", "chunked_prefill_size", "decode_attention_backend", "device",
        "disable_cuda_graph", "disable_overlap_schedule", "mem_fraction_static", "moe_runner_backend",
        "page_size", "prefill_attention_backend", "sampling_backend",
    }
)  # fmt: skip
"""Settings that the engine picks by the machine: an answer of a machine without accelerator decides none."""

_MACHINE_WORDS = (
    "device", "cuda", "hip", "rocm", "npu", "xpu", "cpu", "gpu", "mps", "platform", "sm9", "sm1", "blackwell",
    "hopper", "capability", "backend", "available", "memory",
)  # fmt: skip
"""Parts of names that the engine asks about its machine with."""

PATHS = frozenset({"model_path", "speculative_draft_model_path", "tokenizer_path"})
"""Where an engine that downloads puts the local folder in place of the name."""

LEFT_TO_THE_ENGINE = (None, UNREADABLE, "auto")
"""Defaults that only say that the engine decides: what it decides is no disagreement."""

READ_BY_RULES = frozenset(
    {
        "attention_backend", "attn_dp_size", "chunked_prefill_size", "device", "disable_cuda_graph",
        "dp_size", "dtype", "enable_dp_attention", "max_running_requests", "moe_a2a_backend", "nnodes",
        "page_size", "pp_size", "speculative_adaptive", "speculative_algorithm", "speculative_eagle_topk",
        "speculative_num_draft_tokens", "speculative_num_steps", "tp_size",
    }
)  # fmt: skip
"""Flags that rules read as they run."""

MOST_LISTED = 12


def check(ctx: Context) -> Iterator[Item]:
    """Every setting that the facts work out, against the installed engine's own ServerArgs."""
    says = ctx.engine_says
    if says is None:
        yield NotApplicable()
        return
    if ctx.engine is None or ctx.resolution is None:
        yield NotChecked("the engine's own ServerArgs are compared with facts, and there are none")
        return
    if says.outcome in ("absent", "silent", "failed") and not _other_version(ctx, says):
        yield NotChecked(_unanswered(says))
    elif _other_version(ctx, says):
        yield _version(ctx, says)
    elif says.outcome == "refused":
        yield from _refused(ctx, says)
    else:
        yield from _compare(ctx, says)


def _unanswered(says: EngineSays) -> str:
    if says.outcome == "absent":
        return f"there is no sglang to ask ({says.message}); name its Python with --engine-python"
    what = "gave no answer" if says.outcome == "silent" else "could not build its ServerArgs"
    return f"the installed sglang {what}: {says.message}"


def _other_version(ctx: Context, says: EngineSays) -> bool:
    assert ctx.engine is not None
    return bool(says.version) and _plain(says.version) not in {
        _plain(ctx.engine.version),
        ctx.engine.facts_of if ctx.engine.standing == "known" else "",
    }


def _plain(version: str) -> str:
    """``version`` without a leading v and without its build (+cu129)."""
    return version.removeprefix("v").partition("+")[0]


def _version(ctx: Context, says: EngineSays) -> Item:
    assert ctx.engine is not None
    return Finding(
        f"the installed sglang is {says.version}, but engine.version is {ctx.engine.version}: "
        "its settings were not compared",
        path=("engine", "version"),
        help=f"name the Python that has sglang {ctx.engine.version} with --engine-python, "
        f"or write the version that will run",
        values={"installed": says.version, "named": ctx.engine.version},
    )


def _refused(ctx: Context, says: EngineSays) -> Iterator[Item]:
    assert ctx.engine is not None
    assert ctx.resolution is not None
    if ctx.resolution.with_origin("refused", "unknown") or stops(ctx) or any(ec303_flag_type.check(ctx)):
        return  # both say no; the rule about that setting has the details
    if says.on_cpu and _by_machine(says):
        yield NotChecked(f"the installed sglang refuses the arguments on this machine: {says.message}")
        return
    yield Finding(
        f"sglang {says.version} refuses these arguments, and nothing in its facts says so: {says.message}",
        path=ctx.where(),
        at_key=True,
        today=Today.REFUSED,
        help="the engine is right: change the arguments as it says, and report the gap in the facts",
        values={"message": says.message},
    )


def _by_machine(says: EngineSays) -> bool:
    """Whether a machine with an accelerator may let pass what this one refuses."""
    return not says.about or any(
        name in OF_THE_MACHINE or any(word in name.lower() for word in _MACHINE_WORDS) for name in says.about
    )


def _taken(ctx: Context, says: EngineSays) -> Iterator[Item]:
    """What the facts call refused, and the engine's own check has let pass."""
    for item in (*refused(ctx, speculation=True), *refused(ctx, speculation=False)):
        if isinstance(item, Finding):
            yield Finding(
                f"sglang {says.version} takes these arguments, where its facts say that it stops: "
                f"{item.message}",
                path=item.path,
                help="the engine is right: go by it, and report the gap in the facts",
                evidence=item.evidence,
                values=item.values,
            )


def _compare(ctx: Context, says: EngineSays) -> Iterator[Item]:
    assert ctx.resolution is not None
    if says.unchecked:
        yield NotChecked(f"the engine's own check of its arguments came to no end: {says.unchecked}")
    elif not says.on_cpu:
        yield from _taken(ctx, says)
    for setting in ctx.resolution.settings.values():
        if says.on_cpu and setting.name in OF_THE_MACHINE:
            continue
        if setting.origin in ("refused", "unknown") or _differs(setting, says):
            yield _setting(ctx, says, setting)
    yield from _unmodelled(ctx, says)
    if says.on_cpu:
        yield NotChecked(
            f"what depends on the machine was not compared: there is no accelerator here, so the engine "
            f"was asked with --device cpu ({says.message})"
        )


def _differs(setting: Setting, says: EngineSays) -> bool:
    if setting.name not in says.values or setting.runs is None or setting.origin == "ignored":
        return False
    if setting.origin == "asked" and (setting.name in PATHS or setting.runs in LEFT_TO_THE_ENGINE):
        return False
    return not _same(setting.runs, says.values[setting.name])


def _same(told: Any, found: Any) -> bool:
    """Whether both are one setting: numbers by value, a switch that is off by its truth."""
    if told is False:
        return not found
    if isinstance(told, bool) or isinstance(found, bool):
        return told is found
    if isinstance(told, (int, float)) and isinstance(found, (int, float)):
        return float(told) == float(found)
    return told == found or (not isinstance(found, (dict, list)) and str(told) == str(found))


def _setting(ctx: Context, says: EngineSays, setting: Setting) -> Finding:
    found = says.values.get(setting.name)
    told = (
        f"the facts say {setting.runs!r}"
        if setting.origin not in ("refused", "unknown")
        else "the facts say that it stops"
    )
    return Finding(
        f"sglang {says.version} runs {setting.name} {found!r}, where {told}",
        path=ctx.argument_path(setting.name),
        why=f"the facts: {setting.why}" if setting.why else "",
        help="the engine is right: judge the deployment by its value, and report the gap in the facts",
        evidence=(Evidence(f"sglang {says.version}", setting.source, str(setting.runs)),)
        if setting.source
        else (),
        values={"setting": setting.name, "facts": setting.runs, "engine": found},
    )


def _unmodelled(ctx: Context, says: EngineSays) -> Iterator[Item]:
    """Flags that nobody gave, that rules judge by their default, and that the engine runs with another value.

    An engine settles many flags that nobody gave; a word is worth only what a rule rests on. The engine's own
    checks need none: it has just made them.
    """
    assert ctx.engine is not None
    assert ctx.resolution is not None
    moved: dict[str, tuple[Any, Any]] = {}
    for name in sorted(READ_BY_RULES):
        flag = ctx.engine.flags.get(name)
        if flag is None or name in ctx.resolution.settings or name not in says.values:
            continue
        if flag.default in LEFT_TO_THE_ENGINE or (says.on_cpu and name in OF_THE_MACHINE):
            continue
        if not _same(flag.default, says.values[name]):
            moved[name] = (flag.default, says.values[name])
    if not moved:
        return
    listed = [f"{name} {new!r}, not its default {old!r}" for name, (old, new) in moved.items()][:MOST_LISTED]
    more = f" and {len(moved) - MOST_LISTED} more" if len(moved) > MOST_LISTED else ""
    yield Finding(
        f"sglang {says.version} runs what nobody wrote and rules judge by its default: "
        f"{', '.join(listed)}{more}",
        path=ctx.where(),
        at_key=True,
        severity=Severity.INFO,
        help="write the value that runs, so that the deployment is judged by it",
        values={name: new for name, (_, new) in moved.items()},
    )


RULE = Rule(
    id="EC340",
    slug="engine-disagrees",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
)
