"""Runs rules over files: order, needs, crash isolation, and one finding for one cause."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from eaglecfg.engines.resolve import OVERRIDES
from eaglecfg.errors import ConfigUnreadable, UsageError, ValueFromLaunch
from eaglecfg.record import replace
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Scope, Severity
from eaglecfg.rules.outcome import Crash, Dropped, Report, Reported, Skipped, Suppressed
from eaglecfg.rules.registry import chosen, matching
from eaglecfg.rules.schema.suppressions import holds_suppressions
from eaglecfg.rules.tidy import tidied
from eaglecfg.schema.deployment import Engine
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of, load_study
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document
from eaglecfg.source.secret_places import secrets_of
from eaglecfg.source.secrets import redact_text

if TYPE_CHECKING:
    from eaglecfg.checkpoint.hubid import HubAccess
    from eaglecfg.checkpoint.values import DraftValues
    from eaglecfg.engines.ask import EngineSays
    from eaglecfg.rules.live.running import Running

MOST_FINDINGS = 100
"""Findings of one rule in one run, of which every deployment may have one: nobody reads more, and some cost
a search for the nearest name."""

MOST_COUNTED = 1_000
"""Further findings of a rule that are counted."""

Ask = Callable[[Context], "EngineSays | None"]
"""What the installed engine says about the deployment of a context."""

Look = Callable[[Context], "Running | None"]
"""What the running server of the deployment of a context says."""

Weigh = Callable[[Context], "DraftValues | None"]
"""What the values of the draft of a context are like."""


@dataclass(slots=True)
class _Tally:
    """Outcomes as they come in; frozen into a Report at the end."""

    findings: list[Reported] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    crashes: list[Crash] = field(default_factory=list)
    accepted: list[Suppressed] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)
    more: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    passed: int = 0
    not_applicable: int = 0


class Options(TypedDict):
    """What ``validate`` takes from a command line."""

    select: Collection[str]
    ignore: Collection[str]
    require: Collection[str]
    deployments: Collection[str]
    deep: bool
    hub: Callable[[], HubAccess] | None


def validate(
    documents: Sequence[Document],
    *,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    require: Collection[str] = (),
    deployments: Collection[str] = (),
    deep: bool = False,
    hub: Callable[[], HubAccess] | None = None,
    engine_version: str = "",
    checkpoints: Checkpoints | None = None,
    ask: Ask | None = None,
    look: Look | None = None,
    weigh: Weigh | None = None,
) -> Report:
    """Check config and study files.

    ``select``, ``ignore`` and ``require`` take rule ids, slugs or id prefixes; ``deployments`` keeps those
    of these names; ``deep`` opens every shard of every checkpoint; ``hub`` says where hub ids are read from,
    without it they are not. ``engine_version`` takes the place of that which the files name; ``checkpoints``
    are those that an earlier run has read; ``ask`` asks the installed engine about each deployment, ``look``
    its running server, ``weigh`` reads the values of its draft. Raises UsageError for names that do not
    exist.
    """
    started = time.perf_counter()
    rules = chosen(select, ignore, live=look is not None, weights=weigh is not None)
    required = frozenset(rule.id for name in require for rule in matching(name))
    tally, checkpoints = _Tally(), checkpoints or Checkpoints(deep, hub)
    if not any(Need.WEIGHTS in rule.needs for rule in rules):
        weigh = None
    engines: list[str] = []
    names: list[str] = []
    wholes: list[Context] = []
    for document in documents:
        if kind_of(document) == "study":
            wholes.append(_study_context(document, engine_version))
            _run(rules, ("file", "study"), wholes[-1], tally)
            continue
        config = under_version(_config(document, tally), engine_version)
        if config.engine is not None:
            engines.append(f"{config.engine.name} {config.engine.version}")
        wholes.append(Context(config))
        _run(rules, ("file",), wholes[-1], tally)
        for each in config.deployments:
            if not deployments or each.name in deployments:
                names.append(each.name)
                context = _context(config, each, checkpoints, tally)
                if context is not None:
                    context = _with_answers(context, ask, look, weigh)
                    _run(rules, ("deployment",), context, tally)
    for name in deployments:
        if name not in names:
            raise UsageError(f"there is no deployment {name!r} in {', '.join(d.name for d in documents)}")
    _last(rules, wholes, frozenset(names), tally)
    files = len(documents) + _files_of(checkpoints)
    return _report(tally, documents, engines, names, required, len(rules), files, started)


def _with_answers(context: Context, ask: Ask | None, look: Look | None, weigh: Weigh | None) -> Context:
    """``context`` with what the installed engine, the draft's weights and the running server say, where they
    are to be asked."""
    if ask is not None:
        context = replace(context, engine_says=ask(context))
    if weigh is not None:
        context = replace(context, values=weigh(context))
    return context if look is None else replace(context, running=look(context))


def check_deployment(config: LoadedConfig, deployment: LoadedDeployment) -> Report:
    """Check one deployment that need not stand in a file as it is; a tuner asks so before it launches.

    The accept length that the file expects was measured with the file's settings, and is left out.
    """
    model = deployment.model.model_copy(update={"expected_accept_length": None})
    return check_context(deployment_context(config, replace(deployment, model=model), Checkpoints()))


def check_context(context: Context) -> Report:
    """Run the deployment rules on a context that is read already."""
    started = time.perf_counter()
    assert context.deployment is not None
    tally, rules, engine = _Tally(), chosen(), context.config.engine
    _run(rules, ("deployment",), context, tally)
    if holds_suppressions(context.config.document):
        from eaglecfg.rules.suppression import sort_out

        tally.findings, tally.accepted, _ = sort_out(tally.findings, [context.config.document])
    engines = [f"{engine.name} {engine.version}"] if engine is not None else []
    names = [context.deployment.name]
    return _report(tally, [context.config.document], engines, names, frozenset(), len(rules), 0, started)


def under_version(config: LoadedConfig, version: str) -> LoadedConfig:
    """``config`` as if it named engine ``version``; unchanged where that is empty."""
    if not version:
        return config
    named = {} if config.engine is None else {"name": config.engine.name}
    return replace(config, engine=Engine(version=version, **named))


def _files_of(checkpoints: Checkpoints) -> int:
    return len({f"{read.folder}/{name}" for read in checkpoints.read for name in read.files})


def _last(rules: Sequence[Rule], wholes: Sequence[Context], names: frozenset[str], tally: _Tally) -> None:
    """Set aside what the files accept, then run the rules that look at what the others came to."""
    documents = [context.config.document for context in wholes]
    if any(map(holds_suppressions, documents)):
        from eaglecfg.rules.suppression import Ran, sort_out, unused

        tally.findings, tally.accepted, used = sort_out(tally.findings, documents)
        ids = frozenset(rule.id for rule in rules)
        ran = Ran(ids, names, tally.skipped, tally.dropped, tally.crashes, tally.more)
        wholes = [replace(each, unused=unused(each.config.document, used, ran)) for each in wholes]
    for context in wholes:
        _run(rules, ("report",), context, tally)


def _study_context(document: Document, engine_version: str) -> Context:
    study = load_study(document)
    # File rules look at text and schema problems, and these are the same kind of thing in both files.
    own = LoadedConfig(document, None, (), study.problems)
    named = None
    if study.model is not None:
        path = Path(document.folder) / study.model.config
        try:
            named = under_version(load_config(read_document(path, shown=study.model.config)), engine_version)
        except ConfigUnreadable:
            named = None  # a study rule says so, at the key that names the file
    return Context(own, study=study, study_config=named)


def _report(
    tally: _Tally,
    documents: Sequence[Document],
    engines: Iterable[str],
    names: Iterable[str],
    required: frozenset[str],
    rules: int,
    files: int,
    started: float,
) -> Report:
    order = {document.name: index for index, document in enumerate(documents)}
    rank = [Severity.ERROR, Severity.WARNING, Severity.INFO]
    findings = sorted(
        tally.findings,
        key=lambda f: (order.get(f.document.name, 0), rank.index(f.severity), f.span.start, f.rule.id),
    )
    return Report(
        documents=tuple(documents),
        engines=tuple(dict.fromkeys(engines)),
        deployments=tuple(names),
        findings=tuple(findings),
        not_checked=tuple(tally.skipped),
        dropped=tuple(tally.dropped),
        crashes=tuple(tally.crashes),
        accepted=tuple(tally.accepted),
        passed=tally.passed,
        not_applicable=tally.not_applicable,
        rules=rules,
        files=files,
        seconds=time.perf_counter() - started,
        required=required,
        checks=tally.checks,
        more={rule: count for rule, count in tally.more.items() if count},
    )


def _run(rules: Sequence[Rule], scopes: tuple[Scope, ...], context: Context, tally: _Tally) -> None:
    """Run every rule of ``scopes`` on one context and sort what comes out into ``tally``."""
    found: dict[str, tuple[Rule, list[Finding]]] = {}
    name = context.deployment.name if context.deployment is not None else None
    document = context.config.document
    for rule in rules:
        if rule.scope not in scopes:
            continue
        tally.checks += 1
        missing = _missing(rule, context)
        if missing is not None:
            if isinstance(missing, NotApplicable):
                tally.not_applicable += 1
            else:
                tally.skipped.append(_skipped(rule, missing, document, name))
            continue
        try:
            most = max(1, MOST_FINDINGS - tally.said[rule.id])
            every = _settled(rule.check(context))
            items = list(islice(every, most))
            if len(items) == most:
                rest = islice(every, max(1, MOST_COUNTED - tally.more[rule.id]))
                tally.more[rule.id] += sum(isinstance(item, Finding) for item in rest)
        except Exception as error:  # a rule that crashes must not take the others along
            tally.crashes.append(_crash(rule, error, name))
            continue
        findings = [item for item in items if isinstance(item, Finding)]
        tally.more[rule.id] += sum(finding.more for finding in findings)
        tally.said[rule.id] += len(findings)
        undecided = [item for item in items if isinstance(item, NotChecked)]
        tally.skipped += [_skipped(rule, each, document, name) for each in undecided]
        if findings:
            found[rule.id] = (rule, findings)
        elif not undecided:
            if any(isinstance(item, NotApplicable) for item in items):
                tally.not_applicable += 1
            else:
                tally.passed += 1
    _keep_causes(found, context, tally)


def _settled(items: Iterator[Item]) -> Iterator[Item]:
    """The items of a rule, NotChecked from where it asks for a value that only the launch knows."""
    try:
        yield from items
    except ValueFromLaunch as error:
        yield NotChecked(error.reason)


def _skipped(rule: Rule, item: NotChecked, document: Document, name: str | None) -> Skipped:
    place = document.place(item.path or (("deployments", name) if name is not None else ()))
    span = place.value if item.path or place.key is None else place.key
    without = secrets_of(document).without
    reason, help = without(item.reason), without(item.help)
    return Skipped(rule, reason, document, name, item.incomplete, span, item.path, help, item.lack)


def _keep_causes(found: dict[str, tuple[Rule, list[Finding]]], context: Context, tally: _Tally) -> None:
    """Drop findings that another rule's failure explains; what is only worth knowing explains nothing."""
    name = context.deployment.name if context.deployment is not None else None
    failed = {
        rule.id
        for rule, findings in found.values()
        if any((finding.severity or rule.severity) is not Severity.INFO for finding in findings)
    }
    doubted = {
        place: rule.id for rule, findings in found.values() for each in findings for place in each.doubts
    }
    for rule, findings in found.values():
        cause = next((other for other in rule.follows if other in failed), None)
        if cause is not None:
            tally.dropped.append(Dropped(rule, cause, len(findings), name))
            continue
        document = context.config.document
        for finding in findings:
            shaky = next(
                (doubted[e.file, e.key] for e in finding.evidence if (e.file, e.key) in doubted), rule.id
            )
            if shaky != rule.id:
                tally.dropped.append(Dropped(rule, shaky, 1, name))
                continue
            finding = _with_cause(finding, context)
            place = document.place(finding.path)
            at = place.key if finding.at_key and place.key is not None else place.value
            severity = finding.severity or rule.severity
            span = finding.span or at
            found_here = tidied(finding, secrets_of(document))
            tally.findings.append(Reported(rule, found_here, severity, document, span, name))


