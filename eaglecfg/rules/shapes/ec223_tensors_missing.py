"""Tensors that the engine builds and no file fills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from eaglecfg.checkpoint.quantization import declared
from eaglecfg.engines.reading import read_request
from eaglecfg.engines.wiring_llama import row_bias
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, listed, missing_tensor, tensor_line
from eaglecfg.rules.files.problems import weights_unread
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
from eaglecfg.rules.shapes.expected import OPTIONAL_NORMS, pairs, unknown_names, wiring
from eaglecfg.rules.shapes.scales import Unscaled, unscaled
from eaglecfg.rules.shapes.tensors import blocks, draft_class, draft_config, left_by


def check(ctx: Context) -> Iterator[Item]:
    """Every required tensor must stand in the files under a name that the class accepts."""
    built = wiring(ctx)
    assert ctx.draft is not None
    assert ctx.draft.names is not None
    if built is None:
        yield NotApplicable()
        return
    if weights_unread(ctx.draft):
        yield NotChecked("some of the draft's weight files could not be read")
        return
    held, idle = blocks(ctx), _fusion_idle(ctx)
    absent: list[str] = []
    biases: list[str] = []
    for pair in pairs(ctx, built):
        whole_layer = pair.layer is not None and held and pair.layer not in held
        if not pair.expected.required or whole_layer or (idle and pair.expected.part == "fc"):
            continue
        if (
            pair.expected.part in ("head", "embedding", "map")
            or pair.name.startswith(OPTIONAL_NORMS)
            or pair.name == "fc.bias"
        ):
            continue
        spellings = (*pair.expected.names, *pair.expected.instead)
        if not any(name in ctx.draft.names for name in spellings) and not _packed(ctx, pair.expected.names):
            (biases if pair.name.endswith(".bias") else absent).append(pair.expected.names[0])
    assert ctx.engine is not None
    if biases and ctx.engine.values["row_bias_starts"] == "uninitialised":
        yield _unbiased(ctx, biases)
    if absent:
        yield _finding(
            ctx, absent, unknown_names(ctx, built), sum(p.expected.required for p in pairs(ctx, built))
        )
    for found in unscaled(ctx, built, absent):
        yield found if isinstance(found, NotChecked) else _unscaled(ctx, found)


def _fusion_idle(ctx: Context) -> bool:
    """Whether the target hands over one state of the draft's own width, which goes past fc."""
    assert ctx.engine is not None
    draft = ctx.draft.config if ctx.draft is not None else None
    target = ctx.target.config if ctx.target is not None else None
    if draft is None or target is None or draft.integer("hidden_size") != target.integer("hidden_size"):
        return False
    honours = bool(ctx.engine.values["capture_honours_use_aux"])
    return not read_request(draft, honours_use_aux=honours).captures


def _packed(ctx: Context, names: tuple[str, ...]) -> bool:
    """Whether a quantised form of a weight stands in its place."""
    assert ctx.draft is not None
    assert ctx.draft.names is not None
    stems = tuple(f"{name.removesuffix('weight')}" for name in names if name.endswith(".weight"))
    return declared(ctx.draft) is not None and any(name.startswith(stems) for name in ctx.draft.names)


def _finding(ctx: Context, absent: list[str], unknown: list[str], total: int) -> Finding:
    assert ctx.draft is not None
    assert ctx.engine is not None
    prefixes = Counter(name.split(".")[0] for name in unknown)
    stray = prefixes.most_common(1)[0] if prefixes else ("", 0)
    elsewhere = stray[1] >= len(absent)
    joined = _passed_over(ctx, absent)
    if joined is not None and not elsewhere:
        return _joined(ctx, absent, *joined, total)
    return Finding(
        f"the draft's files lack {listed(absent)}"
        + (
            f"; {stray[1]} tensors stand under {stray[0]}., which this class does not know"
            if elsewhere
            else ""
        ),
        path=ctx.where("draft", "checkpoint"),
        why="SGLang does not check for missing tensors: they keep uninitialised memory, and nothing says so",
        help=f"save the tensors without the prefix {stray[0]}."
        if elsewhere
        else "save the whole draft again; a tensor may also stand under a name that this engine version "
        "does not accept",
        evidence=(
            *(missing_tensor(ctx.draft, name, "uninitialised") for name in absent[:3]),
            *(Evidence(ctx.draft.shown, name, "present", "dropped") for name in unknown[:3] if elsewhere),
        ),
        values={"missing": absent[:10], "count": len(absent), "of": total},
    )


