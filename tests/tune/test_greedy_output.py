"""A setting that changes answers is no faster setting; how far right answers differ is learned from the
baselines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.tune.judge import GROSS, LEARNED, BaselineOutputs, agreement
from tests.tune.folder import Folder

TOKENS = 16
"""Greedy tokens of a prompt in the demo profile."""


def test_agreement_is_the_share_up_to_the_first_difference() -> None:
    assert agreement([[1, 2, 3, 4]], [[1, 2, 3, 4]]) == 1.0
    assert agreement([[1, 2, 9, 4]], [[1, 2, 3, 4]]) == 0.5
    assert agreement([[1, 2]], [[1, 2, 3, 4]]) == 0.5
    assert agreement([[9], [1, 2]], [[1], [1, 2]]) == 0.5
    assert agreement([[]], [[]]) is None


def test_the_margin_is_that_of_the_baselines_among_each_other() -> None:
    seen = BaselineOutputs()
    assert seen.floor == GROSS
    seen.learn(False, [[1, 2]], None)
    assert seen.floor == GROSS  # one launch agrees with itself
    seen.learn(False, [[1, 3]], 0.5)
    seen.learn(False, [[1, 2]], 1.0)
    assert seen.floor == LEARNED * 0.5
    assert seen.outputs == {False: [[1, 2]]}
    seen.learn(True, [[7]], None)
    assert seen.outputs[True] == [[7]]


def test_ties_that_part_right_outputs_make_none_of_them_wrong() -> None:
    """bf16 launches of one setting part at some token: none of 32 prompts' outputs is then called wrong."""
    rng, answer = random.Random(3), list(range(32))

    def output() -> list[list[int]]:
        """Every token is another one with 3 %, and all after it."""
        rows = []
        for _ in range(32):
            place = next((k for k in range(32) if rng.random() < 0.03), 32)
            rows.append(answer[:place] + [0] * (32 - place))
        return rows

    wrong = 0
    for _ in range(200):
        seen = BaselineOutputs()
        seen.learn(False, first := output(), None)
        for _ in range(3):
            same = agreement(again := output(), first)
            seen.learn(False, again, same)
        same = agreement(output(), first)
        assert same is not None
        wrong += same < seen.floor
    assert wrong == 0


@pytest.mark.parametrize(
    ("baseline", "setting", "failure"),
    [
        (None, 10, ""),  # the baselines agree in all: half of that is asked
        (None, 6, "output"),
        (8, 6, ""),  # the baselines agree in half: a quarter is asked
        (8, 3, "output"),
    ],
)
def test_a_setting_is_held_against_what_the_baselines_agree_in(
    baseline: int | None, setting: int, failure: str, tmp_path: Path
) -> None:
    folder, faults = Folder(tmp_path), ["--fault", f"wrong:{setting}?speculative_num_steps=2"]
    if baseline is not None:
        faults += ["--fault", f"wrong:{baseline}?speculative_num_steps=4"]
    more = "budget: {launches_each: 1, launches: 4}\n"
    folder.study(steps=[4, 2], flags=faults, more=more)
    assert run([*folder.arguments, "--no-proof"]) == 0
    (found,) = [row for row in folder.finished() if row[0] == "2 steps"]
    assert found[3] == failure
    ended = {event.data["n"]: event.data for event in folder.events if event.kind == "ended"}
    assert setting / TOKENS in [data["agreement"] for data in ended.values()]


def test_a_resumed_study_knows_the_margin_from_its_ledger(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    faults = ["--fault", "wrong:8?speculative_num_steps=4", "--fault", "wrong:6?speculative_num_steps=2"]
    for launches in (4, 6):  # the first night ends before the last setting
        more = f"budget: {{launches_each: 2, launches: {launches}}}\n"
        folder.study(steps=[4, 2], flags=faults, more=more)
        assert run([*folder.arguments, "--no-proof"]) == 0
    assert [failure for *_, failure in folder.finished()] == [""] * 6
