"""A timed study with debugging left on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.study.parts import block_entries, deployment_of, entries, split_key, study_model
from eaglecfg.source.span import KeyPath

ON = ("1", "true")
SLOW: Mapping[str, tuple[str, ...]] = {
    "CUDA_LAUNCH_BLOCKING": ON,
    "NCCL_CHECK_POINTERS": ON,
    "TORCH_NCCL_BLOCKING_WAIT": ON,
    "TORCH_NCCL_ENABLE_TIMING": ON,
    "TORCH_NCCL_NAN_CHECK": ON,
    "NCCL_DEBUG": ("info", "trace"),
}
"""Variables for finding faults -> the values with which they cost time, in lower case."""


def check(context: Context) -> Iterator[Item]:
    """What is measured should be the server that will serve."""
    study, deployment = study_model(context), deployment_of(context)
    if study is None:
        yield NotApplicable()
        return
    from eaglecfg.engines.command import environment, environment_name

    given: list[tuple[str, str, KeyPath]] = []
    if deployment is not None:
        own = environment(deployment.model).items()
        given += [(name, text, ("deployment",)) for name, text in own]
    given += [(name, text, ("launch", "env", name)) for name, text in study.launch.env.items()]
    for key, value in study.space.items():
        section, name = split_key(key)
        if section in ("nccl", "env") and name:
            full = environment_name(name) if section == "nccl" else name
            given += [(full, str(choice), path) for path, choice in entries(key, value)]
        elif section == "nccl":
            inside = block_entries(key, value)
            given += [
                (environment_name(split_key(one)[1]), str(choice), path) for one, path, choice in inside
            ]
    for name, text, path in given:
        if text.lower() not in SLOW.get(name, ()):
            continue
        where = " in the deployment" if path == ("deployment",) else ""
        yield Finding(
            f"{name}={text}{where} is for finding faults, and this study measures time",
            path=path,
            severity=Severity.WARNING if name == "NCCL_DEBUG" else None,
            why="every launch would be slowed down by something that the server will not carry later",
            help=f"leave {name} out of timed launches",
            fix=Fix(f"remove {name}", path, kind="remove", safe=False) if path[:1] == ("launch",) else None,
            values={name: text},
        )


RULE = Rule(
    id="EC639",
    slug="debug-in-study",
    severity=Severity.ERROR,
    today=Today.SLOWER,
    check=check,
    scope="study",
    research=("nccl/N012",),
)
