"""The winner written into eaglecfg.yaml: edits of the text by span, so that comments and layout stay."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eaglecfg.engines.blocks import BLOCKS, canonical, in_blocks
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.table import facts_of
from eaglecfg.errors import UsageError
from eaglecfg.rules.study.parts import SECTIONS
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment
from eaglecfg.source.document import Document
from eaglecfg.source.edit import PLAIN, Edit, Editor, EditRefused, apply_edits
from eaglecfg.source.patch import patch_names, patch_of
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath, show_path
from eaglecfg.tune.arm import OFF, arm_key, spelled, tree

EXPECTED = "expected_accept_length"
_DEFAULTS: KeyPath = ("defaults",)
NOT_TEXT = re.compile(r"(true|false|null|~|[-+.]?[0-9].*|[-+]?\.(inf|nan))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Patch:
    """The new text of a config file, and the change as a unified diff."""

    text: str
    diff: str


def make_patch(
    config: LoadedConfig,
    deployment: LoadedDeployment,
    wanted: Deployment,
    accept_length: float | None = None,
) -> Patch:
    """Edit ``deployment`` in its file so that it launches ``wanted``.

    ``accept_length`` is what ``wanted`` reached when it was measured; it becomes expected_accept_length,
    which ``validate --live`` compares a running server with. Where ``wanted`` does not speculate, it goes.

    What ``defaults`` gives and ``wanted`` does not have becomes null in the deployment. Raises UsageError
    where an edit would change something else too (a shared anchor).
    """
    facts = facts_of(config.engine)
    editor = _Deployment(config.document, deployment.name, facts)
    before, after = tree(in_blocks(deployment.model, facts).model), tree(wanted)
    for section in SECTIONS:
        old, new = before.get(section), after.get(section)
        if old == new or (section == "draft" and after.get("speculative") == OFF):
            continue
        if isinstance(new, dict):
            _edit_block(editor, section, old if isinstance(old, dict) else None, new)
        elif new is None:
            editor.clear(section, old if isinstance(old, dict) else {})
        else:
            editor.set((section,), new)
    _expect(editor, deployment.model.expected_accept_length, after, accept_length)
    text = editor.document.text
    _check(config.document, deployment.name, text, wanted, facts)
    named = patch_names([config.document.name])
    return Patch(text, patch_of(config.document.text, text, named.names[0], git=named.git))


def _edit_block(
    editor: _Deployment, section: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]
) -> None:
    if old is None:
        editor.set((section,), new)
        return
    for name in sorted({*old, *new}):
        if name not in new:
            editor.remove((section, name))
        elif old.get(name) != new[name]:
            editor.set((section, name), new[name])


def _expect(editor: _Deployment, old: float | None, after: Mapping[str, Any], measured: float | None) -> None:
    """Write down the accept length that was measured, and take out one that means nothing any more."""
    path: KeyPath = (EXPECTED,)
    if after.get("speculative") == OFF:
        if editor.find(path) is not None:
            editor.remove(path)
    elif measured is not None and round(measured, 2) != old:
        editor.set(path, round(measured, 2))


def _check(document: Document, name: str, text: str, wanted: Deployment, facts: EngineFacts | None) -> None:
    """Read the edited text back: what it launches has to be what was measured."""
    found = load_config(parse_document(text, document.name, document.folder))
    models = [in_blocks(item.model, facts).model for item in found.deployments if item.name == name]
    same = [model for model in models if arm_key(model) == arm_key(wanted)]
    if not same:
        raise UsageError(
            f"{document.name}: deployment {name} is written in a way that cannot be edited by machine; "
            f"copy the values from the result."
        )


class _Deployment:
    """One deployment's text, edited step by step: ``document`` is the file as it stands by now."""

    def __init__(self, document: Document, name: str, facts: EngineFacts | None) -> None:
        self.document, self._facts = document, facts
        self.root: KeyPath = ("deployments", name)

    def find(self, path: KeyPath) -> KeyPath | None:
        """The document path of a key of the deployment, in the file's own spelling; None where it is
        absent."""
        return self._below(self.root, path)

    def _below(self, root: KeyPath, path: KeyPath) -> KeyPath | None:
        return self._in_block(root, path) or self._under_server(root, path)

    def _under_server(self, root: KeyPath, path: KeyPath) -> KeyPath | None:
        """The place of a block's key whose flag stands under ``server``."""
        at, above = (*root, "server"), self.value(root)
        block = above.get("server") if isinstance(above, dict) else None
        for key in block if isinstance(block, dict) else ():
            if BLOCKS.get(canonical(str(key), self._facts)) == path:
                return (*at, key)
        return None

    def _in_block(self, root: KeyPath, path: KeyPath) -> KeyPath | None:
        at: KeyPath = root
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
            found = found.get(part) if part == "defaults" else found[part]
        return found

    def set(self, path: KeyPath, value: Any) -> None:
        """Give ``path`` a value: in place, or in the nearest block that stands in the file."""
        self._write(self.find(path), path, value)

    def _write(self, found: KeyPath | None, path: KeyPath, value: Any) -> None:
        text = yaml_text(value, path)
        if found is not None:
            self._make(found, found, lambda editor: editor.set(found, text, comments_go=True))
            return
        block = self.find(path[:-1]) or (*self.root, *path[:-1])
        self._make(block, (*block, path[-1]), lambda editor: editor.add((*block, path[-1]), text))

    def remove(self, path: KeyPath) -> None:
        """Take a key out, and its block with it when nothing else is in there.

        What ``defaults`` gives would come from there, so that null takes its place.
        """
        found, inherited = self.find(path), self._inherited(path)
        if inherited:
            own = self._in_block(self.root, inherited)
            self._write(own, inherited, None)
            found = found if found != own else None
        if found is not None:
            self._make(found, found, lambda editor: editor.remove(found, kept=len(self.root)))

    def clear(self, section: str, names: Iterable[str]) -> None:
        """Take a whole block out, with those of its keys ``names`` that stand as flags under ``server``."""
        self.remove((section,))
        for path in [(section, name) for name in names]:
            if any(self._under_server(root, path) for root in (self.root, _DEFAULTS)):
                self.remove(path)

    def _inherited(self, path: KeyPath) -> KeyPath:
        """Where inside a deployment ``defaults`` gives ``path``, in its own spelling; empty for nowhere."""
        found = self._below(_DEFAULTS, path)
        return () if found is None or self.value(found) is None else found[1:]

    def _make(self, near: KeyPath, path: KeyPath, find: Callable[[Editor], Edit]) -> None:
        """Make one edit, which ``find`` finds, and read the text again. ``near`` must not be shared."""
        place = self.document.place(near)
        start = place.value.start
        where = f"{self.document.name}:{start.line}:{start.column}"
        if place.shared:
            raise UsageError(
                f"{where}: {show_path(near)} is shared through an anchor: "
                f"an edit would change its other users too; write the value out first."
            )
        try:
            text = apply_edits(self.document.text, [find(Editor(self.document))])
        except EditRefused as refused:
            raise UsageError(
                f"{where}: {show_path(path)} cannot be edited by machine: {refused}; write it by hand."
            ) from None
        self.document = parse_document(text, self.document.name, self.document.folder)


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
