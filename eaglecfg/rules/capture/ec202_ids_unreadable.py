"""Capture ids that the engine cannot read are replaced by its default without a word."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.locate import locate
from eaglecfg.rules.capture.ids import (
    BLOCK,
    KEY,
    Listed,
    draft_config,
    ids_path,
    in_block,
    key_line,
    spelled,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import shown
from eaglecfg.rules.model import Evidence, Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """``eagle_config`` must be an object, and its list of ids a list of whole numbers."""
    draft = draft_config(context)
    block = draft.raw.get(BLOCK)
    if block is not None and not isinstance(block, dict):
        place = locate(draft, BLOCK) or (None, None)
        line = Evidence(draft.file, BLOCK, shown(block), "not an object", *place)
        yield _finding(context, f"{BLOCK} must be an object, but it is {_kind(block)}", line)
        return
    listed = in_block(draft)
    if listed is not None and listed.ids is None and listed.value is not None:
        message = f"{listed.key} must be a list of whole numbers, but it is {_what(listed)}"
        yield _finding(context, message, key_line(draft, listed, "not a list of whole numbers"))


def _finding(context: Context, message: str, line: Evidence) -> Finding:
    found = context.boundaries
    default = f" and captures its default boundaries {spelled(found.captured)}" if found is not None else ""
    return Finding(
        f"{draft_config(context).file}: {message}",
        path=ids_path(context),
        why=f"{engine_label(context)} drops what it cannot read without a message{default}; draft classes "
        "that read the same block stop while loading",
        help=f'write "{BLOCK}": {{"{KEY}": [...]}} as plain JSON in the draft\'s config.json',
        evidence=(line,),
        values={BLOCK: line.text},
    )


def _kind(value: object) -> str:
    names = {str: "text", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    text = names.get(type(value), "something else")
    return f"{text} that holds JSON" if isinstance(value, str) and value.lstrip().startswith("{") else text


def _what(listed: Listed) -> str:
    if not isinstance(listed.value, list):
        return f"{_kind(listed.value)} ({shown(listed.value)})"
    wrong = next(item for item in listed.value if isinstance(item, bool) or not isinstance(item, int))
    return f"a list that holds {shown(wrong)}"


RULE = Rule(
    id="EC202",
    slug="capture-ids-unreadable",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("IDS-04",),
)
