"""What the quantization flag does to a draft in plain weights, method by method and release by release."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.rules.model import Severity, Today
from tests.rules.pairs import check, serious

EAGER = {"disable_cuda_graph": True}
LAST_WITHOUT_CONVERSION, FIRST_WITH = "0.5.17", "0.5.18"


@pytest.mark.parametrize(
    ("method", "engine"),
    [
        ("modelopt", "0.5.9"),
        ("modelopt", "0.5.23"),
        ("modelopt_fp8", "0.5.9"),
        ("modelopt_fp8", "0.5.14"),
        ("modelopt_fp8", "0.5.23"),
        ("modelopt_fp4", "0.5.9"),
        ("modelopt_fp4", LAST_WITHOUT_CONVERSION),
        ("modelopt_mixed", "0.5.23"),
    ],
)
def test_a_method_of_modelopt_stops_the_server(tmp_path: Path, method: str, engine: str) -> None:
    report = check(tmp_path, engine=engine, deployment={"server": {"quantization": method, **EAGER}})
    found = serious(report)["EC259"]
    assert (found.severity, found.today) == (Severity.ERROR, Today.CRASH_AT_START)
    assert "stops" in found.why
    assert "while they load" not in found.why


@pytest.mark.parametrize("engine", [FIRST_WITH, "0.5.23"])
def test_a_method_for_experts_leaves_a_plain_draft_alone(tmp_path: Path, engine: str) -> None:
    found = serious(check(tmp_path, engine=engine, deployment={"server": {"quantization": "modelopt_fp4"}}))
    assert "EC259" not in found


def test_a_plain_method_still_quantises_silently(tmp_path: Path) -> None:
    report = check(tmp_path, deployment={"server": {"quantization": "fp8"}})
    found = serious(report)["EC259"]
    assert found.severity in (None, Severity.WARNING)
    assert "while they load" in found.why


def test_a_load_format_with_a_loader_of_its_own_is_not_judged(tmp_path: Path) -> None:
    server = {"quantization": "modelopt_fp8", "load_format": "dummy"}
    report = check(tmp_path, deployment={"server": server})
    assert "EC259" not in serious(report)
    assert any("load format" in skip.reason for skip in report.not_checked)


def test_a_draft_that_opts_out_is_left_alone(tmp_path: Path) -> None:
    server = {"quantization": "modelopt_fp8", "speculative_draft_model_quantization": "unquant"}
    assert "EC259" not in serious(check(tmp_path, deployment={"server": server}))
