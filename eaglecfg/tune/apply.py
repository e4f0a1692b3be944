"""The winner written into eaglecfg.yaml: edits of the text by span, so that comments and layout stay."""

from __future__ import annotations

import difflib
import json
import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.rules.study.parts import SECTIONS
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment
from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath, Position, show_path
from eaglecfg.tune.arm import OFF, arm_key, spelled, tree

NO_NEWLINE = "\n\\ No newline at end of file\n"
EXPECTED = "expected_accept_length"
PLAIN = re.compile(r"[A-Za-z0-9_./+-]+")
NOT_TEXT = re.compile(r"(true|false|null|~|[-+.]?[0-9].*|[-+]?\.(inf|nan))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Patch:
    """The new text of a config file, and the change as a unified diff."""

    text: str
    diff: str


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


def make_patch(
    config: LoadedConfig,
    deployment: LoadedDeployment,
    wanted: Deployment,
    accept_length: float | None = None,
) -> Patch:
    """Edit ``deployment`` in its file so that it launches ``wanted``.

    ``accept_length`` is what ``wanted`` reached when it was measured; it becomes expected_accept_length,
    which ``validate --live`` compares a running server with. Where ``wanted`` does not speculate, it goes.

    Raises UsageError where an edit would change something else too (a shared anchor), or where it cannot be
    made for this deployment alone (a key of ``defaults`` to be unset).
    """
    editor = _Editor(config.document, deployment.name)
    before, after = tree(deployment.model), tree(wanted)
    for section in SECTIONS:
        old, new = before.get(section), after.get(section)
        if old == new or (section == "draft" and after.get("speculative") == OFF):
            continue
        if isinstance(new, dict):
            _edit_block(editor, section, old if isinstance(old, dict) else None, new)
        elif new is None:
            editor.remove((section,))
        else:
            editor.set((section,), new)
    _expect(editor, deployment.model.expected_accept_length, after, accept_length)
    text = editor.result()
    _check(config.document, deployment.name, text, wanted)
    name = patch_name(config.document.name)
    lines = difflib.unified_diff(
        config.document.text.splitlines(keepends=True),
        text.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return Patch(text, "".join(line if line.endswith("\n") else line + NO_NEWLINE for line in lines))


def patch_name(name: str) -> str:
    """A file name as a patch can carry it: relative, from the current folder or the file's own."""
    here, path = Path.cwd(), Path(name)
    full = Path(os.path.normpath(here / path))
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else path.name


def _edit_block(editor: _Editor, section: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
    if old is None:
        editor.set((section,), new)
        return
    for name in sorted({*old, *new}):
        if name not in new:
            editor.remove((section, name))
        elif old.get(name) != new[name]:
            editor.set((section, name), new[name])


def _expect(editor: _Editor, old: float | None, after: Mapping[str, Any], measured: float | None) -> None:
    """Write down the accept length that was measured, and take out one that means nothing any more."""
    path: KeyPath = (EXPECTED,)
    if after.get("speculative") == OFF:
        if editor.find(path) is not None:
            editor.remove(path)
    elif measured is not None and round(measured, 2) != old:
        editor.set(path, round(measured, 2))


def _check(document: Document, name: str, text: str, wanted: Deployment) -> None:
    """Read the edited text back: what it launches has to be what was measured."""
    found = load_config(parse_document(text, document.name, document.folder))
    same = [
        item for item in found.deployments if item.name == name and arm_key(item.model) == arm_key(wanted)
    ]
    if not same:
        raise UsageError(
            f"{document.name}: deployment {name} is written in a way that cannot be edited by machine; "
            f"copy the values from the result."
        )


class _Editor:
    """Collects edits of one deployment's text."""

    def __init__(self, document: Document, name: str) -> None:
        self.document = document
        self.root: KeyPath = ("deployments", name)
        self.edits: list[_Edit] = []
        self.missing: dict[KeyPath, dict[str, Any]] = {}
        starts = [0]
        for line in document.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        self.starts = starts

    def offset(self, position: Position) -> int:
        return self.starts[position.line - 1] + position.column - 1

    def line_end(self, offset: int) -> int:
        """Where the line around ``offset`` ends, its newline not included."""
        found = self.document.text.find("\n", offset)
        return len(self.document.text) if found < 0 else found

    def find(self, path: KeyPath) -> KeyPath | None:
        """The document path of a key of the deployment, in the file's own spelling; None where it is
        absent."""
        at: KeyPath = self.root
        for depth, part in enumerate(path):
            value = self.value(at)
            if not isinstance(value, dict):
                return None
            wanted = spelled(".".join(map(str, path[: depth + 1])))[-1] if depth else part
            same = [key for key in value if (spelled(f"{path[0]}.{key}")[-1] if depth else key) == wanted]
            if not same:
                return None
            at = (*at, same[0])
        return at

    def value(self, path: KeyPath) -> Any:
        found = self.document.data
        for part in path:
            found = found[part]
        return found

    def refuse_shared(self, path: KeyPath) -> None:
        place = self.document.place(path)
        if place.shared:
            start = place.value.start
            where = f"{self.document.name}:{start.line}:{start.column}"
            raise UsageError(
                f"{where}: {show_path(path)} is shared through an anchor: "
                f"an edit would change its other users too; write the value out first."
            )

    def set(self, path: KeyPath, value: Any) -> None:
        """Give ``path`` a value: in place, or in the nearest block that stands in the file."""
        found = self.find(path)
        text = yaml_text(value, path)
        if found is None:
            parent = self.find(path[:-1]) if len(path) > 1 else self.root
            if parent is None or not isinstance(self.value(parent), dict) or not self.value(parent):
                self.missing.setdefault(path[:-1], {})[str(path[-1])] = value
            else:
                self.insert(parent, f"{path[-1]}: {text}")
            return
        self.refuse_shared(found)
        place = self.document.places[found]
        begin, end = self.offset(place.value.start), self.offset(place.value.end)
        if place.key is not None and place.value.start.line != place.key.end.line:
            begin, text = self.offset(place.key.end), f": {text}"
        self.edits.append(_Edit(begin, end, text))

    def insert(self, parent: KeyPath, entry: str) -> None:
        """Add ``key: value`` as the last entry of a mapping, in its own style."""
        self.refuse_shared(parent)
        place = self.document.places[parent]
        end = self.offset(place.value.end)
        if self.document.text[self.offset(place.value.start)] == "{":
            last = self.document.places[(*parent, list(self.value(parent))[-1])]
            at = self.offset(last.value.end)
            self.edits.append(_Edit(at, at, f", {entry}"))
            return
        first = self.document.places[(*parent, next(iter(self.value(parent))))].key
        indent = " " * ((first.start.column if first is not None else 1) - 1)
        at = self.line_end(end)
        self.edits.append(_Edit(at, at, f"\n{indent}{entry}"))

    def remove(self, path: KeyPath) -> None:
        """Take a key out, and its block with it when nothing else is in there."""
        found = self.find(path)
        if found is None:
            raise UsageError(
                f"{self.document.name}: {'.'.join(map(str, path))} comes from defaults and cannot be unset "
                f"for {self.root[-1]} alone; move it into the deployments that want it."
            )
        siblings = list(self.value(found[:-1]))
        if len(siblings) == 1 and len(found) > 3:
            self.remove(path[:-1])
            return
        self.refuse_shared(found)
        place = self.document.places[found]
        assert place.key is not None
        begin, end = self.offset(place.key.start), self.offset(place.value.end)
        if self.document.text[self.offset(self.document.places[found[:-1]].value.start)] == "{":
            index = siblings.index(found[-1])
            if index:
                before = self.document.places[(*found[:-1], siblings[index - 1])]
                begin = self.offset(before.value.end)
            else:
                after = self.document.places[(*found[:-1], siblings[1])].key
                end = self.offset(after.start) if after is not None else end
        else:
            begin = self.starts[place.key.start.line - 1]
            end = min(self.line_end(end) + 1, len(self.document.text))
        self.edits.append(_Edit(begin, end, ""))

    def result(self) -> str:
        """The text with all edits made, last one first."""
        for path, values in self.missing.items():
            found = self.find(path)
            if found is not None:
                place = self.document.places[found]
                assert place.key is not None
                begin, end = self.offset(place.key.end), self.offset(place.value.end)
                self.refuse_shared(found)
                self.edits.append(_Edit(begin, max(begin + 1, end), f": {yaml_text(values, path)}"))
            else:
                self.insert(self.root, f"{path[-1]}: {yaml_text(values, path)}")
        text = self.document.text
        order = sorted(enumerate(self.edits), key=lambda item: (item[1].start, item[0]), reverse=True)
        for _, edit in order:
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text


def yaml_text(value: Any, path: KeyPath) -> str:
    """A value as it is written in a flow context."""
    if isinstance(value, Mapping):
        inner = (f"{name}: {yaml_text(item, (*path, name))}" for name, item in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, str):
        text_like = path[:1] in (("nccl",), ("env",))
        if PLAIN.fullmatch(value) and (text_like or not NOT_TEXT.fullmatch(value)):
            return value
    return json.dumps(value, ensure_ascii=False)
