"""What changes for the same files from one engine version to the next, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from eaglecfg.engines.boundaries import Boundaries
from eaglecfg.engines.resolve import Setting
from eaglecfg.report.lacking import lacking
from eaglecfg.report.machine import finding_data
from eaglecfg.report.shown import STYLE_OF
from eaglecfg.report.styled import Line, Part, Style, line, visible, wrapped
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Reported
from eaglecfg.rules.upgrade import Difference, Place, Upgrade, View
from eaglecfg.source.secrets import redact_data

_ORDER = (4, 2, 1, 3, 0)
"""Exit codes, the one that counts most first."""


def exit_code(upgrade: Upgrade, fail_on: Severity) -> int:
    """The gravest of the versions' exit codes: 4, then 2, 1, 3, 0."""
    codes = {view.report.exit_code(fail_on) for view in upgrade.views}
    return next(code for code in _ORDER if code in codes)


def render(upgrade: Upgrade, fail_on: Severity, *, version: str, width: int) -> list[Line]:
    """The whole comparison as text. ``version`` is the tool's own."""
    names = " · ".join(document.name for document in upgrade.documents)
    engine = upgrade.views[0].facts.name if upgrade.views[0].facts is not None else "engine"
    steps = " → ".join(view.version for view in upgrade.views)
    out = [line(Part(f"eaglecfg {version} · {names} · {engine} {steps}", "dim")), ()]
    for place in upgrade.places:
        out += _place(upgrade, place, width)
    return [*out, *_defaults(upgrade, width), *_verdict(upgrade, fail_on, width)]


def _place(upgrade: Upgrade, place: Place, width: int) -> Iterator[Line]:
    """A deployment, or a file where the file as a whole has something to say."""
    changes = [each for each in upgrade.of(place) if not each.nothing]
    file, deployment = place
    if deployment is None:
        if changes:
            yield line(Part(file, "bold"))
            for each in changes:
                yield from _change(each, width)
            yield ()
        return
    several = len(upgrade.documents) > 1
    yield line(Part(deployment, "bold"), Part(f"   ({file})" if several else "", "dim"))
    yield from _captured(upgrade, place, width)
    if not changes:
        yield line("  no difference")
    for each in changes:
        yield from _change(each, width)
    yield ()


def _captured(upgrade: Upgrade, place: Place, width: int) -> Iterator[Line]:
    """What each version captures: one line where all agree."""
    rows = [(view.version, capture_words(view.contexts[place])) for view in upgrade.views]
    if not any(words for _, words in rows):
        return
    if len({words for _, words in rows}) == 1:
        yield from wrapped(line("  captures"), rows[0][1], width, "    ")
        return
    yield line("  captures")
    digits = max(len(version) for version, _ in rows)
    for version, words in rows:
        lead = line(f"    {version:<{digits}} ")
        yield from wrapped(lead, words or "not known", width, " " * (digits + 6))
    other = dict.fromkeys(_other(each) for each in upgrade.of(place))
    for words in filter(None, other):
        yield line("    ", Part(f"same files, {words}", "warning"))


def _other(change: Difference) -> str:
    """What is not the same where both versions capture; a residual left out changes states, not layers."""
    old, new = change.boundaries or (None, None)
    if old is None or new is None or (old.outcome, new.outcome) != ("captured", "captured"):
        return ""
    alike = (old.captured, old.decode) == (new.captured, new.decode)
    return "other states of these layers" if alike else "other layers"


def capture_words(context: Context) -> str:
    """``[3, 6, 9], as trained (adds 1 to every id)``; empty where nothing can be said."""
    found, trained = context.boundaries, context.trained
    if found is None:
        return ""
    if found.outcome != "captured":
        return _OUTCOMES[found.outcome].format(reason=found.reason or "see the findings")
    text = _spelled(found.captured)
    if found.decode is not None:
        text += f" in prefill, {_spelled(found.decode)} in decode with CUDA graphs"
    if trained is not None:
        same = found.captured == trained and found.decode in (None, trained)
        text += ", as trained" if same else f"; the draft was trained on {_spelled(trained)}"
    if not found.residual:
        text += "; without the residual"
    return f"{text} ({found.rule})" if found.rule else text


