"""All rules as pages of Markdown: what each reads, what its examples come to, what it answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from eaglecfg.report.styled import plain
from eaglecfg.report.text import render_findings
from eaglecfg.rules.examples import RuleDocs
from eaglecfg.rules.model import Rule, Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.survey import Survey

WIDTH = 100
"""Columns of prose in the reports: what a page of code shows without scrolling."""

_INTRODUCTION = """\
# Rules

Every rule with what it looks at, why it matters and how to fix what it finds. The reports in its examples
come from running them. `eaglecfg explain RULE` prints one rule in a terminal.

**Severity.** *error*: the deployment does not start, crashes, or is certain to feed the draft something it
was not made for. *warning*: it starts, but something is likely unintended, ignored or overwritten. *info*:
worth knowing. A single finding can be milder or graver than its rule where the message says why.

**Engine today.** What the engine itself does about the fault: *silent* (nothing, while drafts are accepted
less often), *crash at start*, *crash at the first request*, *refused at start* (with a message), *rewritten*
(runs another value), *ignored*, *slower*; *nothing* where the fault is not the engine's to see.

**Reads.** Facts that the rule cannot do without. Where one is missing the rule is reported as not checked,
never as passed.
"""

WRITTEN = "<!-- generated: eaglecfg rules --write docs -->"
"""First line of every page that is written to a folder."""

_LINKS = "[All rules](../rules.md) · [the pair that the examples change](examples.md)"

_SURVEY = """\
Checks of the survey

What is known to go wrong, check by check, and the rules that answer it.
"""

_EXAMPLES = """\
The pair that the examples change

Examples are written as changes of this small, consistent pair: a Llama target of 12 layers and its EAGLE-3
draft. `deployment:` changes the one deployment, `config:` the whole file, `engine:` its version; `target:`
and `draft:` change `config.json` and tensors, where null takes a key out. `text:` is a whole `eaglecfg.yaml`,
`study:` changes a study file beside it.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule with its documentation and the reports of its first failing and its first passing example."""

    rule: Rule
    docs: RuleDocs
    fails: Report
    passes: Report


def render(entries: Sequence[Entry], base: Mapping[str, str], survey: Survey) -> str:
    """All on one page. ``base`` is file name to text of the pair that the examples change."""
    families = _families(entries)
    out = [_INTRODUCTION, "## Contents\n"]
    for family, group in families.items():
        out += [f"### {family.capitalize()}\n", _about(group[0].rule), "", _contents(group), ""]
    out += [f"## {_EXAMPLES}", *_files(base)]
    for family, group in families.items():
        out.append(f"## Rules on {family}\n")
        out += [section(entry) for entry in group]
    out.append(f"## {_SURVEY}")
    out += _survey(survey, [entry.rule for entry in entries])
    return _page(out)


def pages(entries: Sequence[Entry], base: Mapping[str, str], survey: Survey) -> dict[str, str]:
    """The same as pages, by file name: ``rules.md`` leads to ``rules/FAMILY.md`` and to what they share."""
    families = _families(entries)
    index = [WRITTEN, _INTRODUCTION, "## Contents\n"]
    made = {}
    for family, group in families.items():
        page = f"rules/{family}.md"
        about = _about(group[0].rule)
        index += [f"### [{family.capitalize()}]({page})\n", about, "", _contents(group, page), ""]
        head = f"# Rules on {family}\n\n{about}\n\n{_LINKS}\n"
        made[page] = _page([WRITTEN, head, *(section(entry, level="##") for entry in group)])
    index.append("## More\n\n- [The pair that the examples change](rules/examples.md)")
    index.append("- [Checks of the survey](rules/survey.md), and which rules answer them")
    made["rules/examples.md"] = _page([WRITTEN, f"# {_EXAMPLES}", *_files(base)])
    answers = _survey(survey, [entry.rule for entry in entries], place=lambda rule: f"{family_of(rule)}.md")
    made["rules/survey.md"] = _page(
        [WRITTEN, f"# {_SURVEY}", *(line.replace("###", "##") for line in answers)]
    )
    return {"rules.md": _page(index), **made}


def _families(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        families.setdefault(family_of(entry.rule), []).append(entry)
    return families


def _page(parts: Sequence[str]) -> str:
    return "\n".join(parts).rstrip() + "\n"


def _files(base: Mapping[str, str]) -> list[str]:
    return [f"`{name}`\n\n{_fence(text, _language(name))}\n" for name, text in base.items()]


def family_of(rule: Rule) -> str:
    """The folder that a rule stands in: ``capture``, ``shapes`` …"""
    return rule.check.__module__.split(".")[2]


def section(entry: Entry, level: str = "###") -> str:
    """One rule: facts, prose, a failing and a passing example."""
    rule, docs = entry.rule, entry.docs
    out = [f"{level} {rule.id} {rule.slug}\n", f"{docs.summary}\n", *_facts(rule), ""]
    out.append(_flow(docs.what) + "\n")
    out.append(f"**Why.** {_flow(docs.why)}\n")
    out.append(f"**Fix.** {_flow(docs.fix)}\n")
    if docs.references:
        out.append(f"**References.** {'; '.join(docs.references)}.\n")
    found = plain(render_findings(entry.fails, WIDTH, only=rule)).strip("\n")
    out += [_example("Fails", docs.failing[0]), _fence(found, "text"), ""]
    out += [_example("Passes", docs.passing[0]), _fence(_outcome(entry.passes), "text"), ""]
    return "\n".join(out)


def _facts(rule: Rule) -> Iterator[str]:
    reads = ", ".join(rule.needs) if rule.needs else {"file": "the file alone"}.get(rule.scope, "")
    yield f"- severity: {rule.severity}; engine today: {rule.today}; looks at one {rule.scope} at a time"
    if reads:
        yield f"- reads: {reads}"
    if rule.follows:
        yield f"- left out when one of these failed: {', '.join(sorted(rule.follows))}"
    if rule.research:
        yield f"- checks of the survey: {', '.join(rule.research)}"


def _example(word: str, example: Mapping[str, Any]) -> str:
    change = {key: value for key, value in example.items() if key not in ("title", "expect")}
    if not change:
        return f"**{word}:** {example['title']} (the pair as it is).\n"
    return f"**{word}:** {example['title']}.\n\n{_fence(_dump(change), 'yaml')}\n"


def _outcome(report: Report) -> str:
    """Counts of one rule's run; times and file counts would differ from run to run."""
    parts = [f"{report.count(severity)} {severity}" for severity in Severity if report.count(severity)]
    parts += [f"{report.passed} passed"] if report.passed else []
    parts += [f"{len(report.not_checked)} not checked"] if report.not_checked else []
    parts += [f"{report.not_applicable} not applicable"] if report.not_applicable else []
    return " · ".join(parts)


