"""Whatever a study file holds, validate and a dry run of tune end in a report or in one line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import BASE_STUDY
from eaglecfg.schema.fields import fields_of
from eaglecfg.schema.study import StudyFile
from tests.fuzz.odd import DELETED, INTERNAL, SECONDS, changed, check, several, values

KEYS: list[tuple[str, ...]] = [
    *((name,) for name in fields_of(StudyFile)),
    *((outer, inner) for outer, block in BASE_STUDY.items() if isinstance(block, dict) for inner in block),
    *(
        ("space", key)
        for key in ("nccl.proto", "server.page_size", "speculative", "", "a.b.c", "zz", "env.A")
    ),
    *(("budget", "until"), ("budget", "hours"), ("objective", "limits"), ("workload", "holdout")),
]
THOUSAND = list(range(1, 1001))
SPACES: dict[str, dict[str, Any]] = {
    "a block of a billion choices": {
        "speculative": [{"num_steps": THOUSAND, "eagle_topk": THOUSAND, "num_draft_tokens": THOUSAND}]
    },
    "many choices": {"speculative.num_steps": list(range(20_000))},
    "fine factor": {"server.mem_fraction_static": {"low": 1.0, "high": 1e9, "log": True, "step": 1.0000001}},
    "fine step": {"server.mem_fraction_static": {"low": 0.1, "high": 0.9, "step": 1e-300}},
    "huge": {"server.page_size": {"low": 1, "high": 10**400}},
    "huge factor": {"server.page_size": {"low": 1, "high": 10**400, "log": True}},
    "infinite": {"server.page_size": {"low": 1, "high": float("inf")}},
    "no number": {"server.page_size": {"low": 1, "high": 10, "step": float("nan")}},
    "forty keys": {f"server.x{index}": [1, 2] for index in range(40)},
    "two spellings": {"server.page-size": [1, 2], "server.page_size": [1, 2]},
    "in two places": {"speculative": ["off", {"num_steps": [1, 2]}], "speculative.num_steps": [1, 2, 3]},
}


def dry_run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    started = time.process_time()
    code = run(["tune", "study.yaml", "--dry-run"])
    shown = capsys.readouterr()
    assert code in (0, 1, 2), shown.err
    assert INTERNAL.search(shown.out + shown.err) is None
    assert time.process_time() - started < SECONDS


@several(40)
@given(path=st.sampled_from(KEYS), value=values | st.just(DELETED))
def test_any_value_of_any_key(
    path: tuple[str, ...],
    value: Any,
    pair: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = yaml.safe_dump(changed(BASE_STUDY, path, value), sort_keys=False, allow_unicode=True)
    (pair / "study.yaml").write_text(text, encoding="utf-8")
    check(pair, "study.yaml")
    dry_run(pair, capsys, monkeypatch)


@pytest.mark.parametrize("name", SPACES)
def test_spaces_made_to_exhaust(
    name: str, pair: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = yaml.safe_dump({**BASE_STUDY, "space": SPACES[name]}, sort_keys=False)
    (pair / "study.yaml").write_text(text, encoding="utf-8")
    check(pair, "study.yaml")
    dry_run(pair, capsys, monkeypatch)
