"""Files beside the configs that decide what is served, and that are compared as a whole: by their hash."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.review.difference.effect import MODEL_FLAGS, Effect, Fact, Facts, Group
from eaglecfg.review.difference.not_in_git import pointed_at
from eaglecfg.review.difference.sides import Side
from eaglecfg.source.document import Document

LARGEST = 64 << 20
"""Bytes of a file that is compared."""

MOST = 200
"""Files of one checkpoint that are compared."""

COMPARED_OTHERWISE = frozenset(
    ("config.json", "eaglecfg-training.json", "model.safetensors.index.json", "pytorch_model.bin.index.json")
)
"""Files of a checkpoint whose content is compared key by key, or tensor by tensor."""

SERVED = (".json", ".jinja", ".model", ".tiktoken", ".txt", ".py")
"""Endings of what a server reads in a checkpoint beside weights: tokenizer, chat template, sampling defaults,
quantisation, code."""

OF_THE_TARGET = ("tokenizer", "generation_config", "chat_template", "special_tokens", "added_tokens", "vocab",
                 "merges", "preprocessor", "processor", "video_preprocessor", "tiktoken")  # fmt: skip
"""How files begin that are read of a target alone: its draft sees tokens."""


CONTENT = " (content of "
"""What stands between the name of a setting and that of the file of which a hash is compared."""


def is_served(name: str) -> bool:
    """Whether a server reads the file ``name`` of a checkpoint's folder, beside weights."""
    return name.endswith(SERVED) and not name.upper().startswith(("README", "LICENSE", "NOTICE"))


def content_facts(side: Side, document: Document, effect: Effect) -> Facts:
    """The hashes of files that the deployment of ``effect`` serves from: those of its checkpoints, and those
    that its settings and its environment name."""
    found: list[Fact] = []
    context = effect.context
    roles: list[tuple[Literal["target", "draft"], CheckpointFacts | None]] = [("target", context.target)]
    if context.speculates:
        roles.append(("draft", context.draft))
    for role, facts in roles:
        if facts is not None and facts.config is not None:
            for name, digest in _of_checkpoint(side, facts.folder, role).items():
                found.append(_fact("checkpoint", f"{role} {name}", digest))
    for (group, name), fact in effect.facts.items():
        named = _named(fact)
        if named is not None:
            content = _of_file(side, document, named)
            if content is not None:
                found.append(_fact(group, f"{name}{CONTENT}{named})", content))
    return {(fact.group, fact.name): fact for fact in found}


def prompts_fact(side: Side, document: Document) -> Facts:
    """The hash of a study's prompts."""
    workload = document.data.get("workload") if isinstance(document.data, dict) else None
    spelled = workload.get("prompts") if isinstance(workload, dict) else None
    if not isinstance(spelled, str) or not spelled or "\0" in spelled:
        return {}
    digest = _hash(Path(document.folder) / spelled, side)
    if digest is None:
        return {}
    name = f"workload.prompts{CONTENT}{spelled})"
    return {("study", name): _fact("study", name, digest)}


def _fact(group: Group, name: str, digest: str) -> Fact:
    return Fact(group, name, digest, digest, f"sha256 {digest[:12]}")


def _of_checkpoint(side: Side, folder: str, role: str) -> Mapping[str, str]:
    place = side.laid.get(folder, folder)
    key = f"{role} {place}"
    if key not in side.contents:
        side.contents[key] = dict(_hashes(place, role, side))
    return side.contents[key]


def _hashes(folder: str, role: str, side: Side) -> Iterator[tuple[str, str]]:
    try:
        names = sorted(name for name in os.listdir(folder) if is_served(name))  # noqa: PTH208
    except (OSError, ValueError):
        return
    if role == "draft":
        names = [name for name in names if not name.startswith(OF_THE_TARGET)]
    for name in [name for name in names if name not in COMPARED_OTHERWISE][:MOST]:
        digest = _hash(Path(folder) / name, side)
        if digest is not None:
            yield name, digest


def _named(fact: Fact) -> str | None:
    """The value of a setting or a variable that may be a file's name."""
    if fact.group not in ("setting", "environment") or fact.name in MODEL_FLAGS:
        return None
    value = fact.value
    if fact.group == "setting" and isinstance(value, Mapping):
        value = value.get("runs")
    plausible = isinstance(value, str) and 2 < len(value) < 1_000 and ("." in value or "/" in value)
    return value if plausible and "\0" not in value and "://" not in value else None


def _of_file(side: Side, document: Document, spelled: str) -> str | None:
    """The hash of a file that a config names, from where the config stands; None where there is none."""
    path = os.path.normpath(os.path.join(document.folder, spelled))  # noqa: PTH118
    if side.revision is None:
        return _hash(Path(path), side)
    key = f"blob {path}"
    if key not in side.contents:
        inside = os.path.relpath(path, side.revision.root)
        blobs = [] if inside.startswith("..") else side.revision.list(inside)
        blob = next((each for each in blobs if each.path == inside and each.kind == "file"), None)
        digest = None
        if blob is not None and (blob.size or 0) <= LARGEST:
            raw = side.revision.read(blob, LARGEST + 1)
            pointed = pointed_at(raw)
            digest = pointed[0] if pointed and pointed[0] else hashlib.sha256(raw).hexdigest()
        elif blob is None and not side.keeps(inside):
            digest = _hash(Path(path), side)
        side.contents[key] = {} if digest is None else {"": digest}
    return side.contents[key].get("")


def _hash(path: Path, side: Side) -> str | None:
    """Of a regular file that is not too large; a device or a pipe is never opened."""
    key = f"file {path}"
    if key not in side.contents:
        digest = None
        try:
            found = path.stat()
            if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST:
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError):
            digest = None
        side.contents[key] = {} if digest is None else {"": digest}
    return side.contents[key].get("")