_OUTCOMES = {
    "nothing": "nothing: {reason}",
    "short": "too few states, crash at the first request: {reason}",
    "crash_at_start": "crash at start: {reason}",
    "crash_at_first_request": "crash at the first request: {reason}",
    "wrapped": "another layer than the negative id names: {reason}",
}


def _change(change: Difference, width: int) -> Iterator[Line]:
    yield line("  ", Part(f"{change.before} → {change.after}", "bold"))
    for old, new in change.settings:
        text = f"{setting_words(old)} → {setting_words(new)}"
        if old.origin == new.origin == "default":
            text = f"{_plain(old.runs)} → {_plain(new.runs)} by default"
        yield from wrapped(line(f"    {new.name}:"), text, width, "      ")
    for found in change.appear:
        yield from _finding("+", found, "appears", width)
    for found in change.vanish:
        yield from _finding("-", found, "vanishes", width)
    for old_one, new_one in change.differ:
        was = f"; it was {old_one.severity}" if old_one.severity is not new_one.severity else ""
        yield from _finding("~", new_one, f"says something else{was}", width)


def _defaults(upgrade: Upgrade, width: int) -> Iterator[Line]:
    """Flags that nobody gives, once for all deployments: most of them belong to features that are off."""
    rows = [
        (f"{before.version} → {after.version}:", pairs)
        for (before, after), pairs in zip(pairwise(upgrade.views), upgrade.defaults, strict=True)
        if pairs
    ]
    if not rows:
        return
    yield line(Part("defaults of flags that no deployment gives", "bold"))
    for step, pairs in rows:
        texts = [f"{new.name} {_plain(old.default)} → {_plain(new.default)}" for old, new in pairs]
        yield from wrapped(line(f"  {step}"), ", ".join(texts), width, "    ")
    yield ()


def _finding(mark: str, found: Reported, word: str, width: int) -> list[Line]:
    head = Part(f"{found.severity}[{found.rule.id} {found.rule.slug}]", STYLE_OF[found.severity])
    where = f"{found.document.name}:{found.span.start.line}:{found.span.start.column}"
    text = f"{word}: {visible(found.finding.message)} ({where})"
    return wrapped(line(f"    {mark} ", head), text, width, "      ")


def setting_words(setting: Setting) -> str:
    """What runs and where it comes from, in a few words."""
    shown = _plain(setting.runs)
    if setting.origin == "unknown":
        return "no such flag"
    why = f": {setting.why}" if setting.why else ""
    if setting.origin in ("refused", "ignored"):
        return f"{setting.origin}{visible(why)}"
    if setting.origin == "asked":
        return f"{shown} as asked"
    if setting.origin == "default" and setting.runs is None:
        return "not set"
    return f"{shown} ({setting.origin}{visible(why)})"


def _plain(value: Any) -> str:
    """A value as JSON spells it, a word without quotes."""
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _verdict(upgrade: Upgrade, fail_on: Severity, width: int) -> Iterator[Line]:
    digits = max(len(view.version) for view in upgrade.views)
    for view in {view.version: view for view in upgrade.views}.values():
        report = view.report
        parts = [
            _count(report.count(Severity.ERROR), "error"),
            _count(report.count(Severity.WARNING), "warning"),
            f"{report.count(Severity.INFO)} info",
        ]
        yield line(f"{view.version:<{digits}}  ", " · ".join(parts), Part(_standing(view), "dim"))
    if any(view.report.findings for view in upgrade.views):
        yield line(Part("`eaglecfg validate` shows the findings of the version that the file names", "dim"))
    code = exit_code(upgrade, fail_on)
    words: dict[int, tuple[str, Style, str]] = {
        0: ("OK", "good", f"nothing at or above {fail_on}"),
        1: ("FAIL", "error", f"findings at or above {fail_on} with {_failing(upgrade, fail_on)}"),
        2: ("UNREADABLE", "error", "a file could not be parsed"),
        3: ("INCOMPLETE", "warning", _lacking(upgrade) if code == 3 else ""),
        4: ("INTERNAL ERROR", "error", "a rule crashed; its check is missing here"),
    }
    word, style, text = words[code]
    yield from wrapped(line(Part(word, style), " "), f"{text} (exit {code})", width, "  ")


