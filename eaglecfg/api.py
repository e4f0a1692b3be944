"""What other programs call: ``eaglecfg.load``, ``validate``, ``trace``, ``resolve``; docs/python-api.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from eaglecfg import __version__
from eaglecfg.engines.datapath import Hop
from eaglecfg.engines.resolve import Resolution, Setting
from eaglecfg.errors import ConfigUnreadable, EaglecfgError, UsageError
from eaglecfg.record import record
from eaglecfg.rules import outcome
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.model import Severity
from eaglecfg.rules.runner import validate as _validate
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of
from eaglecfg.schema.loaded import LoadedConfig
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document
from eaglecfg.source.span import show_path

__all__ = [
    "Config",
    "ConfigUnreadable",
    "EaglecfgError",
    "Finding",
    "Hop",
    "NotChecked",
    "Report",
    "Resolution",
    "Setting",
    "Trace",
    "UsageError",
    "load",
    "resolve",
    "trace",
    "validate",
]

Level = Literal["error", "warning", "info"]
PathType = str | PathLike[str]


class _Deployments(Mapping[str, Deployment]):
    """Deployments by name; nothing can be put in. (A mapping proxy could not be pickled.)"""

    __slots__ = ("_held",)

    def __init__(self, held: dict[str, Deployment]) -> None:
        self._held = held

    def __getitem__(self, name: str) -> Deployment:
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return repr(self._held)


@record
class Config:
    """A config file as read. Checkpoints that it names are read when they are first asked about, and kept.

    ``engine`` is a label (``sglang 0.5.14``), None where the file names none properly. ``deployments`` hold
    what the schema accepted, ``defaults:`` merged in; what it refused is a finding of ``validate``.
    """

    path: str
    engine: str | None
    deployments: Mapping[str, Deployment]
    _loaded: LoadedConfig
    _checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def __repr__(self) -> str:
        return f"Config({self.path!r}, {self.engine!r}, deployments={list(self.deployments)})"

    def _context(self, name: str | None) -> Context:
        """What is known of one deployment. Raises UsageError."""
        known = ", ".join(self.deployments) or "none"
        if name is None and len(self.deployments) != 1:
            raise UsageError(f"{self.path} has {len(self.deployments)} deployments ({known}); name one")
        for each in self._loaded.deployments:
            if name in (None, each.name):
                return deployment_context(self._loaded, each, self._checkpoints)
        raise UsageError(f"{self.path} has no deployment {name!r}; it has {known}")


@record
class Finding:
    """One fault, in one sentence. ``line`` and ``column`` count from 1, in ``file``.

    ``path`` is the setting (``deployments.chat.parallel.tp_size``), ``deployment`` None for a whole file,
    ``engine_today`` what the engine does about it (``silent``, ``crash at start``, ...), ``values`` what took
    part.
    """

    rule: str
    slug: str
    severity: Level
    message: str
    file: str
    line: int
    column: int
    path: str
    deployment: str | None
    engine_today: str
    help: str
    values: Mapping[str, Any]


@record
class NotChecked:
    """A rule that could not decide. ``incomplete``: something that the config names could not be read."""

    rule: str
    slug: str
    deployment: str | None
    reason: str
    incomplete: bool


@record
class Report:
    """What the rules came to. ``passed`` counts checks; what could not be decided is never among them."""

    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    passed: int
    _report: outcome.Report

    def __repr__(self) -> str:
        found = ", ".join(f"{each.severity} {each.rule}" for each in self.findings) or "no findings"
        return f"Report({found}; {self.passed} passed, {len(self.not_checked)} not checked)"

    @property
    def ok(self) -> bool:
        """Whether there is no error and nothing was left unread: what exit code 0 says."""
        return self.exit_code() == 0

    def exit_code(self, fail_on: Level = "error") -> int:
        """That of ``eaglecfg validate``: 0 good, 1 findings, 2 unreadable, 3 incomplete, 4 a rule crashed."""
        return self._report.exit_code(_severity(fail_on))

    def as_dict(self, fail_on: Level = "error") -> dict[str, Any]:
        """The report as ``--format json`` has it, schemas/report.schema.json."""
        from eaglecfg.report.machine import as_data

        return as_data(self._report, _severity(fail_on), version=__version__)


@record
class Trace:
    """The path of the hidden states through one deployment.

    ``captured`` are the boundaries that the engine captures, ``trained`` those that the draft was trained on,
    None where they are not known. ``hops`` are empty where nothing can be traced, and ``reason`` says why.
    """

    deployment: str
    engine: str | None
    captured: tuple[int, ...] | None
    trained: tuple[int, ...] | None
    hops: tuple[Hop, ...]
    reason: str


def load(path: PathType, *, environment: Mapping[str, str] | None = None, online: bool = False) -> Config:
    """Read an eaglecfg.yaml.

    ``environment`` (mostly ``os.environ``) says where hub ids are looked for in the local cache; without it
    they are not read. ``online`` fetches their config files and tensor headers. Raises ConfigUnreadable for
    a file that cannot be read, UsageError for one that is no config; what is wrong in it raises nothing.
    """
    document = _read(path)
    if kind_of(document) == "study":
        raise UsageError(f"{path} is a study file; load the config that it names, or validate it")
    loaded = load_config(document)
    engine = loaded.engine
    return Config(
        str(path),
        None if engine is None else f"{engine.name} {engine.version}",
        _Deployments({each.name: each.model for each in loaded.deployments}),
        loaded,
        _checkpoints(environment, online=online),
    )


def validate(
    files: Config | PathType | Iterable[PathType],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    deployments: Iterable[str] = (),
    deep: bool = False,
    environment: Mapping[str, str] | None = None,
    online: bool = False,
    weights: bool = False,
) -> Report:
    """Check config and study files, or a config that is loaded already (as it was read then).

    ``select`` and ``ignore`` take rule ids, slugs or beginnings of ids; ``deployments`` keeps those of these
    names; ``deep`` opens every shard. ``environment`` and ``online`` are those of ``load``. ``weights`` reads
    the values of the drafts' weights, a few GB a second. Raises ConfigUnreadable and UsageError.
    """
    weigh = None
    if weights:
        from eaglecfg.rules.weights.reading import weigher

        weigh = weigher()
    documents, checkpoints = _documents(files, _checkpoints(environment, online=online, deep=deep))
    report = _validate(
        documents,
        select=_names(select),
        ignore=_names(ignore),
        deployments=_names(deployments),
        deep=deep,
        checkpoints=checkpoints,
        weigh=weigh,
    )
    return Report(
        tuple(_finding(each) for each in report.findings),
        tuple(
            NotChecked(each.rule.id, each.rule.slug, each.deployment, each.reason, each.incomplete)
            for each in report.not_checked
        ),
        report.passed,
        report,
    )


def trace(config: Config | PathType, deployment: str | None = None) -> Trace:
    """The path of the hidden states through a deployment; its name may be left out where there is one only.

    Raises ConfigUnreadable and UsageError.
    """
    from eaglecfg.report.trace import hops_of, missing

    loaded = config if isinstance(config, Config) else load(config)
    context = loaded._context(deployment)
    hops, found = hops_of(context), context.boundaries
    assert context.deployment is not None
    return Trace(
        context.deployment.name,
        loaded.engine,
        None if found is None or found.outcome != "captured" else found.captured,
        context.trained,
        hops,
        "" if hops else missing(context),
    )


def resolve(config: Config | PathType, deployment: str | None = None) -> Resolution:
    """What the engine really runs for a deployment, setting by setting.

    ``resolve(...).settings`` holds all that are given or worked out, ``.get(name)`` any flag, spelled as a
    keyword or as an option; of one that this version does not have the origin is ``unknown``. Raises
    ConfigUnreadable and UsageError, the latter also where the config names no engine that is known.
    """
    loaded = config if isinstance(config, Config) else load(config)
    resolution = loaded._context(deployment).resolution
    if resolution is None:
        raise UsageError(
            f"{loaded.path} names no engine whose facts are known, got {loaded.engine or 'none'}"
        )
    return resolution


def _documents(
    files: Config | PathType | Iterable[PathType], checkpoints: Checkpoints
) -> tuple[list[Document], Checkpoints]:
    if isinstance(files, Config):
        same = checkpoints.hub is None and not checkpoints.deep
        return [files._loaded.document], files._checkpoints if same else checkpoints
    paths: list[Any] = [files]
    if isinstance(files, Iterable) and not isinstance(files, str | bytes | PathLike):
        paths = list(files)
    if not paths:
        raise UsageError("no file to check was named")
    return [_read(path) for path in paths], checkpoints


def _read(path: PathType) -> Document:
    """The document at ``path``. Raises UsageError for what is no path, ConfigUnreadable."""
    try:
        file = Path(path)
    except TypeError:
        what = type(path).__name__
        raise UsageError(f"a path is expected, as text or a pathlib.Path, got {what}: {path!r:.60}") from None
    return read_document(file, shown=str(path))


def _checkpoints(environment: Mapping[str, str] | None, *, online: bool, deep: bool = False) -> Checkpoints:
    if environment is None:
        if online:
            raise UsageError("online needs the environment that says which hub, mostly os.environ")
        return Checkpoints(deep)
    from eaglecfg.checkpoint.hubid import hub_access

    return Checkpoints(deep, lambda: hub_access(environment, online=online))


def _finding(found: outcome.Reported) -> Finding:
    finding = found.finding
    return Finding(
        found.rule.id,
        found.rule.slug,
        found.severity.value,
        finding.message,
        found.document.name,
        found.span.start.line,
        found.span.start.column,
        show_path(finding.path),
        found.deployment,
        (finding.today or found.rule.today).value,
        finding.help,
        dict(finding.values),
    )


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """Names of an argument that takes several; one alone is one, not its letters. Raises UsageError."""
    names: tuple[Any, ...] = (
        tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    )
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"a name is expected, as text, got {type(name).__name__}: {name!r:.60}")
    return names


def _severity(name: str) -> Severity:
    try:
        return Severity(name)
    except ValueError:
        raise UsageError(f"fail_on takes error, warning or info, got {name!r}") from None
