"""Whether a value that differs makes a difference."""

from __future__ import annotations

from eaglecfg.engines.command import environment
from eaglecfg.review.difference.as_read import environment_read, names_of
from eaglecfg.review.difference.contents import CONTENT
from eaglecfg.review.difference.effect import MODEL_FLAGS, Effect, Group
from eaglecfg.review.difference.settled import outcome
from eaglecfg.rules.context import Context

_SIZE = "hardware.gpu_memory"


def alike_in_effect(group: Group, name: str, old: Effect, new: Effect) -> bool:
    """Whether the same runs with a setting or a variable of both, however each is spelled; False of all else,
    but for a declared size in another unit."""
    if CONTENT in name or name in MODEL_FLAGS:
        return False
    if group == "setting":
        return _idle(group, name, old, new) or _settled_alike(name, old.context, new.context)
    if group == "environment":
        return _idle(group, name, old, new) or _read_alike(name, old.context, new.context)
    return (group, name) == ("declared", _SIZE) and _sizes_alike(old, new)


def _settled_alike(flag: str, old: Context, new: Context) -> bool:
    one, two = old.resolution, new.resolution
    return one is not None and two is not None and outcome(one, flag) == outcome(two, flag)


def _read_alike(name: str, old: Context, new: Context) -> bool:
    one, two = environment_read(old), environment_read(new)
    names = names_of(old, name) | names_of(new, name)
    return all(one.get(each) == two.get(each) for each in names)


def _idle(group: Group, name: str, old: Effect, new: Effect) -> bool:
    """Whether what is given has no effect, in each state in which it is given."""
    key = (group, name)
    if key not in old.inert and key not in new.inert:
        return False
    return all(key in each.inert or not _given(group, name, each.context) for each in (old, new))


def _given(group: Group, name: str, context: Context) -> bool:
    if group == "environment":
        return name in environment(context.model)
    if context.resolution is None:
        return name in (context.arguments or {})
    return context.resolution.asked(name) is not None


def _sizes_alike(old: Effect, new: Effect) -> bool:
    from eaglecfg.rules.parallel.ec417_draft_weights import bytes_of

    sizes = []
    for each in (old, new):
        fact = each.facts.get(("declared", _SIZE))
        sizes.append(bytes_of(str(fact.key)) if fact is not None else None)
    return sizes[0] is not None and sizes[0] == sizes[1]