def _contents(group: Sequence[Entry], page: str = "") -> str:
    rows = ["| rule | severity | engine today | what must hold |", "| --- | --- | --- | --- |"]
    for entry in group:
        rule = entry.rule
        name = f"{rule.id} {rule.slug}"
        link = f"[{name}]({page}#{name.lower().replace(' ', '-')})"
        rows.append(f"| {link} | {rule.severity} | {rule.today} | {_cell(entry.docs.summary)} |")
    return "\n".join(rows)


def _survey(
    survey: Survey, rules: Sequence[Rule], place: Callable[[Rule], str] = lambda rule: ""
) -> Iterator[str]:
    """Every check id of the survey with the rules that answer it, or why none does."""
    answers: dict[str, list[str]] = {}
    for rule in rules:
        for id in rule.research:
            answers.setdefault(id, []).append(f"[{rule.id}]({place(rule)}#{rule.id.lower()}-{rule.slug})")
    for group, checks in survey.items():
        yield f"### {group}\n"
        yield "| check | is about | rules |"
        yield "| --- | --- | --- |"
        for id, check in checks.items():
            answer = ", ".join(answers.get(id, ())) or check.left_out or "none yet"
            yield f"| {id} | {_cell(check.about)} | {_cell(answer)} |"
        yield ""


def _about(rule: Rule) -> str:
    package = sys.modules[rule.check.__module__.rpartition(".")[0]]
    return (package.__doc__ or "").strip().split("\n\n")[0]


def _flow(text: str) -> str:
    """Prose without the line breaks of its source; empty lines still part paragraphs."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _cell(text: str) -> str:
    return _flow(text).replace("|", "\\|")


def _fence(text: str, language: str) -> str:
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def _language(name: str) -> str:
    return "json" if name.endswith(".json") else "yaml"


class _Dumper(yaml.SafeDumper):
    """YAML as the examples are written: short mappings on one line, texts as blocks."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    plain_lines = all(line.isprintable() for line in value.split("\n"))
    style = "|" if "\n" in value and plain_lines else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _dump(data: Mapping[str, Any]) -> str:
    text = _yaml(data, True)
    # What no page shows, such as U+2028, has to be seen as an escape.
    return text if all(line.isprintable() for line in text.split("\n")) else _yaml(data, False)


def _yaml(data: Mapping[str, Any], unicode: bool) -> str:
    return yaml.dump(
        dict(data),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=unicode,
        default_flow_style=None,
        width=WIDTH,
    )