def _with_cause(finding: Finding, context: Context) -> Finding:
    """``finding`` with what stands elsewhere and gives rise to it. Few files have any of this."""
    if context.argument(OVERRIDES) is not None:
        from eaglecfg.rules.overridden import with_override

        finding = with_override(finding, context)
    if context.copied:
        from eaglecfg.rules.elsewhere import with_copied

        finding = with_copied(finding, context)
    if context.settings_file is not None:
        from eaglecfg.rules.elsewhere import with_settings_file

        finding = with_settings_file(finding, context.settings_file)
    return finding


def _config(document: Document, tally: _Tally) -> LoadedConfig:
    """The typed config; nothing but the text where our own loading fails, so that text rules still run."""
    try:
        return load_config(document)
    except Exception as error:
        tally.crashes.append(_crash(None, error, None))
        return LoadedConfig(document, None, (), ())


def _context(
    config: LoadedConfig, deployment: LoadedDeployment, checkpoints: Checkpoints, tally: _Tally
) -> Context | None:
    """What rules look at, None where putting it together fails: other deployments must not suffer from it."""
    try:
        return deployment_context(config, deployment, checkpoints)
    except Exception as error:
        tally.crashes.append(_crash(None, error, deployment.name))
        return None


def _crash(rule: Rule | None, error: Exception, name: str | None) -> Crash:
    import traceback

    return Crash(
        rule,
        redact_text(f"{type(error).__name__}: {error}"),
        "".join(traceback.format_exception(error)),
        name,
    )


