"""The reference server's command line: SGLang's flags, in SGLang's spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.flags import parse

PAIR = ["--model-path", "t", "--speculative-draft-model-path", "d", "--speculative-algorithm", "EAGLE3"]
CHAIN = [
    "--speculative-num-steps",
    "3",
    "--speculative-eagle-topk",
    "1",
    "--speculative-num-draft-tokens",
    "4",
]


def test_a_deployments_flags_are_obeyed() -> None:
    rest = ["--port", "4321", "--dtype", "float32", "--max-running-requests", "3", "--tp-size", "1"]
    settings = parse([*PAIR, *CHAIN, *rest])
    assert settings.model_path == Path("t")
    assert settings.draft_path == Path("d")
    assert (settings.algorithm, settings.num_steps) == ("EAGLE3", 3)
    assert (settings.host, settings.port, settings.dtype) == ("127.0.0.1", 4321, "float32")
    assert settings.max_running_requests == 3
    assert settings.threads == 1
    assert settings.ignored == ()
    assert settings.rewritten == ()


def test_without_an_algorithm_no_draft_runs() -> None:
    settings = parse(["--model-path", "t", "--speculative-draft-model-path", "d"])
    assert (settings.algorithm, settings.draft_path, settings.num_steps) == (None, None, 0)


def test_aliases_of_the_engine_are_known() -> None:
    assert parse(["--model", "t", "--tensor-parallel-size", "1"]).model_path == Path("t")


def test_other_flags_of_the_engine_are_accepted_and_named() -> None:
    settings = parse(
        [
            "--model-path",
            "t",
            "--attention-backend",
            "triton",
            "--disable-radix-cache",
            "--cuda-graph-bs-decode",
            "1",
            "2",
        ]
    )
    assert set(settings.ignored) == {
        "--attention-backend triton",
        "--disable-radix-cache",
        "--cuda-graph-bs-decode 1 2",
    }


def test_draft_tokens_of_a_chain_are_rewritten_as_the_engine_does() -> None:
    settings = parse([*PAIR, "--speculative-num-steps", "2", "--speculative-num-draft-tokens", "7"])
    assert settings.num_steps == 2
    assert "7 is adjusted to 3" in settings.rewritten[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model-path", "t", "--no-such-flag", "1"], "unrecognized arguments: --no-such-flag 1"),
        (["--port", "1"], "--model-path is required"),
        (["--model-path", "t", "--port", "many"], "argument --port: invalid int value: 'many'"),
        (["--model-path", "t", "--tp-size", "2"], "--tp-size: .* expected 1, got 2"),
        (["--model-path", "t", "--max-running-requests", "0"], "expected at least 1, got 0"),
        (
            ["--model-path", "t", "--speculative-algorithm", "EAGLE3"],
            "--speculative-draft-model-path is required",
        ),
        ([*PAIR[:-1], "NGRAM", *CHAIN], "runs EAGLE3, got NGRAM"),
        (PAIR, "--speculative-num-steps: expected at least 1, got nothing"),
        ([*PAIR, "--speculative-num-steps", "0"], "expected at least 1, got 0"),
        (
            [*PAIR, "--speculative-num-steps", "2", "--speculative-eagle-topk", "4"],
            "chains, expected 1, got 4",
        ),
    ],
)
def test_what_cannot_run_is_refused_in_a_sentence(arguments: list[str], said: str) -> None:
    with pytest.raises(ReferenceFailure, match=said) as caught:
        parse(arguments)
    assert "\n" not in str(caught.value)


def test_flags_follow_the_version_that_is_emulated() -> None:
    newer = ["--model-path", "t", "--cuda-graph-bs-decode", "1"]
    assert parse(newer).version == "0.5.14"
    with pytest.raises(ReferenceFailure, match="unrecognized arguments"):
        parse([*newer, "--emulate-version", "0.5.9"])
