"""Accept length from per-request counters, whatever the engine version calls them."""

from __future__ import annotations

import pytest

from eaglecfg.tune.counters import add_up, read_request

NEW = {
    "completion_tokens": 20,
    "spec_verify_ct": 8,
    "spec_num_correct_drafts": 12,
    "spec_correct_drafts_histogram": [2, 2, 2, 2],
    "spec_accept_length": 2.5,
}
"""As 0.5.12 and later report a request whose last step was cut by the limit."""


def test_accept_length_is_not_completion_tokens_over_verify_steps() -> None:
    acceptance = read_request(NEW, None)
    assert acceptance is not None
    assert acceptance.accept_length == 2.5
    cut = read_request({**NEW, "completion_tokens": 17}, None)
    assert cut is not None
    assert cut.accept_length == 2.5


@pytest.mark.parametrize(
    ("version", "meta", "source"),
    [
        ("0.5.14", {"spec_num_correct_drafts": 12, "spec_accepted_drafts": 12}, "spec_num_correct_drafts"),
        ("0.5.11", {"spec_accepted_drafts": 12, "spec_accept_rate": 0.5}, "spec_accepted_drafts"),
        ("0.5.9", {"spec_accept_token_num": 12, "spec_accept_rate": 0.375}, "spec_accept_token_num"),
        ("0.5.4.post1", {"spec_accept_rate": 0.5}, "spec_accept_rate"),
    ],
)
def test_each_versions_names_give_the_same_accept_length(
    version: str, meta: dict[str, float], source: str
) -> None:
    acceptance = read_request({"completion_tokens": 20, "spec_verify_ct": 8, **meta}, 3)
    assert acceptance is not None
    assert acceptance.accept_length == pytest.approx(2.5), version
    assert acceptance.source == source


def test_without_any_count_completion_tokens_are_the_last_resort() -> None:
    acceptance = read_request({"completion_tokens": 21, "spec_verify_ct": 8}, None)
    assert acceptance is not None
    assert acceptance.accept_length == 2.5
    assert acceptance.source == "completion_tokens"


@pytest.mark.parametrize(
    "meta", [{}, {"completion_tokens": 9}, {"spec_verify_ct": 0}, {"spec_verify_ct": None}]
)
def test_nothing_verified_means_no_accept_length(meta: dict[str, int]) -> None:
    assert read_request(meta, 3) is None


def test_sums_weigh_requests_by_their_steps() -> None:
    one = {"spec_verify_ct": 1, "spec_num_correct_drafts": 3, "spec_correct_drafts_histogram": [0, 0, 0, 1]}
    total = add_up([read_request(NEW, None), read_request(one, None), None])
    assert total is not None
    assert total.accept_length == pytest.approx(1 + 15 / 9)
    assert total.histogram == (2, 2, 2, 3)


def test_per_position_is_the_share_of_steps_that_got_further() -> None:
    acceptance = read_request(NEW, None)
    assert acceptance is not None
    assert acceptance.per_position == (0.75, 0.5, 0.25)
    assert sum(acceptance.per_position) == acceptance.accept_length - 1


def test_a_missing_histogram_leaves_none_for_the_sum() -> None:
    total = add_up(
        [read_request(NEW, None), read_request({"spec_verify_ct": 2, "spec_accepted_drafts": 1}, None)]
    )
    assert total is not None
    assert total.per_position is None
    assert total.source == "spec_accepted_drafts, spec_num_correct_drafts"


def test_no_requests_have_no_sum() -> None:
    assert add_up([None, None]) is None
