"""A setting that changes answers is no faster setting; how far right answers differ is learned from the
baselines."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.tune.answer_words import agreement_words
from eaglecfg.tune.answers import (
    GROSS,
    KNOWN_TIES,
    TIES,
    Compared,
    Margin,
    Reference,
    chance,
    compare_answers,
    judged,
    learned,
)
from eaglecfg.tune.history import ROUND, History, Launch
from tests.tune.folder import Folder

ARMS: Mapping[str, Mapping[str, Any]] = {"off": {"label": "off"}, "as it stands": {"label": "as it stands"}}


def compared(one: Mapping[str, Sequence[int]], two: Mapping[str, Sequence[int]]) -> Compared:
    found, _ = compare_answers(one, two)
    assert found is not None
    return found


def test_answers_are_compared_up_to_the_first_difference_and_by_their_length() -> None:
    assert compare_answers({"a": [1, 2, 3, 4]}, {"a": [1, 2, 3, 4]}) == (Compared(1, 0, 4), 1.0)
    assert compare_answers({"a": [1, 2, 9, 4]}, {"a": [1, 2, 3, 4]}) == (Compared(1, 1, 3), 0.5)
    assert compare_answers({"a": [1, 2]}, {"a": [1, 2, 3, 4]}) == (Compared(1, 1, 3), 0.5)
    assert compare_answers({"a": [9], "b": [1, 2]}, {"a": [1], "b": [1, 2], "c": [7]}) == (
        Compared(2, 1, 3),
        0.5,
    )
    for parts in range(9):
        one = (1, 2, 3, 4, 5, 6, 7, 8)
        two = [token if place < parts else 0 for place, token in enumerate(one)]
        assert compare_answers({"a": one}, {"a": two})[1] == parts / 8
    assert compare_answers({"a": []}, {"a": []}) == (None, None)
    assert compare_answers({"a": [1]}, {"b": [1]}) == (None, None)


def test_the_reference_is_of_one_baseline_and_is_added_to() -> None:
    known = Reference()
    assert known.learn("off", {"a": [1]}, in_round=False) == {"a": [1]}
    assert known.learn("as it stands", {"b": [2]}, in_round=False) == {}
    assert known.learn("off", {"a": [5], "b": [2]}, in_round=False) == {"b": [2]}
    assert known.answers == {False: {"a": [1], "b": [2]}}
    assert known.learn("as it stands", {"a": [1]}, in_round=True) == {"a": [1]}  # other prompts


def test_the_chance_is_that_of_parting_so_often_by_luck() -> None:
    assert chance(Compared(4, 0, 40), Compared(4, 0, 40)) == 1.0
    assert chance(Compared(4, 1, 40), Compared(4, 1, 40)) == 1.0
    assert chance(Compared(1, 1, 10), Compared(4, 0, 90)) == pytest.approx(0.1)
    assert chance(Compared(2, 2, 50), Compared(2, 1, 50)) == pytest.approx(0.5)
    assert chance(Compared(16, 16, 176), Compared(16, 0, 1024)) < 1e-9


def test_the_margin_is_wide_until_baselines_were_compared_and_is_learned_from_them() -> None:
    assert Margin().wrong(Compared(4, 4, 4))
    assert not Margin().wrong(Compared(4, 4, round(4 / GROSS)))
    assert not Margin().wrong(Compared(2, 2, 2))
    assert not Margin().doubtful(Compared(16, 16, 80))
    again = [baseline("off", Compared(16, 0, 1024)), baseline("off", Compared(16, 1, 1000))]
    same = learned(again)
    assert (same.worst, same.ties) == (Compared(32, 1, 2024), TIES)
    assert same.wrong(Compared(16, 16, 176))
    crossed = learned([*again, baseline("as it stands", Compared(16, 2, 990))])
    assert (crossed.worst, crossed.ties) == (Compared(16, 2, 990), KNOWN_TIES)
    assert crossed.wrong(Compared(16, 16, 496))
    assert not same.wrong(Compared(16, 16, 500))
    assert same.doubtful(Compared(16, 16, 500))
    assert not crossed.wrong(Compared(16, 8, 900))


def baseline(arm: str, own: Compared | None, n: int = 1) -> Launch:
    return Launch(n, arm, arm, ROUND, 0, scores={1: 1.0}, baseline=True, compared=own, against="off")


def many_prompts(path: Path) -> Folder:
    folder = Folder(path)
    lines = [f'{{"input_ids": [{number}, 5, 6, 7]}}' for number in range(32)]
    (path / "prompts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


class Night:
    """A study in which answers part by ties: every token of a launch may be another one with ``per_launch``,
    and with ``per_setting`` one that all launches of its setting take. Some settings answer wrongly from a
    token on."""

    def __init__(
        self,
        rng: random.Random,
        *,
        per_launch: float,
        per_setting: float,
        tokens: int,
        prompts: int,
        baselines: Sequence[str] = ("off", "as it stands"),
        wrong: Mapping[str, int] | None = None,
    ) -> None:
        self.rng, self.per_launch, self.per_setting = rng, per_launch, per_setting
        self.tokens, self.prompts, self.wrong = tokens, prompts, wrong or {}
        self.shapes: dict[str, list[int]] = {}
        self.launches: list[Launch] = []
        self.reference = Reference()
        arms = [*baselines, *(f"{k} steps" for k in range(1, 6))]
        for number in range(4):
            for arm in arms if number % 2 == 0 else reversed(arms):
                self.launch(arm, arm in baselines)

    def place(self, rate: float) -> int:
        """Where an answer parts from the others."""
        return int(self.rng.expovariate(rate)) if rate else self.tokens

    def launch(self, arm: str, is_baseline: bool) -> None:
        shape = self.shapes.setdefault(arm, [self.place(self.per_setting) for _ in range(self.prompts)])
        own = {}
        for name in range(self.prompts):
            place = self.place(self.per_launch)
            ends = sorted([(place, len(self.launches) + 10), (shape[name], 2 + list(self.shapes).index(arm))])
            first, mark = min(ends[0], (self.wrong.get(arm, self.tokens), 1))
            own[str(name)] = [0] * min(first, self.tokens) + [mark] * max(self.tokens - first, 0)
        found, share = self.reference.compare(own, in_round=True)
        if is_baseline:
            self.reference.learn(arm, own, in_round=True)
        self.launches.append(
            Launch(
                len(self.launches) + 1,
                arm,
                arm,
                ROUND,
                0,
                scores={1: 1.0},
                baseline=is_baseline,
                agreement=share,
                compared=found,
                against=self.reference.arms[True] if found is not None else "",
            )
        )

    def failed(self) -> set[str]:
        return {item.arm for item in judged(self.launches, (), ARMS) if not item.ok}


@pytest.mark.parametrize("prompts", [4, 16, 64])
@pytest.mark.parametrize("tokens", [64, 256])
@pytest.mark.parametrize(
    ("per_launch", "per_setting"),
    [(0.0, 0.0), (0.001, 0.0), (0.01, 0.0), (0.03, 0.0), (0.0, 0.002), (0.0, 0.005), (0.005, 0.005)],
)
def test_ties_that_part_right_answers_make_no_setting_fail(
    per_launch: float, per_setting: float, tokens: int, prompts: int
) -> None:
    """Of 60 studies of 28 launches each, none at all calls a healthy setting or baseline wrong, not at any
    time while it runs."""
    rng = random.Random(5)
    for _ in range(60 if prompts < 64 else 12):
        night = Night(rng, per_launch=per_launch, per_setting=per_setting, tokens=tokens, prompts=prompts)
        for count in range(1, len(night.launches) + 1, 3):
            assert not {item.n for item in judged(night.launches[:count], (), ARMS) if not item.ok}


@pytest.mark.parametrize(
    ("place", "per_launch"), [(0, 0.0), (0, 0.005), (10, 0.001), (10, 0.003), (20, 0.001), (30, 0.0)]
)
@pytest.mark.parametrize("tokens", [64, 512])
def test_wrong_answers_are_found_among_ties(tokens: int, place: int, per_launch: float) -> None:
    rng = random.Random(7)
    for _ in range(40):
        night = Night(
            rng, per_launch=per_launch, per_setting=0.0, tokens=tokens, prompts=16, wrong={"2 steps": place}
        )
        assert night.failed() == {"2 steps"}


def test_one_baseline_is_enough_to_find_wrong_answers() -> None:
    night = Night(
        random.Random(1),
        per_launch=0.001,
        per_setting=0.0,
        tokens=128,
        prompts=16,
        baselines=["off"],
        wrong={"3 steps": 10},
    )
    first = night.launches[: len(night.launches) // 4]
    assert all(item.ok for item in judged(first, (), ARMS))  # nothing was learned in the first round
    assert night.failed() == {"3 steps"}
    again = judged(night.launches, (), ARMS)
    assert [item.failure for item in again if item.arm == "3 steps"] == ["output"] * 4  # the first, too


def test_a_baseline_that_answers_wrongly_is_no_measure_for_settings() -> None:
    night = Night(
        random.Random(1),
        per_launch=0.001,
        per_setting=0.0,
        tokens=128,
        prompts=16,
        wrong={"as it stands": 8, "3 steps": 8},
    )
    assert night.failed() == {"as it stands", "3 steps"}


@pytest.mark.parametrize("place", [0, 10, 17, 30])
def test_a_setting_whose_answers_are_wrong_from_some_token_on_never_wins(place: int, tmp_path: Path) -> None:
    folder = many_prompts(tmp_path)
    folder.study(flags=["--fault", f"wrong:{place}?speculative_num_steps=2"])
    assert run([*folder.arguments, "--no-proof"]) == 0
    result = folder.result
    assert result["winner"] is None
    assert {item["class"] for item in result["failures"]} == {"output"}
    (row,) = [row for row in result["settings"] if row["label"] == "2 steps"]
    assert "greedy answers are not those of off" in row["notes"][0]
    assert (row["launches"], row["failed"]) == (0, 1)


def test_a_winner_whose_answers_part_more_often_than_the_baselines_is_told_of(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    more = "budget: {launches_each: 3}\n"
    folder.study(flags=["--fault", "wrong:60?speculative_num_steps=2"], more=more)
    assert run([*folder.arguments, "--no-proof"]) == 0
    result = folder.result
    assert result["winner"]["label"] == "2 steps"
    (told,) = [text for text in result["verdict"] if "Greedy answers of 2 steps" in text]
    assert "launches of the baselines in all of it" in told
    page = (folder.record / "result.md").read_text(encoding="utf-8")
    assert "Greedy answers agree with the baseline's, up to the first difference, in: 2 steps 9" in page
    assert "Less than rounding explains: 2 steps." in page


def test_settings_that_part_no_more_often_than_near_ties_do_are_not_doubted() -> None:
    def night(own: Compared) -> History:
        rows = [baseline("off", Compared(16, 3, 1000)), baseline("off", Compared(16, 2, 1010))]
        item = replace(baseline("2 steps", own), baseline=False, agreement=0.9, scores={1: 5.0})
        launches = tuple(replace(row, agreement=0.98) for row in rows)
        arms = {name: {"key": name, "label": name} for name in ("off", "2 steps")}
        return History((*launches, item), (), arms, (), 3, 0)

    (plain,) = agreement_words(night(Compared(16, 5, 980)))
    assert plain.endswith("Near-ties that fall the other way can explain that much.")
    (doubted,) = agreement_words(night(Compared(16, 16, 300)))
    assert doubted.endswith("Less than rounding explains: 2 steps.")


def test_nothing_is_said_of_answers_that_are_the_baselines(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert run([*folder.arguments, "--no-proof"]) == 0
    assert "reedy answers" not in (folder.record / "result.md").read_text(encoding="utf-8")
    assert {row["agreement"] for row in folder.result["settings"]} == {1.0}


def test_a_setting_that_passed_before_anything_was_learned_is_judged_again(tmp_path: Path) -> None:
    """Speculation off is the only baseline here: its second launch comes after the setting's first."""
    folder = many_prompts(tmp_path)
    more = "baselines: ['off']\nbudget: {launches_each: 3}\n"
    folder.study(steps=[2], flags=["--fault", "wrong:12?speculative_num_steps=2"], more=more)
    assert run([*folder.arguments, "--no-proof"]) == 0
    assert folder.result["winner"] is None
    assert [item["n"] for item in folder.result["failures"]] == [2, 3]
    assert {item["class"] for item in folder.result["failures"]} == {"output"}