_NOT_GIVEN = {
    Need.HARDWARE: "the config has no hardware block",
    Need.TRAINED: "the trained boundaries are not given",
    Need.RUNNING: "the running server did not answer",
}

_DRAFT_NEEDS = {Need.DRAFT_CONFIG, Need.DRAFT_NAMES, Need.DRAFT_TENSORS, Need.CAPTURE, Need.TRAINED}


def _missing(rule: Rule, context: Context) -> NotChecked | NotApplicable | None:
    """Why the rule cannot run, if it cannot."""
    if rule.scope != "deployment" or not rule.needs:
        return None
    if not context.speculates and _DRAFT_NEEDS & set(rule.needs):
        return NotApplicable()
    if context.running is None and Need.RUNNING in rule.needs:
        return NotApplicable()  # nobody asked a server
    if context.values is None and Need.WEIGHTS in rule.needs:
        return NotApplicable()  # nobody wants them read, or no draft is loaded
    if Need.CAPTURE in rule.needs and _captures_none(context):
        return NotApplicable()
    have = dict(_facts(context))
    lacking = [need for need in rule.needs if not have[need]]
    if not lacking:
        return None
    return NotChecked(f"needs {' and '.join(lacking)}", lack=" and ".join(_lack(context, lacking)))


def _captures_none(context: Context) -> bool:
    """Whether the algorithm that runs is one for which no boundaries of an EAGLE-3 draft are captured."""
    runs = context.resolution.runs("speculative_algorithm") if context.resolution is not None else None
    return isinstance(runs, str) and runs not in ("EAGLE", "EAGLE3")


def _lack(context: Context, lacking: Sequence[Need]) -> list[str]:
    """What the deployment does not have, where that is not for something that could not be read."""
    if context.engine is None and {Need.ENGINE, Need.CAPTURE} & set(lacking):
        return ["the engine version is not known"]
    said = [_NOT_GIVEN[need] for need in lacking if need in _NOT_GIVEN]
    return said if len(said) == len(lacking) else []


def _facts(context: Context) -> Iterator[tuple[Need, bool]]:
    target, draft = context.target, context.draft
    yield Need.ENGINE, context.engine is not None
    yield Need.TARGET_CONFIG, target is not None and target.config is not None
    yield Need.TARGET_NAMES, target is not None and target.names is not None
    yield Need.DRAFT_CONFIG, draft is not None and draft.config is not None
    yield Need.DRAFT_NAMES, draft is not None and draft.names is not None
    yield Need.DRAFT_TENSORS, draft is not None and bool(draft.tensors)
    yield Need.CAPTURE, context.boundaries is not None
    yield Need.TRAINED, context.trained is not None
    yield Need.HARDWARE, context.model.hardware is not None
    yield Need.WEIGHTS, context.values is not None
    yield Need.RUNNING, context.running is not None and not context.running.problem
