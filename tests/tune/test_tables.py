"""The final table: its width, and numbers that would mean nothing said in words."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from eaglecfg.tune.account import account_line, account_of, cold_words
from eaglecfg.tune.gains import Gain
from eaglecfg.tune.results import Results, make_results
from eaglecfg.tune.rows import Row
from eaglecfg.tune.tables import WIDTH, footnotes, header, markdown, remarks, table, text_table
from tests.tune.simulate import Simulation, make
from tests.tune.test_schedule import STEPS, WIDE, by_steps


def finished(spread: float, rounds: int = 3, space: object = STEPS, profile: str = "demo") -> Results:
    assert isinstance(space, dict)
    study = Simulation(make(space, profile=profile), by_steps, random.Random(3), spread)
    study.run(4 * rounds if space is STEPS else 10_000)
    return make_results(study.design, study.history, "done")


def row(label: str, levels: tuple[int, ...], gain: Gain | None) -> Row:
    return Row(
        "a", label, "as it stands, off", 3, 2, True, dict.fromkeys(levels, 123.4), 2.5,
        dict.fromkeys(levels, 12.34), 0.125, gain, gain, True, False, False, 1.0, 50.0, ("oom: no memory",),
    )  # fmt: skip


@pytest.mark.parametrize("levels", [(1,), (1, 8), (1, 8, 64)])
def test_the_table_fits_its_width_whatever_a_setting_is_called(levels: tuple[int, ...]) -> None:
    found = finished(0.02)
    rows = [
        row("proto LL128, algo Ring, disable_custom_all_reduce, tp_size 8", levels, Gain(1.2, 0.4, 2.0, 0.1)),
        row("off", levels, None),
        row("4 steps", levels, Gain(0.5, 0.05, 34.6, 0.9)),
    ]
    wide = Results(**{**{name: getattr(found, name) for name in Results.__slots__}, "rows": tuple(rows)})
    lines = text_table(header(wide), table(wide))
    assert max(map(len, lines)) <= WIDTH
    text = "\n".join(lines)
    assert "(-60.0 to" in text
    assert "+100.0 %)" in text
    assert "resolved)" in text
    assert "3364" not in text
    names = "".join(line.split("  ")[0] for line in lines)
    assert "disable_custom_all_reduce" in names


@pytest.mark.parametrize("levels", [(1,), (1, 8)])
@pytest.mark.parametrize("width", [80, 100, 110, 120, 160])
def test_the_table_keeps_to_the_width_of_the_terminal(width: int, levels: tuple[int, ...]) -> None:
    found = finished(0.02)
    rows = [
        row("disable_custom_all_reduce on, speculative_accept_threshold 1", levels, Gain(1.2, 0.4, 2.0, 0.1)),
        row("off", levels, None),
    ]
    lines = text_table(header(found), table(replace(found, rows=tuple(rows))), width)
    assert max(map(len, lines)) <= width


def test_a_long_word_of_a_name_is_broken_only_where_there_is_no_room() -> None:
    name = "chunked_prefill_size 10240, schedule_conservativeness 0.5"
    found = replace(finished(0.02), rows=(row(name, (1,), Gain(1.2, 0.4, 2.0, 0.1)),))
    for width in (110, 120):
        lines = text_table(header(found), table(found), width)
        words = [word for line in lines for word in line.split("  ")[0].split()]
        assert {"chunked_prefill_size", "schedule_conservativeness"} <= set(words)
    narrow = [line.split(" ")[0] for line in text_table(header(found), table(found), 80)]
    assert {"schedule_", "conservativeness"} <= set(narrow)


def test_waits_and_cut_off_launches_are_told_besides_the_time_in_launches() -> None:
    study = Simulation(make(STEPS, profile="demo"), by_steps, random.Random(3), 0.02)
    study.run(4)
    plain = study.history
    assert "On top" not in account_line(account_of(plain))
    waiting = (replace(plain.launches[0], timings={"startup": 1.0, "waited": 43.1}), *plain.launches[1:])
    both = account_line(account_of(replace(plain, launches=waiting, cut_off=1)))
    assert both.endswith(" On top: 1 launch cut off and 43 s of waiting for GPUs in use.")
    assert account_line(account_of(replace(plain, cut_off=2))).endswith(" On top: 2 launches cut off.")


def started(*seconds: float) -> list[str]:
    study = Simulation(make(STEPS, profile="demo"), by_steps, random.Random(3), 0.02)
    study.run(len(seconds))
    launched = [
        replace(item, timings={"startup": spent})
        for item, spent in zip(study.history.launches, seconds, strict=True)
    ]
    return cold_words(account_of(replace(study.history, launches=tuple(launched))))


def test_a_launch_that_found_caches_cold_is_named() -> None:
    (words,) = started(185.2, 71.8, 46.2, 50.2, 44.7)
    assert words.startswith("Start-up took 50 s (median), but launch 1 185 s: with cold caches")
    assert started(86.0, 50.0, 54.0, 56.0) == []
    assert started(185.2, 50.0, 50.0) == [], "three starts have no usual one"


def test_intervals_stand_below_the_gains_and_marks_below_the_names() -> None:
    found = finished(0.01)
    lines = text_table(header(found), table(found))
    first = next(index for index, line in enumerate(lines) if line.startswith("2 steps"))
    assert lines[first].split()[3] == "+9.4"
    assert lines[first + 1].startswith("(winner, fastest)")
    assert " to " in lines[first + 1]
    assert "|---|" in markdown("x", found)
    assert "| 2 steps<br>(winner, fastest) |" in markdown("x", found)


def test_what_two_noisy_launches_cannot_tell_is_said_in_words() -> None:
    found = finished(0.4, rounds=2)
    text = "\n".join([*found.verdict, *footnotes(found), *text_table(header(found), table(found))])
    assert "which is not resolved with 2 launches a setting." in found.verdict[0]
    assert "no gain below a doubling is resolved" in text
    shares = [float(number) for number in re.findall(r"([\d.]+) %", text)]
    assert max(shares) < 400


def test_failures_stand_below_the_table_with_the_line_that_decided_them() -> None:
    study = Simulation(make(STEPS), by_steps, random.Random(0), fault=fault)
    study.run()
    found = make_results(study.design, study.history, "done")
    assert "2 steps: oom: oom of 2 steps" in remarks(found)
    assert any("--retry-failed" in text for text in remarks(found))
    text = "\n".join(text_table(header(found), table(found)))
    assert "oom" not in text
    assert "(1 failed)" in text


def fault(arm: object, number: int) -> str:
    return "oom" if getattr(arm, "label", "") == "2 steps" else ""


def test_a_screened_space_fits_too() -> None:
    found = finished(0.02, space=WIDE, profile="short")
    assert max(map(len, text_table(header(found), table(found)))) <= WIDTH