def _lacking(upgrade: Upgrade) -> str:
    """What was lacking, with the versions that it was lacking for where it was not for all."""
    said: dict[str, list[str]] = {}
    for view in upgrade.views:
        if view.report.exit_code() == 3:
            versions = said.setdefault(visible(lacking(view.report)), [])
            versions += [view.version] if view.version not in versions else []
    every = {view.version for view in upgrade.views}
    return "; ".join(
        text if set(versions) == every else f"with {', '.join(versions)} {text}"
        for text, versions in said.items()
    )


def _failing(upgrade: Upgrade, fail_on: Severity) -> str:
    failing = (view.version for view in upgrade.views if view.report.exit_code(fail_on) == 1)
    return ", ".join(dict.fromkeys(failing))


def _standing(view: View) -> str:
    """Whose facts stand in for a version that was not read."""
    if view.facts is None or view.facts.standing == "known":
        return ""
    return f"   facts of {view.facts.facts_of}, the nearest version that was read"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _spelled(numbers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def as_json(upgrade: Upgrade, fail_on: Severity, *, version: str) -> str:
    """The comparison as JSON text, version 1. Findings have the shape that they have in a report."""
    data = {
        "version": 1,
        "tool": {"name": "eaglecfg", "version": version},
        "files": [document.name for document in upgrade.documents],
        "versions": [_view_data(view, fail_on) for view in upgrade.views],
        "places": [
            {
                "file": place[0],
                "deployment": place[1],
                "captures": [
                    {"version": view.version, **_capture_data(view.contexts[place])}
                    for view in upgrade.views
                    if place in view.contexts
                ],
                "changes": [_change_data(each) for each in upgrade.of(place) if not each.nothing],
            }
            for place in upgrade.places
        ],
        "defaults": [
            {
                "from": before.version,
                "to": after.version,
                "flags": [{"name": b.name, "from": a.default, "to": b.default} for a, b in pairs],
            }
            for (before, after), pairs in zip(pairwise(upgrade.views), upgrade.defaults, strict=True)
        ],
        "summary": {"exit_code": exit_code(upgrade, fail_on)},
    }
    return json.dumps(redact_data(data), indent=2, ensure_ascii=False, default=str) + "\n"


def _view_data(view: View, fail_on: Severity) -> dict[str, Any]:
    report = view.report
    return {
        "version": view.version,
        "facts_of": view.facts.facts_of if view.facts is not None else None,
        "standing": view.facts.standing if view.facts is not None else None,
        "error": report.count(Severity.ERROR),
        "warning": report.count(Severity.WARNING),
        "info": report.count(Severity.INFO),
        "not_checked": len(report.not_checked),
        "exit_code": report.exit_code(fail_on),
    }


def _capture_data(context: Context) -> dict[str, Any]:
    trained = context.trained
    return {
        "boundaries": _boundaries_data(context.boundaries),
        "trained": None if trained is None else list(trained),
    }


def _boundaries_data(found: Boundaries | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "ids": None if found.ids is None else list(found.ids),
        "captured": list(found.captured),
        "decode": None if found.decode is None else list(found.decode),
        "outcome": found.outcome,
        "residual": found.residual,
        "rule": found.rule,
        "reason": found.reason,
        "source": found.source,
    }


def _change_data(change: Difference) -> dict[str, Any]:
    boundaries = change.boundaries
    return {
        "from": change.before,
        "to": change.after,
        "boundaries": None
        if boundaries is None
        else {"from": _boundaries_data(boundaries[0]), "to": _boundaries_data(boundaries[1])},
        "settings": [
            {"name": new.name, "from": _setting_data(old), "to": _setting_data(new)}
            for old, new in change.settings
        ],
        "findings": {
            "appear": [finding_data(found) for found in change.appear],
            "vanish": [finding_data(found) for found in change.vanish],
            "differ": [{"from": finding_data(a), "to": finding_data(b)} for a, b in change.differ],
        },
    }


def _setting_data(setting: Setting) -> dict[str, Any]:
    return {
        "asked": setting.asked,
        "runs": setting.runs,
        "origin": setting.origin,
        "why": setting.why,
        "source": setting.source,
    }
