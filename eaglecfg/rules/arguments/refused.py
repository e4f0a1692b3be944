"""Findings for the checks that an engine makes of its arguments (``engines/refusals.py`` has the facts)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eaglecfg.engines.conditions import UNKNOWN, Read, Term, holds, plain
from eaglecfg.engines.flags import UNREADABLE
from eaglecfg.engines.numerals import whole
from eaglecfg.engines.refusals import Refusal, refusals
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.rules.arguments import refused_words as words
from eaglecfg.rules.arguments.backends import backend
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Fix, Item, NotChecked
from eaglecfg.rules.remedies import leave_out

_OPEN = {
    "prefill.backend": "the attention backend, which the engine picks by the GPU",
    "decode.backend": "the attention backend, which the engine picks by the GPU",
    "machine.cuda": "the GPU, which no hardware block names",
}
"""What is worth saying where it is not known: the rest would be said of too many deployments."""

_SEEING = ("vision_config", "audio_config", "thinker_config")
"""Keys of a target that sees or hears: some versions turn its chunked prefill off."""


def refused(ctx: Context, *, speculation: bool) -> Iterator[Item]:
    """A finding for every check of the engine that stops it, of those about a draft or of the others.

    Of several that one setting fails, the first: the engine stops there, and the others often go with it.
    """
    assert ctx.engine is not None
    assert ctx.arguments is not None
    seen: set[Any] = set()
    for row in refusals(ctx.engine):
        if row.speculation is not speculation or row.names.isdisjoint(_given_names(ctx)):
            continue
        found = holds(row.terms, lambda name: value_of(ctx, name))
        if found is None and (why := _open(ctx, row)):
            yield NotChecked(why)
        elif found:
            finding = _finding(ctx, row)
            if finding.path not in seen:
                seen.add(finding.path)
                yield finding


def stops(ctx: Context, name: str | None = None) -> bool:
    """Whether any check stops the engine; with ``name`` any that this setting has a part in."""
    named = _given_names(ctx) if name is None else {name}
    return ctx.engine is not None and any(
        holds(row.terms, lambda name: value_of(ctx, name))
        for row in refusals(ctx.engine)
        if not row.names.isdisjoint(named)
    )


def _given_names(ctx: Context) -> set[str]:
    """What the deployment decides: its flags, its variables, and what is worked out of them."""
    assert ctx.arguments is not None
    given = set(ctx.arguments)
    return given | {f"${name}" for name in ctx.model.env} | {words.WORKED_OUT.get(name, "") for name in given}


def value_of(ctx: Context, name: str) -> Any:
    """The value that runs for a name in ``refusals.json``: None where it is off, UNKNOWN where open."""
    if name.startswith("$"):
        try:
            text = ctx.variable(name[1:])
        except ValueFromLaunch:
            return UNKNOWN
        if text is None or ctx.engine is None:
            return text
        from eaglecfg.nccl.engine_reads import switched  # few files set one

        return switched(ctx.engine, name[1:], text)
    if name == "given.algorithm":
        setting = ctx.resolution.get("speculative_algorithm") if ctx.resolution is not None else None
        return None if setting is None or setting.asked is None else str(setting.asked).upper()
    if name == "target.class":
        config = ctx.target.config if ctx.target is not None else None
        known = config.architecture if config is not None else None
        return UNKNOWN if known is None else known
    if name == "machine.cuda":
        hardware = ctx.model.hardware
        gpu = hardware.gpu if hardware is not None else None
        if gpu is None:
            return UNKNOWN
        from eaglecfg.engines.gpu import is_amd  # most files name no GPU

        return not is_amd(gpu)
    if name in ("prefill.backend", "decode.backend"):
        return backend(ctx, name.partition(".")[0])[0] or _setting(ctx, "attention_backend") or UNKNOWN
    return _chunk(ctx) if name == "prefill.chunk" else _setting(ctx, name)


def _setting(ctx: Context, name: str) -> Any:
    assert ctx.resolution is not None
    setting = ctx.resolution.get(name)
    if setting.origin == "refused" or (setting.origin == "unknown" and setting.asked is not None):
        return UNKNOWN  # another rule says so
    if setting.origin == "default":
        flag = ctx.resolution.facts.flags.get(name)
        if flag is not None and flag.default == UNREADABLE:
            return UNKNOWN
        if name == "attention_backend" and setting.runs is None:
            return UNKNOWN
    return setting.runs


def _chunk(ctx: Context) -> Any:
    """Tokens of one prefill chunk in one attention group."""
    assert ctx.resolution is not None
    asked, groups = _setting(ctx, "chunked_prefill_size"), _setting(ctx, "attention.dp_size")
    config = ctx.target.config if ctx.target is not None else None
    if asked is UNKNOWN or config is None or any(key in config.raw for key in _SEEING):
        return UNKNOWN
    size = whole(asked)
    if size is None:
        return words.BY_MEMORY
    # As Python divides there, -1 among them.
    return size // groups if isinstance(groups, int) and groups > 1 else size


def _finding(ctx: Context, row: Refusal) -> Finding:
    assert ctx.engine is not None
    read: Read = lambda name: value_of(ctx, name)  # noqa: E731 - the same closure three times
    terms = _chosen(row.terms, read)
    last = terms[-1]
    message, help_ = words.sentence(terms, read)
    given = [term[0] for term in terms if _argument(ctx, term[0]) is not None]
    at = last[0] if last[0] in given else given[-1]
    related = [name for name in dict.fromkeys(given) if name != at]
    if (
        last[0] == "prefill.chunk"
        and isinstance(groups := _setting(ctx, "attention.dp_size"), int)
        and groups > 1
    ):
        message += f" in each of {groups} attention groups"
    why = f"{row.why}; SGLang stops while it reads its arguments" if row.why else ""
    return Finding(
        message,
        path=_path(ctx, at),
        why=why or "SGLang stops while it reads its arguments",
        help=help_,
        evidence=(Evidence(f"sglang {ctx.engine.facts_of}", _shown(row), row.source),),
        related=tuple((_path(ctx, name), words.shown(name, read(name))) for name in related),
        fix=_fix(ctx, row, related),
        values={words.flag(name): words.tellable(read(name)) for name in dict.fromkeys([*related, at])},
    )


def _fix(ctx: Context, row: Refusal, related: list[str]) -> Fix | None:
    """Without what does not go with a draft. Adapters are more than one setting; the others are a choice."""
    about_draft = isinstance(row.terms[-1], list) and row.terms[-1][0] == "speculative_algorithm"
    if not about_draft or "lora_paths" in row.names or not related:
        return None
    return leave_out(ctx, words.flag(related[-1]))


def _chosen(terms: tuple[Term, ...], read: Read) -> list[Any]:
    """``terms`` with the first alternative that holds in the place of each ``any``."""
    out: list[Any] = []
    for term in terms:
        if isinstance(term, dict):
            out += _chosen(tuple(next(each for each in term["any"] if holds(each, read))), read)
        else:
            out.append(term)
    return out


def _argument(ctx: Context, name: str) -> Any:
    if name.startswith("$"):
        return ctx.model.env.get(name[1:])
    found = (ctx.arguments or {}).get(words.flag(name))
    return None if found is None else found.value


def _path(ctx: Context, name: str) -> Any:
    return ctx.where("env", name[1:]) if name.startswith("$") else ctx.argument_path(words.flag(name))


def _shown(row: Refusal) -> str:
    """The engine's words, as far as they are words."""
    return f'says "... {row.says} ..."' if row.says else words.flag(row.terms[-1][0])


def _open(ctx: Context, row: Refusal) -> str:
    """Why a check could not be made, where its other terms hold; empty where that is not worth a line."""
    known = [term for term in plain(row.terms) if value_of(ctx, term[0]) is UNKNOWN]
    reasons = {_OPEN.get(term[0]) for term in known}
    reasons |= {f"{term[0][1:]}, which the launch sets" for term in known if term[0].startswith("$")}
    first = next(plain(row.terms))
    if None in reasons or len(reasons - {None}) != 1 or _argument(ctx, first[0]) is None:
        return ""
    return f"whether sglang takes {words.flag(first[0])} depends on {reasons.pop()}"
