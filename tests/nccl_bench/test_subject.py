"""Settings and sizes out of files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from eaglecfg.cli.main import run

CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t, hidden_size: 4096}
    parallel: {tp_size: 4}
"""
STUDY = """\
version: 1
config: eaglecfg.yaml
deployment: chat
launch: {prefix: [python3, -m, sglang.launch_server]}
space:
  server.disable_custom_all_reduce: [true]
SPACE
objective: {metric: output_tokens_per_s, concurrency: [1]}
workload: {prompts: p.jsonl, output_tokens: 8}
budget: {launches: 3}
profile: demo
"""


@pytest.fixture
def planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Plan a benchmark of a study with these lines in its space."""

    def plan(*lines: str, more: tuple[str, ...] = ()) -> tuple[int, str]:
        (tmp_path / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
        study = tmp_path / "study.yaml"
        study.write_text(STUDY.replace("SPACE", "\n".join(f"  {line}" for line in lines)), encoding="utf-8")
        code = run(["bench-allreduce", "--settings", str(study), "--dry-run", *more])
        captured = capsys.readouterr()
        return code, re.sub(r"\n {10}", " ", captured.out) + captured.err

    return plan


def test_every_combination_of_nccl_keys_is_a_setting(planned: Callable[..., tuple[int, str]]) -> None:
    code, text = planned("nccl.proto: [unset, LL]", "env.NCCL_NTHREADS: [64, 0128]", more=("--anyway",))
    assert code == 0
    assert "default; NTHREADS=64 (NCCL_NTHREADS=64); NTHREADS=0128" in text
    assert "PROTO=LL NTHREADS=64 (NCCL_PROTO=LL NCCL_NTHREADS=64)" in text
    assert "8 KiB, 64 KiB of bfloat16" in text
    assert "5 checks, 3 timed rounds: 20 of 4 processes" in text


def test_ranges_are_spelled_out(planned: Callable[..., tuple[int, str]]) -> None:
    code, text = planned("nccl.nthreads: {low: 64, high: 512, log: true}")
    assert code == 0
    assert all(f"NTHREADS={number}" in text for number in (64, 128, 256, 512))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), "its space has no nccl key and no NCCL variable under env"),
        (("nccl.proto: [LL, LL]",), "the choice LL stands here twice"),
        (("nccl.protoo: [LL]",), "the nearest name is NCCL_PROTO"),
        (
            (
                "nccl.nthreads: {low: 32, high: 512, step: 32}",
                "nccl.proto: [unset, LL, LL128, Simple, '^LL']",
            ),
            "has 80 combinations, more than 64; name some with --setting",
        ),
    ],
)
def test_a_space_that_gives_no_settings_is_refused(
    planned: Callable[..., tuple[int, str]], lines: tuple[str, ...], words: str
) -> None:
    code, text = planned(*lines)
    assert code == 2
    assert words in text


def test_sizes_given_beside_a_deployment_replace_its_own_or_join_those_of_batches(
    planned: Callable[..., tuple[int, str]],
) -> None:
    given = ("nccl.proto: [unset, LL]",)
    assert "sizes     1 MiB of bfloat16" in planned(*given, more=("--bytes", "1MiB"))[1]
    assert "sizes     16 KiB, 1 MiB of" in planned(*given, more=("--bytes", "1MiB", "--batch", "2"))[1]


def test_a_file_that_is_no_study_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    for text in (CONFIG, "- 1\n", "", "a: [\n"):
        path.write_text(text, encoding="utf-8")
        assert run(["bench-allreduce", "--settings", str(path), "--ranks", "2"]) == 2
        assert str(path) in capsys.readouterr().err
