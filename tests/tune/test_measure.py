"""The numbers of a block, on exchanges whose times are known."""

from __future__ import annotations

import pytest

from eaglecfg.tune.client import Exchange, Sampling, finish, join_ids
from eaglecfg.tune.judge import wander
from eaglecfg.tune.load import Load
from eaglecfg.tune.measure import BadOutput, agree, block_of, fault_of, refuse, step_seconds
from eaglecfg.tune.percentiles import percentile, summary_ms

META = {"finish_reason": {"type": "length", "length": 9}, "completion_tokens": 9}
SAMPLING = Sampling(9)


def exchange(sent: float, *arrivals: tuple[float, int], **meta: object) -> Exchange:
    return Exchange("p", sent, list(arrivals), arrivals[-1][0], {**META, **meta})


def test_only_the_steady_window_counts_for_tokens_per_second() -> None:
    first = exchange(0.0, (1.0, 1), (2.0, 5), (3.0, 9))
    second = exchange(0.5, (1.5, 1), (2.5, 5), (6.0, 9))
    # Both run from 0.5 on; the first one ends at 3.0 and nothing more is sent.
    load = Load(2, (first, second), (0.5, 3.0), 6.0, 0.1)
    block = block_of([load], 0, SAMPLING, None, flushed=True)
    assert block.output_tokens == 9 + 5
    assert block.seconds == 2.5
    assert block.tokens_per_s == pytest.approx(14 / 2.5)
    assert block.tail_seconds == 3.0


def test_a_step_is_a_verify_step_and_the_prefill_is_none() -> None:
    drafted = exchange(0.0, (1.0, 1), (5.0, 9), spec_verify_ct=4, spec_num_correct_drafts=4)
    assert step_seconds(drafted, None) == 1.0
    assert step_seconds(exchange(0.0, (1.0, 1), (5.0, 9)), None) == 0.5
    assert step_seconds(exchange(0.0, (1.0, 9)), None) is None


def test_times_to_first_token_per_token_and_between_arrivals() -> None:
    load = Load(1, (exchange(2.0, (2.5, 1), (3.0, 5), (4.5, 9)),), (2.0, 4.5), 4.5, 0.0)
    block = block_of([load], 0, SAMPLING, None, flushed=False)
    assert block.ttft_ms["p50"] == 500
    assert block.tpot_ms["p50"] == 250
    assert block.itl_ms == {"p50": 1000.0, "p95": 1450.0, "p99": 1490.0}


def test_failed_requests_are_counted_and_refused() -> None:
    good = exchange(0.0, (1.0, 1), (2.0, 9))
    short = exchange(0.0, (1.0, 4))
    silent = Exchange("q", 0.0, [], 1.0, META)
    load = Load(3, (good, short, silent), (0.0, 1.0), 2.0, 0.0)
    assert block_of([load], 0, SAMPLING, None, flushed=True).failed == 2
    assert fault_of(short, SAMPLING) == "4 of 9 tokens although ignore_eos was set"
    assert fault_of(short, Sampling(9, ignore_eos=False)) == ""
    with pytest.raises(BadOutput, match="2 of 3 requests failed; prompt p: 4 of 9 tokens"):
        refuse(load.exchanges, SAMPLING)
    refuse([good], SAMPLING)


def test_passes_over_the_same_prompts_add_up_and_show_how_the_machine_wanders() -> None:
    fast = Load(1, (exchange(0.0, (0.5, 1), (2.0, 9)),), (0.0, 2.0), 2.0, 0.0)
    slow = Load(1, (exchange(3.0, (4.0, 1), (6.0, 9)),), (3.0, 6.0), 6.5, 4.0)
    block = block_of([fast, slow], 0, SAMPLING, None, flushed=True)
    assert (block.output_tokens, block.seconds, block.requests) == (18, 5.0, 2)
    assert block.tokens_per_s == pytest.approx(18 / 5)
    assert block.passes == (4.5, 3.0)
    assert block.tail_seconds == 0.5
    assert block.client_lag_ms == 2.0
    assert wander([block]) == 0.5
    assert wander([block_of([fast], 0, SAMPLING, None, flushed=True)]) is None


def test_windows_agree_within_the_tolerance() -> None:
    assert agree([100.0, 98.0], 0.03)
    assert not agree([100.0, 96.0], 0.03)
    assert not agree([100.0], 0.03)


@pytest.mark.parametrize(
    ("last", "error"),
    [
        (b"", "without meta_info"),
        (b"<html>", "not JSON"),
        (b"[1]", "not an object"),
        (b'{"error": {"message": "too long"}}', "too long"),
        (b'{"error": "flat"}', "flat"),
        (b'{"meta_info": {"finish_reason": null}}', "ended in the middle"),
        (b'{"meta_info": {"finish_reason": {"type": "abort", "message": "gone"}}}', "aborted: gone"),
        (b'{"meta_info": {"finish_reason": "abort"}}', "aborted"),
        (b'{"meta_info": {"finish_reason": {"type": "stop"}}}', ""),
    ],
)
def test_the_last_chunk_says_how_it_ended(last: bytes, error: str) -> None:
    answer = Exchange("p", 0.0)
    finish(answer, last)
    assert error in answer.error
    assert bool(answer.error) == bool(error)


def test_ids_of_cumulative_and_incremental_streams() -> None:
    assert join_ids(join_ids([], [1]), [1, 2, 3]) == [1, 2, 3]
    assert join_ids(join_ids([], [1]), [2, 3]) == [1, 2, 3]
    assert join_ids([1, 2], [1, 2]) == [1, 2]


def test_percentiles_interpolate() -> None:
    assert percentile([], 50) == 0.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert summary_ms([0.001, 0.002]) == {"p50": 1.5, "p95": 1.95, "p99": 1.99}