def _unbiased(ctx: Context, missing: list[str]) -> Finding:
    """A bias of o_proj that a key asks for, where the engine does not start it at zero."""
    assert ctx.draft is not None
    assert ctx.engine is not None
    draft = draft_config(ctx)
    name = row_bias(draft) or "attention_bias"
    found = draft.find(name)
    key = found.key if found is not None else name
    return Finding(
        f"{draft.file} {'leaves' if found is None else 'sets'} {key}{' true' if found is None else ''}"
        f"{left_by(draft, key)}, but the draft's files have no {listed(missing)}",
        path=ctx.where("draft", "checkpoint"),
        why="SGLang builds a bias for o_proj and does not check for missing tensors: it keeps uninitialised "
        "memory",
        help=f'write "{key}": false into {draft.file}, or add {listed(missing)} of the training run'
        if name == "attention_bias" and not draft.value("bias")
        else f"add {listed(missing)} to the draft's files: zeros, if it was trained without",
        evidence=(config_line(draft, name), *(missing_tensor(ctx.draft, one) for one in missing[:3])),
        values={"missing": missing[:10], "count": len(missing), key: True},
    )


def _unscaled(ctx: Context, found: Unscaled) -> Finding:
    assert ctx.draft is not None
    assert ctx.engine is not None
    parts, missing, how = found.parts, found.missing, found.declared
    asked = [name for name in found.plain if name]
    return Finding(
        f"the draft's {how.form} weights lack {listed(missing)}",
        path=ctx.where("draft", "checkpoint"),
        why=f"a layer of this form is made of {' and '.join((parts.weight, *parts.scales))}"
        + (f", with {parts.inputs[0]} for what enters it" if parts.inputs else "")
        + f"; SGLang does not check for missing tensors: one that is missing keeps {parts.unfilled}, the "
        "layer computes noise, and nothing says so",
        help="export the draft again"
        + (f"; a layer that is meant to be plain must be left out in {how.file}" if found.plain else "")
        + (f" as the engine asks for it: {listed(asked)}" if asked else ""),
        evidence=(
            *(missing_tensor(ctx.draft, name, parts.unfilled) for name in missing[:3]),
            Evidence(how.file, how.key or "quant_algo", how.form, "declared"),
            Evidence(f"{ctx.engine.name} {parts.read_in}", parts.kind, parts.source, "what a layer needs"),
        ),
        values={"missing": missing[:10], "count": len(missing)},
    )


def _passed_over(ctx: Context, absent: list[str]) -> tuple[str, tuple[str, ...]] | None:
    """The tensor of the files that the class passes over, and the parts it looks for, all absent."""
    fact = draft_class(ctx)
    assert ctx.draft is not None
    for inner, parts in fact.passed_over.items() if fact is not None else ():
        name = next((one for one in sorted(ctx.draft.names or ()) if f".{inner}." in f".{one}"), None)
        gone = [one for one in absent if any(f".{part}." in one for part in parts)]
        if name is not None and len(gone) == len(parts):
            return name, parts
    return None


def _joined(ctx: Context, absent: list[str], name: str, parts: tuple[str, ...], total: int) -> Finding:
    assert ctx.draft is not None
    fact = draft_class(ctx)
    assert fact is not None
    apart = " and ".join(part.rpartition(".")[2] for part in parts)
    others = [one for one in absent if not any(f".{part}." in one for part in parts)]
    tensor = ctx.draft.tensors.get(name)
    return Finding(
        f"the draft's files hold {name}, but {fact.architecture} loads {apart}, which it joins itself"
        + (f"; {listed(others)} {'is' if len(others) == 1 else 'are'} missing too" if others else ""),
        path=ctx.where("draft", "checkpoint"),
        why="it takes the joined tensor for one half, waits for the other and loads neither, and nothing "
        "says so: the projection keeps uninitialised memory",
        help=f"split the tensor by rows into {apart} and save the draft again",
        evidence=(
            tensor_line(tensor, "never loaded")
            if tensor is not None
            else Evidence(ctx.draft.shown, name, "present", "never loaded"),
            *(missing_tensor(ctx.draft, one, "uninitialised") for one in absent[:3]),
        ),
        values={"missing": absent[:10], "count": len(absent), "of": total, "found": name},
    )


RULE = Rule(
    id="EC223",
    slug="tensors-missing",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=("EC260", "EC229", "EC262", *UNLOADABLE),
    research=("SHP-03", "SHP-04"),
)
