"""What is said before a study starts, and studies that cannot start."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest

import eaglecfg
from eaglecfg.cli.main import run
from eaglecfg.errors import UsageError
from eaglecfg.schema.study import Budget
from eaglecfg.tune.deadline import Deadline, until_time
from eaglecfg.tune.history import History, Launch

ROOT = Path(eaglecfg.__file__).parents[1]
CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t}
    draft: {checkpoint: d}
    speculative: {num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}
"""
STUDY = """\
version: 1
config: eaglecfg.yaml
deployment: chat
launch: {prefix: [python3, -m, sglang.launch_server], flags: [--log-level, error], env: {A: b c}}
space:
  speculative: [off, {num_steps: [1, 2]}]
  nccl.proto: [unset, LL]
workload: {prompts: prompts.jsonl, output_tokens: 100}
profile: short
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"prompt": "x"}) + "\n", encoding="utf-8")
    path = tmp_path / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def dry_run(path: Path, capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> str:
    assert run(["tune", str(path), "--dry-run", *options]) == code
    return re.sub(r"\n {14}", " ", capsys.readouterr().out)


def test_a_dry_run_tells_settings_launches_time_and_what_can_be_shown(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dry_run(study, capsys, "--launch-anyway")
    assert "settings      3: off; 2 steps (as it stands); 1 step\n" in out
    assert "not searched  nccl.proto: one rank has nobody to talk to: parallel.tp_size is 1\n" in out
    assert "short: 3 rounds of 3 = 9 launches, every second round backwards\n" in out
    assert "3 blocks of 12 requests x 100 tokens at concurrency 1, over again where" in out
    assert "one launch of 2 steps fills caches (kernels are compiled, files read from disk): not comp" in out
    assert "9 launches after the first, about " in out
    assert "a gain of 8.3 % or more is found 4 times in 5 with 3 launches a setting" in out
    assert re.search(
        r"\n  first +1 launch +\d+ min\n  rounds +9 launches +\d+ min\n  together +10 launches", out
    )
    assert "A='b c' python3 -m sglang.launch_server --model-path t" in out
    assert "--speculative-num-steps 1 --log-level error\n" in out
    assert not (study.parent / ".eaglecfg").exists()


def test_what_the_validator_refuses_is_listed_with_its_rule(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study.parent / "eaglecfg.yaml").write_text(
        CONFIG.replace("num_steps: 2", "num_steps: 2, algorithm: EAGLE9")
    )
    out = dry_run(study, capsys, code=1)
    assert re.search(
        r"not launched  as it stands; 1 step: EC\d{3} [a-z-]+: .* \(--launch-anyway overrides\)", out
    )


def test_another_launch_prefix_is_taken_from_the_command_line(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dry_run(study, capsys, "--launch-anyway", "--launch-prefix", "env -i 'my python' serve.py")
    assert "env -i 'my python' serve.py --model-path t" in out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "deployment: chat",
            "deployment: chta",
            "study.yaml:3:13: deployment chta is not in .*, which has chat",
        ),
        ("output_tokens", "output_token", r"study.yaml:8:36: .*output_token"),
        ("[unset, LL]", "[]", "study.yaml:7:15: space.nccl.proto: expected at least one choice"),
        (
            "profile: short",
            "objective: {limits: {latency: 3}}",
            "objective.limits.latency: expected ttft, tpot",
        ),
        ("prompts.jsonl", "none.jsonl", "none.jsonl: can't read the prompts"),
        ("eaglecfg.yaml", "other.yaml", "other.yaml"),
        ("version: 1", "version: 1\nversion: 1", "study.yaml:2:1: "),
        ("[python3, -m, sglang.launch_server]", "[]", "study.yaml:4:18: launch.prefix: .* an empty list"),
        (
            "[python3,",
            "['{pyhton}',",
            r"study.yaml:4:18: .*\{pyhton\} is not known; expected one of \{python",
        ),
        ("[python3,", "[no-such-program,", "study.yaml:4:18: .* got no-such-program, which is not found"),
        ("[1, 2]", "{min: 1, max: 4}", "study.yaml:6:34: .* got the keys min, max; write {low: 1, high: 4"),
        ("[unset, LL]", "{min: 1, max: 4}", "study.yaml:7:15: .* got the keys min, max; write {low: 1"),
        ("profile: short", "budget: {launches: 1}", "study.yaml:9:20: .*expected at least 4, .* got 1"),
        ("profile: short", "budget: {hours: 0.001}", "study.yaml:9:9: the budget leaves 4 s, but one launch"),
    ],
)
def test_a_study_that_cannot_start_says_where_and_why(
    study: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    study.write_text(STUDY.replace(old, new, 1), encoding="utf-8")
    assert run(["tune", str(study), "--dry-run", "--launch-anyway"]) == 2
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert "Traceback" not in error


def test_error_findings_of_the_files_refuse_a_start(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace("[1, 2]", "[1, x]"), encoding="utf-8")
    assert run(["tune", str(study), "--dry-run"]) == 2
    captured = capsys.readouterr()
    assert re.search(r"study.yaml:6:38: error\[EC704\] space.speculative.num_steps has", captured.err)
    assert "1 error; nothing is launched (--launch-anyway overrides)" in captured.err
    assert captured.out == ""


def test_a_range_in_other_words_is_told_how_to_be_written(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY.replace("[1, 2]", "{min: 1, max: 2}"), encoding="utf-8")
    assert run(["tune", str(study), "--dry-run"]) == 2
    assert "for a range write {low: 1, high: 4, step: 1}" in capsys.readouterr().err


def test_an_engine_without_facts_refuses_a_start(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study.parent / "eaglecfg.yaml").write_text(CONFIG.replace("0.5.14", "latest"), encoding="utf-8")
    assert run(["tune", str(study), "--dry-run"]) == 2
    assert re.search(r"eaglecfg.yaml:2:33: error\[EC509\] .*latest", capsys.readouterr().err)
    dry_run(study, capsys, "--launch-anyway")


def test_a_space_of_which_nothing_is_left_is_not_launched(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = CONFIG.replace("num_steps: 2", "num_steps: 2, algorithm: EAGLE9")
    (study.parent / "eaglecfg.yaml").write_text(config, encoding="utf-8")
    study.write_text(STUDY.replace("python3, -m, sglang.launch_server", "'false'"), encoding="utf-8")
    assert run(["tune", str(study)]) == 1
    assert "nothing of the space is left to launch: the validator refuses 1 step" in capsys.readouterr().err
    assert not (study.parent / ".eaglecfg" / "studies" / "study" / "launches").exists()


def test_a_budget_that_may_not_reach_a_comparison_is_warned_of(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY + "budget: {hours: 0.1, until: '00:00'}\n", encoding="utf-8")
    assert run(["tune", str(study), "--dry-run", "--launch-anyway"]) in (0, 2)  # 2 just before midnight
    captured = capsys.readouterr()
    assert re.search(r"the budget leaves \d+ s, (and launching each baseline twice|but one)", captured.err)


def test_the_plan_tells_the_date_until_which_a_study_runs(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = datetime.datetime.now() + datetime.timedelta(hours=23, minutes=30)
    study.write_text(STUDY + f"budget: {{until: '{later:%H:%M}'}}\n", encoding="utf-8")
    out = dry_run(study, capsys, "--launch-anyway")
    assert re.search(rf"until {later:%Y-%m-%d %H:%M}, which is in 23\.[45] h", out)


def test_the_overnight_study_is_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "studies" / "overnight-nccl-steps.yaml").read_text(encoding="utf-8")
    text = text.replace("../eaglecfg.yaml", str(ROOT / "eaglecfg.yaml"))
    text = text.replace("../examples/tiny/prompts.jsonl", "prompts.jsonl")
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"input_ids": [1, 2]}) + "\n", encoding="utf-8")
    path = tmp_path / "overnight.yaml"
    path.write_text(text, encoding="utf-8")
    out = dry_run(path, capsys, "--launch-anyway")
    assert "144 combinations of speculative (6), server.disable_custom_all_reduce (2), nccl.proto (4)" in out
    assert "then 5 rounds of 7 = 35 launches with both baselines and the best 5" in out
    assert "120 launches" in out
    assert "NCCL_PROTO=LL128 NCCL_ALGO=Ring python3 -m sglang.launch_server" in out
    assert "--disable-custom-all-reduce" in out


def history(*seconds: float) -> History:
    launches = tuple(
        Launch(number, "a", "a", "round", 0, scores={1: 1.0}, seconds=value)
        for number, value in enumerate(seconds)
    )
    return History(launches, (), {}, (), len(launches), 0)


def test_until_is_the_next_time_the_clock_shows_it() -> None:
    evening = datetime.datetime(2026, 3, 1, 22, 30).timestamp()
    assert until_time("07:00", evening) == datetime.datetime(2026, 3, 2, 7, 0).timestamp()
    assert until_time("23:15", evening) == datetime.datetime(2026, 3, 1, 23, 15).timestamp()
    with pytest.raises(UsageError, match="expected a time of day"):
        until_time("7 am", evening)


def test_hours_count_what_was_launched_and_not_the_pause_between_two_runs() -> None:
    seconds = [5.0]
    deadline = Deadline(Budget(hours=1.0), 1000.0, 60.0, clock=lambda: seconds[0])
    assert deadline.left_s(history(600.0, 600.0), 1000.0) == 2400.0
    seconds[0] += 310.0
    assert deadline.left_s(history(600.0, 600.0, 300.0), 1310.0) == 2090.0


@pytest.mark.parametrize("jump", [-86400.0, 7200.0])
def test_a_clock_that_is_set_anew_changes_no_hours_and_leaves_the_time_of_day_to_end_at(jump: float) -> None:
    evening = datetime.datetime(2026, 3, 1, 22, 30).timestamp()
    by_hours = Deadline(Budget(hours=1.0), evening, 60.0)
    left = by_hours.left_s(history(), evening + jump)
    assert left is not None
    assert 3590.0 < left <= 3600.0
    by_clock = Deadline(Budget(until="07:00"), evening, 60.0)
    assert by_clock.left_s(history(), evening + jump) == 8.5 * 3600 - jump


MANY = STUDY.replace("num_steps: [1, 2]", "num_steps: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]")


@pytest.mark.parametrize(
    ("profile", "budget", "words"),
    [
        ("short", "{until: '%s'}", ", which is too short for all of the rounds"),
        ("short", "{hours: 0.4}", ", which is too short for all of the rounds"),
        ("overnight", "{until: '%s'}", ", which leaves no time for the search, nor for all of the rounds"),
        ("overnight", "{hours: 0.4}", ", which leaves no time for the search, nor for all of the rounds"),
        ("overnight", "{hours: 900, until: '%s'}", ", which leaves no time for the search, nor for all"),
        ("overnight", "{hours: %k}", ", which cuts the search short and keeps time for 2 rounds"),
        ("overnight", "{hours: %h}", ", which is too short for all of the rounds"),
        ("overnight", "{hours: 900}", ""),
        ("overnight", "{launches: 4}", ""),
    ],
)
def test_a_budget_that_ends_before_the_plan_says_what_that_costs(
    study: Path, capsys: pytest.CaptureFixture[str], profile: str, budget: str, words: str
) -> None:
    text = MANY.replace("profile: short", "profile: overnight") if profile == "overnight" else STUDY
    study.write_text(f"{text}budget: {{hours: 900}}\n", encoding="utf-8")
    soon = datetime.datetime.now() + datetime.timedelta(minutes=24)
    known = {name: hours(text) for name, text in phases(dry_run(study, capsys, "--launch-anyway")).items()}
    kept, most = known["rounds"] / 6, known["together"] - 0.2
    given = budget.replace("%s", f"{soon:%H:%M}").replace("%k", f"{kept:.2f}").replace("%h", f"{most:.2f}")
    study.write_text(f"{text}budget: {given}\n", encoding="utf-8")
    out = dry_run(study, capsys, "--launch-anyway")
    (line,) = re.findall(r"(?m)^time  .*$", out)
    assert words in line
    assert bool(words) == bool(re.search(", which (is too|leaves|cuts)", line))
    if "launches" not in budget:
        assert f"about {phases(out)['together']} (" in line  # one number for the whole, wherever it is told


def phases(out: str) -> dict[str, str]:
    """Phase -> time, of the time plan."""
    return dict(re.findall(r"(?m)^  (search|rounds|together) +\d+ launches +([0-9.]+ \w+)$", out))


def hours(text: str) -> float:
    """``90 min`` and the like in hours."""
    number, unit = text.split()
    return float(number) / {"s": 3600, "min": 60, "h": 1}[unit]


def test_a_budget_that_an_option_gives_is_not_blamed_on_the_file(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY + "budget: {launches: 8}\n")
    assert run(["tune", str(study), "--dry-run", "--launch-anyway", "--launches", "2"]) == 2
    assert "eaglecfg: --launches: expected at least 4" in capsys.readouterr().err


def budgeted(path: Path, budget: str) -> None:
    text = STUDY.replace("  nccl.proto: [unset, LL]\n", "") + budget
    path.write_text(text, encoding="utf-8")


def test_launches_each_launches_every_setting_and_screens_nothing(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "  nccl.algo: [unset, Ring, Tree]\n  server.disable_radix_cache: [false, true]\n"
    text = STUDY.replace("  nccl.proto: [unset, LL]\n", more)
    study.write_text(text + "budget: {launches: 300, launches_each: 7}\n", encoding="utf-8")
    out = dry_run(study, capsys, "--launch-anyway", "--keep-inert")
    assert "profile       short: 7 rounds of 18 = 126 launches, every second round backwards\n" in out
    assert "  together    127 launches" in out
    study.write_text(text + "budget: {launches_each: 1}\n", encoding="utf-8")
    out = dry_run(study, capsys, "--launch-anyway", "--keep-inert")
    assert "profile       short: 1 round of 18 = 18 launches\n" in out


def test_many_settings_are_counted_by_key_and_listed_below(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = STUDY.replace("nccl.proto: [unset, LL]", "server.schedule_conservativeness: {low: 1, high: 10}")
    study.write_text(text + "budget: {launches: 100}\n", encoding="utf-8")
    out = dry_run(study, capsys, "--launch-anyway")
    assert "settings      30 of speculative (3), server.schedule_conservativeness (10); besides them " in out
    assert out.count("\n      A='b c' python3") == 32


def test_a_study_may_say_how_long_a_start_takes(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace("launch: {", "launch: {start_s: 1000, "), encoding="utf-8")
    assert "(17 min a launch, assumed until" in dry_run(study, capsys, "--launch-anyway")


def test_a_baseline_that_is_not_wanted_is_left_out_unless_the_space_has_it(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    each = "budget: {launches_each: 3}\nbaselines: [as_it_stands]\n"
    budgeted(study, each)
    assert "settings      3: off; 2 steps (as it stands); 1 step\n" in dry_run(
        study, capsys, "--launch-anyway"
    )
    study.write_text(study.read_text("utf-8").replace("[off, {", "[{"), encoding="utf-8")
    out = dry_run(study, capsys, "--launch-anyway")
    assert "settings      2: 2 steps (as it stands); 1 step\n" in out
    assert "3 rounds of 2 = 6 launches" in out
    text = study.read_text("utf-8").replace("[as_it_stands]", '["off"]')
    study.write_text(text.replace("[1, 2]", "[1, 4]"), encoding="utf-8")
    assert "settings      3: off; 1 step; 4 steps\n" in dry_run(study, capsys, "--launch-anyway")


def test_a_space_too_large_to_list_cannot_be_launched_whole(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = STUDY.replace("nccl.proto: [unset, LL]", "server.schedule_conservativeness: {low: 1, high: 300}")
    study.write_text(text + "budget: {launches_each: 3}\n", encoding="utf-8")
    assert run(["tune", str(study), "--dry-run"]) == 2
    assert (
        "budget.launches_each: expected a space of up to 400 combinations, got 900" in capsys.readouterr().err
    )
