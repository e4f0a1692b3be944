"""``NAME: ${NAME}``: a value that only whoever launches knows is judged by no rule, and is no fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.engines.handed import Handed
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.nccl.facts import variable_names
from eaglecfg.rules.outcome import Report
from tests.nccl.test_rules import OFF, PCIE, SWITCH, loud, report

OWN = ("NCCL_PROTO", "NCCL_ALGO", "NCCL_NVLS_ENABLE", "NCCL_IB_GID_INDEX", "NCCL_BUFFSIZE", "NCCL_P2P_LEVEL")
OTHERS = (
    "NCCL_NET",
    "NCCL_CUMEM_ENABLE",
    "NCCL_TOPO_FILE",
    "NCCL_DEBUG",
    "NCCL_DEBUG_FILE",
    "NCCL_SYM_KERNEL",
)
NEIGHBOURS = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "TORCH_NCCL_BLOCKING_WAIT",
    "SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB",
    "SGLANG_USE_JIT_ALL_REDUCE",
    "SGLANG_SIMULATE_ACC_LEN",
    "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN",
    "PYTORCH_CUDA_ALLOC_CONF",
    "HF_TOKEN",
)


def handed(names: tuple[str, ...]) -> dict[str, str]:
    return {name: f"${{{name}}}" for name in names}


def about(found: Report, name: str) -> list[str]:
    return [one.finding.message for one in found.findings if name in one.finding.message]


@pytest.mark.parametrize("name", [*OWN, *OTHERS, *NEIGHBOURS])
def test_a_value_from_the_launcher_is_no_finding(name: str, tmp_path: Path) -> None:
    found = report(tmp_path, handed((name,)), engine="0.5.20")
    assert not found.crashes
    assert not loud(found)
    assert not any("${" in one.finding.message for one in found.findings)
    assert all(one.finding.fix is None or not one.finding.fix.safe for one in found.findings)


@pytest.mark.parametrize("hardware", [PCIE, SWITCH])
def test_all_of_them_at_once(hardware: dict[str, object], tmp_path: Path) -> None:
    found = report(tmp_path, handed(variable_names()), hardware, server=OFF)
    assert not found.crashes
    values = {"EC602", "EC636", "EC616", "EC629", "EC601", "EC603"}  # judged by names alone
    assert {one.rule.id for one in found.findings if one.rule.id.startswith("EC6")} <= values
    reasons = {skipped.rule.id: skipped.reason for skipped in found.not_checked}
    for rule in ("EC604", "EC606", "EC607", "EC608", "EC609", "EC610", "EC613", "EC614", "EC621", "EC631"):
        assert "comes from whoever launches" in reasons[rule], rule


def test_the_nccl_block_hands_on_alike(tmp_path: Path) -> None:
    found = report(tmp_path, {}, nccl={"proto": "${NCCL_PROTO}", "p2p_level": "phb"})
    assert loud(found) == ["EC608"]  # the other variable is judged as ever
    assert "EC610" in {skipped.rule.id for skipped in found.not_checked}


def test_names_are_judged_whatever_the_value_is(tmp_path: Path) -> None:
    assert loud(report(tmp_path, handed(("NCCL_PORTO",)))) == ["EC601"]


def test_the_path_is_open_where_a_value_that_decides_it_is(tmp_path: Path) -> None:
    env = {"NCCL_PROTO": "Simple", **handed(("CUDA_VISIBLE_DEVICES",))}
    found = report(tmp_path, env, SWITCH)
    assert not any(one.rule.id.startswith("EC6") for one in found.findings)
    reasons = {skipped.rule.id: skipped.reason for skipped in found.not_checked}
    assert "CUDA_VISIBLE_DEVICES comes from whoever launches" in reasons["EC614"]
    assert "CUDA_VISIBLE_DEVICES comes from whoever launches" in reasons["EC629"]


def test_that_it_is_set_may_be_asked() -> None:
    env = Handed({"A": "1", "B": "${B}"}, ("B",))
    assert ("B" in env, env.get("A"), env.get("C", "x")) == (True, "1", "x")
    for ask in (env.get, env.__getitem__):
        with pytest.raises(ValueFromLaunch) as caught:
            ask("B")
        assert caught.value.reason == "the value of B comes from whoever launches the server"
    assert env.without(("B",)).get("B") is None
    with pytest.raises(ValueFromLaunch):
        env.without(("A",)).get("B")