def test_a_resumed_study_holds_answers_against_those_in_its_ledger(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for launches in (4, 6):  # the first night ends before the second round is through
        more = f"budget: {{launches_each: 2, launches: {launches}}}\n"
        folder.study(steps=[4, 2], flags=["--fault", "wrong:4?speculative_num_steps=2"], more=more)
        assert run([*folder.arguments, "--no-proof"]) == 0
    assert {item["class"] for item in folder.result["failures"]} == {"output"}
    kept = [event.data["n"] for event in folder.events if event.kind == "ended" and event.data["answers"]]
    assert kept == [1]  # one launch's answers are enough


@pytest.mark.parametrize("flags", [[], ["--stream-output"]])
def test_whole_answers_are_compared_where_measured_ones_cannot_be(flags: list[str], tmp_path: Path) -> None:
    """Measured at another temperature, or by a server that sends increments: the check is over all tokens."""
    folder = many_prompts(tmp_path)
    folder.study(flags=["--fault", "wrong:25?speculative_num_steps=2", *flags])
    text = (folder.path / "study.yaml").read_text(encoding="utf-8")
    if not flags:
        text = text.replace("output_tokens: 64}", "output_tokens: 64, temperature: 0.7}")
    (folder.path / "study.yaml").write_text(text, encoding="utf-8")
    assert run([*folder.arguments, "--no-proof"]) == 0
    assert folder.result["winner"] is None
    (row,) = [row for row in folder.result["settings"] if row["label"] == "2 steps"]
    assert "32 of 32 part from them, at token 26 on average" in row["notes"][0]
    answers = next(event.data["answers"] for event in folder.events if event.kind == "ended")
    assert set(answers) == {f"check/{number}" for number in range(32)}


def test_a_setting_that_answered_wrongly_is_launched_again_where_the_user_says_so(tmp_path: Path) -> None:
    folder = many_prompts(tmp_path)
    mended = tmp_path / "mended"
    flags = ["--fault", "wrong:12?speculative_num_steps=2", "--fault-unless", str(mended)]
    folder.study(flags=flags)
    assert run([*folder.arguments, "--no-proof"]) == 0
    assert folder.result["winner"] is None
    launches = folder.result["launches"]
    assert run([*folder.arguments, "--no-proof"]) == 0
    assert folder.result["launches"] == launches
    mended.touch()
    assert run([*folder.arguments, "--no-proof", "--retry-failed"]) == 0
    assert folder.result["winner"]["label"] == "2 steps"
    assert not folder.result["failures"]
