"""What is fed, and what must hold afterwards: an answer in bounds, whatever the bytes were.

A target is called with one input and a folder in memory that is its own. It raises nothing but WrongAnswer.
"""

from __future__ import annotations

import os
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

from eaglecfg.checkpoint.facts import CheckpointFacts, FileProblem
from eaglecfg.checkpoint.fault import FileFault
from eaglecfg.checkpoint.header import finish_header, peek_header
from eaglecfg.checkpoint.hubid import HubAccess
from eaglecfg.checkpoint.index import plain, read_index
from eaglecfg.checkpoint.jsonfiles import read_config
from eaglecfg.checkpoint.load import read_checkpoint
from eaglecfg.checkpoint.safetensors import parse_header
from eaglecfg.checkpoint.strictjson import JsonFault, parse_object
from eaglecfg.checkpoint.torchbin import read_bin
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.runner import validate
from eaglecfg.rules.tidy import tidy
from eaglecfg.source.read import read_document

LONGEST_MESSAGE = 3000
SECRET = 424242
"""A number that stands only in a file outside the hub cache's model; it must never come back."""


class WrongAnswer(Exception):
    """The reader answered, and the answer breaks a promise."""


def check(holds: object, what: str) -> None:
    """Raise WrongAnswer unless ``holds``."""
    if not holds:
        raise WrongAnswer(what)


def check_problems(problems: Iterable[FileProblem]) -> None:
    """Every problem is one printable line of bounded length."""
    for problem in problems:
        for text in (problem.message, problem.help, problem.file):
            check(len(text) <= LONGEST_MESSAGE and text.isprintable(), f"unprintable or long: {text[:200]!r}")


def yaml_text(data: bytes, folder: Path) -> None:
    path = folder / "file.yaml"
    path.write_bytes(data)
    document = read_document(path)
    check(document.data is None or () in document.places, "no place for the root")
    for problem in document.problems:
        message = tidy(problem.message)  # as the report shows it: keys of the file may hold tabs
        check(len(message) <= LONGEST_MESSAGE and message.isprintable(), f"odd message: {message!r}")
        check(1 <= problem.span.start.line <= len(document.lines) + 1, f"line {problem.span.start.line}")


def json_text(data: bytes, folder: Path) -> None:
    try:
        parse_object(data)
    except JsonFault as fault:
        check(len(fault.message) <= LONGEST_MESSAGE and fault.message.isprintable(), repr(fault.message))


def json_file(data: bytes, folder: Path) -> None:
    (folder / "config.json").write_bytes(data)
    config, problems = read_config(str(folder), "model")
    check_problems(problems)
    check(config is not None or problems, "neither a config nor a reason")
    if config is not None:
        for name in ("hidden_size", "num_hidden_layers", "rope", "quantization", "dtype"):
            config.find(name)
            config.integer(name)


def header(data: bytes, folder: Path) -> None:
    path = folder / "model.safetensors"
    # Half of all inputs keep a length that fits, or little but the length would be tested.
    if len(data) > 8 and data[-1] % 2 and not data.startswith((b"PK", b"version")):
        end = data.rfind(b"}") + 1
        data = struct.pack("<Q", max(end - 8, 0)) + data[8:]
    path.write_bytes(data)
    try:
        found = parse_header(finish_header(str(path), "file", peek_header(str(path), "file")), "file")
    except FileFault as fault:
        check_problems([fault.problem])
        return
    check_problems(found.problems)
    check(not (found.malformed and found.entries), "entries of a malformed header")
    for _, shape, begin, end in found.entries.values():
        check(0 <= begin <= end and all(size >= 0 for size in shape), "a negative size")


def index(data: bytes, folder: Path) -> None:
    path = folder / "model.safetensors.index.json"
    path.write_bytes(data)
    try:
        found = read_index(str(path), "index")
    except FileFault as fault:
        check_problems([fault.problem])
        return
    check_problems(found.problems)
    unsafe = [file for file in found.files if not plain(file)]
    check(bool(unsafe) <= any(p.kind == "unsafe-path" for p in found.problems), f"{unsafe} not told")


def pickled(data: bytes, folder: Path) -> None:
    path = folder / "pytorch_model.bin"
    if not data.startswith(b"PK") and len(data) % 8:  # most pickles get a proper archive around them
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", data)
    else:
        path.write_bytes(data)
    try:
        found = read_bin(str(path), "file")
    except FileFault as fault:
        check_problems([fault.problem])
        return
    check_problems(found.problems)


