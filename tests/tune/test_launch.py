"""A launch that goes well: what it measures, what it tells, what it leaves on disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from launcher import EAGLE, LIMITS, PLAN, PROMPTS, STANDIN

from eaglecfg.tune.standin.model import DECODE_S, Model, expected_accept_length
from eaglecfg.tune.standin.settings import read_settings
from eaglecfg.tune.trial import Prompt, ServerCommand

if TYPE_CHECKING:
    from launcher import Launcher


def test_blocks_give_the_speed_of_the_stand_ins_formula(launch: Launcher) -> None:
    result = launch()
    assert result.outcome == "ok"
    assert result.failure is None
    model = Model(read_settings(EAGLE, {}))
    assert [block.index for block in result.blocks] == [0, 1]
    for block in result.blocks:
        assert block.concurrency == 2
        assert block.step_ms == pytest.approx(model.step_seconds(2) * 1000, rel=1e-4)
        assert block.accept_length == pytest.approx(expected_accept_length(2), rel=0.15)
        # Tokens per request and second are accept length / step time, a little less for the prefills.
        assert block.tokens_per_s == pytest.approx(2000 * block.accept_length / block.step_ms, rel=0.06)
        assert block.per_position is not None
        assert sum(block.per_position) == pytest.approx(block.accept_length - 1, abs=1e-6)
        assert list(block.per_position) == sorted(block.per_position, reverse=True)
        for times in (block.ttft_ms, block.tpot_ms, block.itl_ms):
            assert 0 < times["p50"] <= times["p95"] <= times["p99"]
        assert block.flushed
        assert block.failed == 0
        assert block.counters == "spec_num_correct_drafts"


def test_speculation_off_has_no_accept_length_but_a_step_time(launch: Launcher) -> None:
    command = ServerCommand((*STANDIN, "--virtual-clock"))
    block = launch(command=command, plan=replace(PLAN, concurrency=(1,), blocks=1)).blocks[0]
    assert block.accept_length is None
    assert block.per_position is None
    assert block.step_ms == pytest.approx(DECODE_S * 1000)


def test_real_time_agrees_with_virtual_time(launch: Launcher) -> None:
    plan = replace(PLAN, concurrency=(2,), blocks=1, requests_per_block=8)
    virtual = launch(plan=plan).blocks[0]
    real = launch(plan=plan, command=ServerCommand((*STANDIN, *EAGLE))).blocks[0]
    assert real.accept_length == virtual.accept_length
    assert real.verify_steps == virtual.verify_steps
    assert real.tokens_per_s == pytest.approx(virtual.tokens_per_s, rel=0.25)
    assert real.step_ms == pytest.approx(virtual.step_ms, rel=0.25)


def test_same_settings_give_the_same_numbers(launch: Launcher) -> None:
    first, second = launch().blocks, launch().blocks
    assert [replace(block, client_lag_ms=0) for block in first] == [
        replace(block, client_lag_ms=0) for block in second
    ]


def test_every_setting_sees_the_same_prompts_in_the_same_order(launch: Launcher) -> None:
    orders = []
    for steps in ("1", "4"):
        result = launch("--speculative-num-steps", steps)
        rows = read_rows(Path(result.folder))
        orders.append([(row["index"], row["prompt"]) for row in rows if row["phase"] == "block"])
    assert orders[0] == orders[1]
    assert len(orders[0]) == PLAN.blocks * PLAN.requests_per_block


def test_highest_concurrency_runs_first(launch: Launcher) -> None:
    result = launch(plan=replace(PLAN, concurrency=(1, 4), blocks=1))
    assert [block.concurrency for block in result.blocks] == [4, 1]
    assert [about["concurrency"] for about in launch.heard("warmup")] == [4, 4, 1, 1]


def test_a_fast_server_answers_a_block_again_until_it_has_lasted(launch: Launcher) -> None:
    once = launch(plan=replace(PLAN, blocks=1)).blocks[0]
    plan = replace(PLAN, blocks=1, block_seconds=3.2 * once.seconds, warmup_seconds=1e-9)
    result = launch(plan=plan)
    block = result.blocks[0]
    assert len(block.passes) == 3
    assert block.requests == 3 * once.requests
    assert block.accept_length == once.accept_length
    assert block.flushed
    # From an empty prefix cache each time, so that all passes are the same.
    assert set(block.passes) == {once.passes[0]}
    prompts = [row["prompt"] for row in read_rows(Path(result.folder)) if row["phase"] == "block"]
    assert prompts == prompts[:6] * 3


def test_a_warm_up_that_never_agrees_with_itself_is_told_of(launch: Launcher) -> None:
    assert [item.agreed for item in launch().warmups] == [True]
    result = launch(plan=replace(PLAN, warmup_agreement=-1.0, warmup_limit=3))
    assert result.outcome == "ok"
    assert [(item.concurrency, len(item.windows), item.agreed) for item in result.warmups] == [(2, 3, False)]


def test_greedy_output_does_not_depend_on_speculation(launch: Launcher) -> None:
    plain = launch(command=ServerCommand((*STANDIN, "--virtual-clock")))
    drafted = launch()
    assert plain.answers == drafted.answers
    assert {name: len(ids) for name, ids in plain.answers.items()} == {f"2/{place}": 32 for place in range(8)}
    assert launch("--fault", "wrong").answers != plain.answers


def test_text_prompts_are_sent_as_text(launch: Launcher) -> None:
    result = launch(prompts=[Prompt("a", text="def f():"), Prompt("b", text="class A:")])
    assert result.outcome == "ok"


def test_answers_that_end_early_are_fine_without_ignore_eos(launch: Launcher) -> None:
    result = launch(plan=replace(PLAN, ignore_eos=False, output_tokens=200))
    assert result.outcome == "ok"
    assert {row["finish"] for row in read_rows(Path(result.folder))} >= {"stop"}


def test_runs_are_what_the_server_says_not_what_was_asked(launch: Launcher) -> None:
    result = launch("--speculative-num-draft-tokens", "9", "--api-key", "sk-0123456789abcdef0123")
    assert result.runs["speculative_num_draft_tokens"] == 3
    assert result.runs["version"] == "0.5.14"
    assert "internal_states" not in result.runs
    assert result.runs["api_key"] == "<redacted>"


def test_progress_names_the_supervisor_before_the_server_exists(launch: Launcher) -> None:
    result = launch()
    assert [name for name, _ in launch.events][:2] == ["started", "ready"]
    assert [name for name, _ in launch.events][-2:] == ["stopping", "stopped"]
    started = launch.heard("started")[0]
    assert (started["pid"], started["identity"], started["marker"]) == (
        result.pid,
        result.identity,
        result.marker,
    )
    assert len(launch.heard("block")) == PLAN.blocks


def test_command_environment_log_requests_and_result_are_on_disk_without_secrets(launch: Launcher) -> None:
    env = {"HF_TOKEN": "hf_secretsecretsecret", "NCCL_PROTO": "LL", "WHERE": "{marker}"}
    result = launch("--api-key", "very-secret", env=env)
    folder = Path(result.folder)
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert {
        "command.json",
        "requests.jsonl",
        "result.json",
        "server.log",
        "server_info.json",
        "supervisor.jsonl",
    } <= set(written)
    assert not any("secretsecret" in text or "very-secret" in text for text in written.values())
    assert (folder / "command.json").stat().st_mode & 0o777 == 0o600, "an environment is nobody else's"
    command = json.loads(written["command.json"])
    assert command["env"]["NCCL_PROTO"] == "LL"
    assert command["env"]["HF_TOKEN"] == "<redacted>"
    assert command["argv"][:3] == list(STANDIN)
    rows = read_rows(folder)
    assert {row["phase"] for row in rows} == {"warmup", "block"}
    assert all(row["tokens"] == row["arrivals"][-1][1] for row in rows)
    assert json.loads(written["result.json"])["outcome"] == "ok"


def test_environment_reaches_the_server_and_only_as_given(launch: Launcher) -> None:
    slow = launch().blocks[0].step_ms
    fast = launch(env={"NCCL_PROTO": "LL"}).blocks[0].step_ms
    assert fast < slow


def test_a_client_that_is_the_bottleneck_makes_the_launch_invalid(launch: Launcher) -> None:
    plan = replace(PLAN, blocks=1, greedy_check=0)
    command = ServerCommand((*STANDIN, *EAGLE))
    result = launch(plan=plan, command=command, limits=replace(LIMITS, client_lag_ms=-1.0))
    assert result.failure == "client"
    assert result.blocks[0].client_lag_ms > 0


def test_a_launch_without_prompts_is_refused(launch: Launcher) -> None:
    with pytest.raises(ValueError, match="at least one prompt"):
        launch(prompts=[])


def test_prompts_used_are_named_in_the_rows(launch: Launcher) -> None:
    rows = read_rows(Path(launch().folder))
    assert {row["prompt"] for row in rows} == {prompt.name for prompt in PROMPTS}


def read_rows(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
