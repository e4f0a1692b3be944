"""Damaged logs never raise, and what is printed of them stays whole."""

from __future__ import annotations

import json
import random

import pytest

from eaglecfg.nccl.log.compare import compare
from eaglecfg.nccl.log.judge import judge
from eaglecfg.nccl.log.model import NcclLog
from eaglecfg.report.nccl_log import Shown, as_json, render
from eaglecfg.report.styled import plain
from tests.nccl_log.conftest import read, said, written
from tests.nccl_log.test_facts import FORMATS, filled
from tests.nccl_log.test_judge import ASKED

SPICE = ("\x00", "9" * 400, "|", "/", " ", "\r", "é", "\x1b[31m", "NCCL INFO ", "{", "}", ":", "-1", "0x")


def damaged(raw: str, chooser: random.Random) -> str:
    """Cut, doubled, mixed and spiced."""
    letters = list(raw)
    for _ in range(chooser.randrange(1, 40)):
        place = chooser.randrange(len(letters))
        what = chooser.randrange(4)
        if what == 0:
            del letters[place : place + chooser.randrange(1, 60)]
        elif what == 1:
            letters[place:place] = letters[chooser.randrange(len(letters)) :][:80]
        elif what == 2:
            letters[place:place] = chooser.choice(SPICE)
        else:
            letters[place] = chr(chooser.randrange(1, 300))
        if not letters:
            letters = list("x")
    return "".join(letters)


def printed(log: NcclLog) -> None:
    """Text without control characters, JSON without what JSON does not have."""
    shown = Shown(log, "chat", judge(ASKED, log), "other", compare(log, read(written())))
    text = plain(render(shown, 80))
    assert all(character.isprintable() or character == "\n" for character in text)
    json.loads(as_json(shown, version="1"), parse_constant=lambda word: pytest.fail(word))


@pytest.mark.parametrize("seed", range(60))
def test_damage_is_read_without_a_word(seed: int) -> None:
    chooser = random.Random(seed)
    lines = written(NCCL_PROTO="LL", NCCL_NTHREADS="64")[:60] + said(*(filled(each[2]) for each in FORMATS))
    chooser.shuffle(lines)
    printed(read(damaged("\n".join(lines), chooser).encode("utf-8", "replace")))


@pytest.mark.parametrize("digits", [1, 18, 19, 20, 300, 4000])
@pytest.mark.parametrize("each", FORMATS, ids=[each[2][:40] for each in FORMATS])
def test_numbers_of_any_length(each: tuple[str, str, str], digits: int) -> None:
    printed(read(said(filled(each[2]).replace("2", "9" * digits))))