def checkpoint(data: bytes, folder: Path) -> None:
    """The same bytes as every file of a folder: each has its own look at them."""
    names = ("config.json", "tokenizer_config.json", "model.safetensors", "model.safetensors.index.json")
    for name in names[: 1 + len(data) % 4]:
        (folder / name).write_bytes(data)
    role = "draft" if len(data) % 3 else "target"
    check_facts(read_checkpoint(folder, ".", role="draft" if role == "draft" else "target"))


def hub_cache(data: bytes, folder: Path) -> None:
    """A script of files, links and pipes below a model of a hub cache; see ``benchmarks/corpus/hub``."""
    repo = folder / "cache" / "models--lab--model"
    (folder / "secret").mkdir()
    for secret in ("secret.json", "secret/config.json", "secret/eaglecfg-training.json"):
        (folder / secret).write_text(f'{{"hidden_size": {SECRET}}}')
    asked, revision = "lab/model", "main"
    for line in data.split(b"\n")[:30]:
        kind, _, rest = os.fsdecode(line).partition(" ")
        path, _, content = rest.partition(" ")
        if kind == "ask":
            asked, revision = path, content
        else:
            build(repo, kind, path, content)
    access = HubAccess(cache=str(folder / "cache"))
    facts = read_checkpoint(folder / "none", asked, role="draft", revision=revision, hub=lambda: access)
    check_facts(facts)
    check(str(SECRET) not in repr(facts), "a file outside the model was read")


def build(repo: Path, kind: str, path: str, content: str) -> None:
    """Make one entry of the cache. What leads out of ``repo``, or cannot be made, is left out."""
    place = Path(os.path.normpath(repo / path[:300])) if "\0" not in path else repo
    if repo not in place.parents:
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if repo.resolve() not in place.parent.resolve().parents and place.parent.resolve() != repo.resolve():
            return
        if kind == "link":
            place.symlink_to(content[:300])
        elif kind == "pipe":
            os.mkfifo(place)
        elif kind == "folder":
            place.mkdir()
        elif kind == "hole" and not place.is_symlink():
            place.touch(exist_ok=False)
            os.truncate(place, min(int(content), 2**62))
        elif kind in ("file", "header"):
            raw = os.fsencode(content)
            with place.open("xb") as stream:
                stream.write((struct.pack("<Q", len(raw)) + raw + bytes(8)) if kind == "header" else raw)
    except (OSError, ValueError):
        pass


def check_facts(facts: CheckpointFacts) -> None:
    check_problems(facts.problems)
    check(facts.config is not None or facts.problems, "nothing read and nothing said")


def config(data: bytes, folder: Path) -> None:
    """The whole of ``validate``, with a pair beside the file."""
    path = folder / "eaglecfg.yaml"
    path.write_bytes(data)
    report = validate([read_document(path)])
    check(not report.crashes, "".join(crash.trace for crash in report.crashes))
    for found in report.findings:
        check(len(found.finding.message) <= LONGEST_MESSAGE, f"long: {found.finding.message[:200]!r}")
        check(found.finding.message.isprintable(), f"unprintable: {found.finding.message[:200]!r}")


def pair(folder: Path) -> None:
    """The files that configs of the corpus name."""
    materialize({"study": {}}, folder)


class Target(NamedTuple):
    """``share`` is the part of all inputs that it gets; ``files`` its folders of the corpus.

    ``prepare`` fills its folder once; without it the folder is emptied after ``fresh`` inputs.
    """

    run: Callable[[bytes, Path], None]
    files: tuple[str, ...]
    share: float
    fresh: bool = False
    prepare: Callable[[Path], None] | None = None


TARGETS = {
    "yaml": Target(yaml_text, ("yaml", "config"), 0.16),
    "json": Target(json_text, ("json", "index"), 0.22),
    "config.json": Target(json_file, ("json",), 0.14),
    "header": Target(header, ("header",), 0.20),
    "index": Target(index, ("index",), 0.11),
    "bin": Target(pickled, ("bin", "pickle"), 0.10),
    "checkpoint": Target(checkpoint, ("json", "header", "index"), 0.03, fresh=True),
    "hub cache": Target(hub_cache, ("hub",), 0.03, fresh=True),
    "validate": Target(config, ("config",), 0.01, prepare=pair),
}


def emptied(folder: Path) -> None:
    """Remove everything in ``folder``, links themselves and not what they lead to."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)  # noqa: PTH108 - a million times


def seeded(seed: int, number: int) -> Random:
    """The generator of one input: any input can be made again from its number."""
    return Random(seed << 40 | number)
