"""The config file that a study names must be there and readable."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import resolved, state_of, study_model
from eaglecfg.schema.loaded import LoadedConfig


def check(context: Context) -> Iterator[Item]:
    """Look at the file under ``config``, and whether anything in it was refused."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
    elif context.study_config is None:
        state = state_of(resolved(context, study.config))
        yield Finding(
            f"config names {study.config}, which {state}",
            path=("config",),
            why="without it there is no deployment to tune",
            help="write the path of the eaglecfg.yaml, relative to the study file",
            incomplete=True,
        )
    else:
        yield from _faults(study.config, context.study_config)


def _faults(name: str, config: LoadedConfig) -> Iterator[Item]:
    document = config.document
    faults = [(problem.message, problem.span) for problem in document.problems]
    faults += [(problem.message, document.place(problem.path).value) for problem in config.problems]
    if not faults:
        return
    message, span = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    yield Finding(
        f"{name} has faults of its own: {message}{more}",
        path=("config",),
        why="the study would tune something else than that file means",
        help=f"eaglecfg validate {name} lists them all",
        evidence=(Evidence(name, "", message, "", span.start.line, span.start.column),),
    )


RULE = Rule(
    id="EC701",
    slug="study-config",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
