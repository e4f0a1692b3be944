"""From the options of ``bench-allreduce`` to its plan."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from eaglecfg.cli.output import DEFAULT_FILES, hub_settings, read_files, refuse_empty
from eaglecfg.errors import UsageError
from eaglecfg.machine.environment import in_force, read_conf_files
from eaglecfg.machine.places import Places
from eaglecfg.nccl.bench.plan import BenchPlan
from eaglecfg.nccl.bench.setting import (
    Setting,
    arrange,
    bears,
    list_names,
    parse_setting,
    ready_list,
    remarks_on,
    reserved,
)
from eaglecfg.nccl.bench.size import Size, fitting, parse_counts, parse_sizes, read_dtype, shape_sizes
from eaglecfg.record import record
from eaglecfg.source.secrets import redact_environment
from eaglecfg.tune.collective_subject import (
    deployment_shape,
    gpus_seen,
    interpreter,
    rank_count,
    study_settings,
)

if TYPE_CHECKING:
    from eaglecfg.rules.context import Context
    from eaglecfg.source.document import Document

BATCHES = (1, 8)


@record
class Wanted:
    """The options as given."""

    config: str | None
    deployment: str | None
    batch: tuple[str, ...]
    sizes: tuple[str, ...]
    setting: tuple[str, ...]
    lists: tuple[str, ...]
    processes: int
    ranks: int | None
    dtype: str | None
    backend: str
    python: str | None
    no_graph: bool
    calls: int
    replays: int
    time_limit: float
    anyway: bool


def make_plan(wanted: Wanted, environment: Mapping[str, str], note: Callable[[str], None]) -> BenchPlan:
    """The plan that the options ask for. Raises UsageError; what is worth a warning is told to ``note``."""
    refuse_empty("--python", wanted.python)
    settings, context = _settings(wanted)
    sizes, dtype, context = _sizes(wanted, context, note)
    fitting(sizes, dtype)
    inherited = inherited_variables(environment)
    found = interpreter(wanted.python or sys.executable, environment)
    if wanted.backend == "nccl":
        _judge(settings, found.nccl, found.told, inherited, wanted.anyway, note)
    elif any(name.startswith("NCCL_") for setting in settings for name in setting.variables):
        note("note: gloo does not look at NCCL's variables; a difference would be chance")
    for setting in settings:
        kept = reserved(setting)
        if kept:
            raise UsageError(f"--setting {setting.name}: {kept} is set by the benchmark itself")
    return BenchPlan(
        settings,
        sizes,
        dtype,
        "gloo" if wanted.backend == "gloo" else "nccl",
        wanted.backend == "nccl" and not wanted.no_graph,
        _ranks(wanted, context, environment),
        wanted.processes,
        found.python,
        inherited,
        calls=wanted.calls,
        replays=wanted.replays,
        limit_s=wanted.time_limit,
    )


def inherited_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """What every launch gets without any setting: the environment, and below it the nccl.conf files."""
    places = Places(home=_home())
    held = {**in_force(environment, read_conf_files(environment, places)), **environment}
    return redact_environment({name: text for name, text in held.items() if bears(name)})


def _home() -> Path | None:
    """The user's home as NCCL finds it: by the list of users, not by HOME."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


def _settings(wanted: Wanted) -> tuple[tuple[Setting, ...], Context | None]:
    """The settings to compare, and the deployment of a study that was named for them."""
    context: Context | None = None
    found: list[Setting] = []
    lists = wanted.lists
    if not lists and not wanted.setting:
        lists = ("common",) if wanted.backend == "nccl" else ()
    for name in lists:
        ready = ready_list(name)
        if ready is None:
            ready, context = _of_study(name)
        found += ready
    found += [parse_setting(text) for text in wanted.setting]
    return arrange(found), context


def _of_study(name: str) -> tuple[tuple[Setting, ...], Context]:
    from eaglecfg.schema.load_study import load_study
    from eaglecfg.source.read import read_document

    if not Path(name).is_file():
        known = ", ".join(list_names())
        raise UsageError(f"--settings {name}: expected {known}, or a study file; there is no such file")
    document = read_document(Path(name), shown=name)
    study = load_study(document).model
    if study is None:
        raise UsageError(
            f"--settings {name}: this is no study file; eaglecfg validate {name} says what it lacks"
        )
    config = read_document(
        Path(document.folder) / study.config, shown=os.path.normpath(Path(name).parent / study.config)
    )
    context = _deployment_of(config, study.deployment)
    return study_settings(document, study.space, context.model), context


