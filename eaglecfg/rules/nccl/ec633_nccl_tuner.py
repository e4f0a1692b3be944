"""A tuner's table without a tuner, or one that it cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

TABLE, PLUGIN = "NCCL_TUNER_CONFIG_FILE", "NCCL_TUNER_PLUGIN"
WORDS = (
    (0, "collective", ("broadcast", "reduce", "allgather", "reducescatter", "allreduce"), "allreduce"),
    (3, "algorithm", ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"), "ring"),
    (4, "protocol", ("ll", "ll128", "simple"), "simple"),
)
"""Column, what it holds, the words of the example plug-in, and what it takes for any other."""


def check(ctx: Context) -> Iterator[Item]:
    """The table is read by the example plug-in alone, and lists filter what a tuner may choose."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    plugin = view.text(PLUGIN)
    if TABLE in view and plugin.lower() in ("", "none"):
        yield view.finding(
            TABLE,
            f"{TABLE} is read by the example tuner plug-in only, and {PLUGIN} names none",
            why="NCCL itself does not know the variable",
            help=f"set {PLUGIN} to the plug-in, or remove {TABLE}",
            # Where none is named, NCCL still loads a plug-in of the usual name that it finds.
            fix=without_variable(view, TABLE, safe=plugin.lower() == "none"),
            values={PLUGIN: plugin},
        )
    elif TABLE in view:
        yield from _table(view, Path(ctx.config.document.folder) / view.text(TABLE))
    lists = [name for name in ("NCCL_ALGO", "NCCL_PROTO") if view.text(name)]
    if lists and plugin.lower() not in ("", "none"):
        yield view.finding(
            PLUGIN,
            f"{view.spelled(lists[0])} filters before the tuner of {PLUGIN}: it cannot choose what the list "
            "leaves out",
            severity=Severity.WARNING,
            today=Today.IGNORED,
            why="pairs that are left out are marked as not to be used in the table that the plug-in gets",
            help="leave the lists out where a tuner decides",
            related=tuple((view.path(name), "the list") for name in lists),
        )


def _table(view: Settings, path: Path) -> Iterator[Item]:
    """Rows of the table: collective, least and greatest bytes, algorithm, protocol, channels, nodes, ranks,
    ..."""
    if not path.is_file():
        message = f"{view.spelled(TABLE)} does not exist here; the plug-in then changes nothing"
        yield view.finding(
            TABLE, message, why=f"looked for as {path}", help="give the path as the server sees it"
        )
        return
    lines = path.read_bytes()[:262144].decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(",")]
        fault = _fault(fields)
        if fault:
            yield view.finding(
                TABLE,
                f"line {number} of {view.text(TABLE)} {fault}",
                why="names are lower case, and the plug-in puts a default for what it does not know",
                help="collective,least,greatest,algorithm,protocol,channels,nodes,ranks",
                evidence=(Evidence(view.text(TABLE), f"line {number}", line.strip()[:80], line=number),),
            )


def _fault(fields: list[str]) -> str:
    if not 8 <= len(fields) <= 10:
        return f"has {len(fields)} fields, not 8 to 10; the plug-in skips it"
    for column, what, words, instead in WORDS:
        if fields[column] not in words:
            return f"has {fields[column]} for the {what}; the plug-in takes it as {instead}"
    return ""


RULE = Rule(
    id="EC633",
    slug="nccl-tuner",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    research=(
        "nccl/F006",
        "nccl/F007",
        "nccl/A015",
    ),
)
