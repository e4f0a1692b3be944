"""What the words of an installer say about the engine, or NCCL: a version, or something that decides it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Literal

from eaglecfg.record import record
from eaglecfg.review.imports.text import Text

_WITH_VALUE = frozenset(
    (
        "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host", "-c",
        "--constraint", "--constraints", "--override", "--overrides", "--cache-dir", "--timeout", "--retries",
        "--proxy", "--extra", "--group", "--index", "--default-index", "--channel", "--prerelease",
        "--progress-bar", "--config-settings", "-C", "--platform", "--log", "--src", "--torch-backend",
        "--index-strategy", "--link-mode", "--resolution", "--env-file", "--directory", "--project",
        "--package", "--exists-action", "--upgrade-strategy", "--no-binary", "--only-binary",
        "--implementation", "--python-version", "--abi", "--upgrade-package", "--pip-args",
    )
)  # fmt: skip
_OTHER_PLACE = frozenset(("-t", "--target", "--prefix", "--root", "-n", "--name"))
_PYTHON = frozenset(("-p", "--python"))
_FILES = frozenset(("-r", "--requirement", "--requirements", "--with-requirements"))
_FOLDERS = frozenset(("-e", "--editable", "--with-editable"))
_ASKS = frozenset(("--with", "--from", "--spec"))
_ENGINE = re.compile(r"sglang(?:\[[^\]]*\])?[ \t]*(.*)", re.S | re.I)
_EXACT = re.compile(r"===?[ \t]*v?(\d+\.\d+\.\d+[A-Za-z0-9.]*)(?:[ \t]*;.*|[ \t].*)?", re.S)
_FILE = re.compile(
    r"sglang-(\d+\.\d+\.\d+[A-Za-z0-9.]*)(?:(?:-\d\w*)?-(?:py|cp)\d[\w.]*-\w+-[\w.]+\.whl|\.tar\.gz)"
)
_NCCL = re.compile(r"nvidia[-_.]+nccl(?:[-_.]+cu\d+)?(?:\[[^\]]*\])?[ \t]*([=<>!~@;].*)?", re.S | re.I)
_NCCL_FILE = re.compile(r"nvidia_nccl(?:_cu\d+)?-(\d+\.\d+[\w.]*)-.+\.whl", re.I)
_NCCL_EXACT = re.compile(r"===?[ \t]*v?(\d+\.\d+\.\d+)(?:[ \t]*;.*|[ \t].*)?", re.S)
_TORCH = re.compile(r"torch(?:\[[^\]]*\])?[ \t]*(?:[=<>!~@;].*)?", re.S | re.I)
_NAMES_IT = re.compile(r"sglang(?![-_.]?(?:router|kernel|jax))", re.I)


Package = Literal["engine", "nccl", "torch"]


@record
class Wanted:
    """One requirement: its ``version``, empty where it is not said, and how it is spelled."""

    version: str
    text: str
    package: Package = "engine"


@record
class Asked:
    """``found``: what is about the engine, NCCL or torch, which brings an NCCL of its own.

    ``place``: the folder of the Python that it is for, ``?`` for another one, empty where nothing is said.
    """

    found: tuple[Wanted, ...]
    place: str = ""


def asked_for(words: Sequence[Text], *, conda: bool) -> Asked:
    """What is installed among ``words``, the options and requirements of pip, uv, conda and their like."""
    found: list[Wanted] = []
    place = ""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        option, equals, inline = word.text.partition("=")
        if not word.text.startswith("-"):
            found += _of_requirement(word, conda=conda)
            continue
        takes = option in _WITH_VALUE | _OTHER_PLACE | _PYTHON | _FILES | _FOLDERS | _ASKS
        if equals:
            value = Text(inline, word.unknown)
        elif takes and at < len(words):
            value, at = words[at], at + 1
        elif re.fullmatch(r"-r\S+", word.text):
            option, value = "-r", Text(word.text[2:], word.unknown)
        else:
            continue
        if option in _OTHER_PLACE:
            place = "?"
        elif option in _PYTHON:
            place = posixpath.dirname(value.text)
        elif option in _FILES | _FOLDERS:
            found.append(Wanted("", value.text))
        elif option in _ASKS:
            for part in re.split(r",(?![^\[]*\])(?=[A-Za-z])", value.text):
                found += _of_requirement(Text(part, value.unknown), conda=conda)
    return Asked(tuple(found), place)


def _of_requirement(word: Text, *, conda: bool) -> list[Wanted]:
    """What one requirement says of the engine, NCCL or torch; nothing where it is about something else."""
    text = word.text.strip()
    # [all] is a pattern to a shell, which leaves it as it is where no file has such a name.
    unknown = bool(word.unknown) and word.unknown != (word.text,)
    named = _ENGINE.fullmatch(text)
    if named and (not named[1] or named[1][0] in "=<>!~@;"):
        exact = _EXACT.fullmatch(named[1])
        return [Wanted(exact[1] if exact and not unknown else "", text)]
    if (beside := _beside_the_engine(text, unknown=unknown)) is not None:
        return [beside]
    if named and text[:1].isalpha() and "/" not in text:
        return []  # sglang-router
    if unknown and not re.match(r"[A-Za-z0-9]", text):
        return [Wanted("", text)]
    if not conda and (re.match(r"[./~]|file:", text) or "://" in text):
        last = posixpath.basename(re.split(r"[?#]", text)[0])
        if file := _FILE.fullmatch(last):
            return [Wanted(file[1], text)]
        if "://" in text or last.endswith((".whl", ".gz", ".zip")):
            return [Wanted("", text)] if _NAMES_IT.search(text.split("://")[-1].partition("/")[2]) else []
        return [Wanted("", text)]
    return []


def _beside_the_engine(text: str, *, unknown: bool) -> Wanted | None:
    """What the requirement says of NCCL's own package, or of torch; None where it is about neither."""
    if named := _NCCL.fullmatch(text):
        exact = _NCCL_EXACT.fullmatch(named[1] or "")
        return Wanted(exact[1] if exact and not unknown else "", text, "nccl")
    if file := _NCCL_FILE.fullmatch(posixpath.basename(re.split(r"[?#]", text)[0])):
        return Wanted("" if unknown else file[1], text, "nccl")
    return Wanted("", text, "torch") if _TORCH.fullmatch(text) else None
