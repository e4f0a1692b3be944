"""Imported deployments as the text of an eaglecfg.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eaglecfg.record import record
from eaglecfg.review.imports.deployment import Entry, Imported
from eaglecfg.review.yaml_text import flow, quoted, scalar
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import parse_document

SCHEMA = "schemas/eaglecfg.schema.json"
BLOCKS = ("target", "draft", "parallel", "speculative", "server", "hardware", "nccl", "env")
_VERSION = re.compile(r"\d+\.\d+\.\d+[A-Za-z0-9.+_-]*")


@record
class EngineVersion:
    """The version that the file will name, and where it comes from."""

    version: str
    remark: str = ""


def modeline(schema: str | None) -> list[str]:
    """The line that tells an editor which schema the file follows.

    The schema has no address of its own, so that the default is where ``eaglecfg schema --write schemas``
    puts it beside the file; without it the file means the same.
    """
    if schema is not None:
        return [f"# yaml-language-server: $schema={_one_line(schema)}"]
    return [
        f"# yaml-language-server: $schema={SCHEMA}",
        "# (for editors; `eaglecfg schema --write schemas` in this folder puts it there)",
    ]


def write(
    deployments: Sequence[Imported], engine: EngineVersion, source: str, schema: str | None = None
) -> str:
    """The whole file. ``source`` is what it was imported from."""
    version = engine.version if _VERSION.fullmatch(engine.version) else quoted(engine.version)
    lines = [
        *modeline(schema),
        f"# Imported by eaglecfg from {_one_line(source)}.",
        "version: 1",
        "engine:",
        "  name: sglang",
        f"  version: {version}" + _comment(engine.remark),
        "deployments:",
    ]
    for each in deployments:
        lines += (
            ["", f"  {scalar(each.name)}:"] if lines[-1] != "deployments:" else [f"  {scalar(each.name)}:"]
        )
        lines += _blocks(each)
    return "\n".join(lines) + "\n"


def problems(text: str) -> list[str]:
    """What the schema has against the text: nothing, unless the import went wrong."""
    document = parse_document(text, "the imported file", ".")
    loaded = load_config(document)
    return [one.message for one in document.problems] + [one.message for one in loaded.problems]


def _blocks(one: Imported) -> Iterator[str]:
    todos = one.todos
    yield from (f"    # TODO: {_one_line(text)}" for where, text in todos if where == "deployment")
    for block in BLOCKS:
        inside = [entry for entry in one.entries if entry.path[0] == block]
        open_here = [f"      # TODO: {_one_line(text)}" for where, text in todos if where == block]
        if not inside:
            if open_here:
                yield f"    # {block}:"
                yield from open_here
            continue
        if all(entry.open for entry in inside):
            yield f"    # {block}:"
        else:
            yield f"    {block}:"
        for entry in inside:
            line = f"{scalar(str(entry.path[1]))}: {_value(entry)}{_comment(entry.remark)}"
            yield f"      # {line}" if entry.open else f"      {line}"
        yield from open_here


def _value(entry: Entry) -> str:
    if entry.path[0] in ("env", "nccl") and isinstance(entry.value, str):
        return scalar(entry.value)
    return flow(entry.value) if not isinstance(entry.value, str) else scalar(entry.value)


def _comment(remark: str) -> str:
    return f"  # {_one_line(remark)}" if remark else ""


def _one_line(text: str) -> str:
    """``text`` for a comment, which nothing in it may end."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= 200 else f"{shown[:200]}..."