def _sizes(
    wanted: Wanted, context: Context | None, note: Callable[[str], None]
) -> tuple[tuple[Size, ...], str, Context | None]:
    """Sizes, dtype and the deployment that they are of, if any."""
    asked = read_dtype(wanted.dtype) if wanted.dtype is not None else None
    given = parse_sizes(wanted.sizes)
    if wanted.config or (context is None and (wanted.deployment or wanted.batch or not given)):
        context = _context(wanted)
    elif wanted.deployment and context is not None and wanted.deployment != _name(context):
        raise UsageError(
            f"--deployment {wanted.deployment}: the study of --settings is of {_name(context)}; "
            f"leave one out, or give --config FILE"
        )
    if context is None:
        return given, asked or "bfloat16", None
    if given and not wanted.batch:
        of = _name(context)
        note(f"note: sizes are those of --bytes alone; ranks and dtype are of {of}, as far as not given")
        return given, asked or deployment_shape(context).dtype, context
    from eaglecfg.record import replace

    shape = deployment_shape(context)
    shape = replace(shape, dtype=asked) if asked else shape
    own = shape_sizes(shape, _batches(wanted, context))
    known = {size.bytes for size in own}
    both = [*own, *(size for size in given if size.bytes not in known)]
    return tuple(sorted(both, key=lambda size: size.bytes)), shape.dtype, context


def _name(context: Context) -> str:
    return context.deployment.name if context.deployment is not None else ""


def _batches(wanted: Wanted, context: Context) -> tuple[int, ...]:
    if wanted.batch:
        return parse_counts(wanted.batch, "--batch")
    most = context.resolution.runs("max_running_requests") if context.resolution is not None else None
    return tuple(batch for batch in BATCHES if not isinstance(most, int) or batch <= most) or (1,)


def _context(wanted: Wanted) -> Context:
    if wanted.config is None and not any(Path(name).is_file() for name in DEFAULT_FILES):
        for option, given in (("--deployment", wanted.deployment), ("--batch", wanted.batch)):
            if given:
                raise UsageError(
                    f"{option} is about a deployment, and there is no {DEFAULT_FILES[0]} here to have one; "
                    f"give --config FILE, or leave {option} out"
                )
        raise UsageError(
            "what is to be measured? give --bytes 56KiB,1MiB, or --config FILE for a deployment's sizes"
        )
    return _deployment_of(read_files([wanted.config] if wanted.config else [])[0], wanted.deployment)


def _deployment_of(document: Document, name: str | None) -> Context:
    from eaglecfg.rules.context import Checkpoints, deployment_context
    from eaglecfg.schema.load import load_config

    config = load_config(document)
    names = [each.name for each in config.deployments]
    if not names:
        raise UsageError(f"{document.name} has no deployment; eaglecfg validate {document.name} says why")
    if name is None and len(names) > 1:
        raise UsageError(
            f"{document.name} has {', '.join(names)}: name one with --deployment, or give --bytes"
        )
    if name is not None and name not in names:
        raise UsageError(f"{document.name} has no deployment {name!r}; it has {', '.join(names)}")
    chosen = next(each for each in config.deployments if name in (None, each.name))
    return deployment_context(config, chosen, Checkpoints(hub=hub_settings()))


def _judge(
    settings: tuple[Setting, ...],
    version: str,
    told: str,
    inherited: Mapping[str, str],
    anyway: bool,
    note: Callable[[str], None],
) -> None:
    """Say before any launch what NCCL would not take as written."""
    remarks = [each for setting in settings for each in remarks_on(setting, version, inherited)]
    refused = [each for each in remarks if each.refused]
    for each in remarks:
        if not each.refused or anyway:
            note(
                f"warning: {each.setting}: {each.message}"
                if each.refused
                else f"note: {each.setting}: {each.message}"
            )
    if refused and not anyway:
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise UsageError(
            f"--setting {refused[0].setting}: {refused[0].message}{more}; NCCL {version} is {told}; "
            f"--anyway runs it nevertheless"
        )


def _ranks(wanted: Wanted, context: Context | None, environment: Mapping[str, str]) -> int:
    if wanted.ranks is not None:
        return wanted.ranks
    own = rank_count(context) if context is not None else None
    if own is not None:
        return own
    if wanted.backend == "gloo":
        return 2
    seen = gpus_seen(environment)
    if seen < 2:
        found = "none" if seen == 0 else "one"
        raise UsageError(
            f"an all-reduce needs two GPUs or more, this machine shows {found}; --backend gloo tries the "
            f"ranks on the CPU, --ranks says how many there are"
        )
    return seen
