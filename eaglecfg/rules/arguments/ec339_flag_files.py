"""Files that server flags name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today

PATHS = ("chat_template", "tokenizer_path")
"""Flags that take a path or a name: what does not look like a path here is taken for a name."""


TEMPLATES = (".jinja", ".json")


def check(ctx: Context) -> Iterator[Item]:
    """A file that is there is fine. One that is not may be on the machine that serves: nobody can tell."""
    assert ctx.arguments is not None
    named = [ctx.arguments[name] for name in PATHS if name in ctx.arguments]
    named = [each for each in named if isinstance(each.value, str) and _is_path(each.name, each.value)]
    if not named:
        yield NotApplicable()
    for each in named:
        path = Path(ctx.config.document.folder) / each.value
        if not _there(path):
            where = (
                "is not on this machine"
                if Path(each.value).is_absolute()
                else f"is not beside {ctx.config.document.name}, and the engine looks where it is started"
            )
            yield NotChecked(f"{each.name} {each.value} {where}")
        elif each.name == "chat_template" and path.suffix not in TEMPLATES:
            yield Finding(
                f"chat_template must be a .jinja or .json file, but is {each.value}",
                path=ctx.where(*each.path),
                why="SGLang tells the two apart by the name and stops with an assertion at any other",
                help="rename the file",
                values={each.name: each.value},
            )


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _is_path(name: str, value: str) -> bool:
    if value.startswith(("/", "./", "../")):
        return True
    return name == "chat_template" and value.endswith(TEMPLATES)


RULE = Rule(
    id="EC339",
    slug="flag-files",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
)
