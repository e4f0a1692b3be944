"""Another NCCL than torch's own is preloaded: nothing is judged by a version that is assumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.nccl.library import chosen_library
from tests.nccl.test_rules import SWITCH, loud, report

SYMMETRIC = {"enable_symm_mem": True, "disable_custom_all_reduce": True}
OTHERS = {
    "LD_PRELOAD": "/opt/nccl-2.30.7/libnccl.so.2",
    "SGLANG_NCCL_SO_PATH": "/opt/nccl/libnccl.so.2",
}
BARE = {key: value for key, value in SWITCH.items() if key != "nccl_version"}


def reasons(found: Any) -> dict[str, str]:
    return {each.rule.id: each.reason for each in found.not_checked}


@pytest.mark.parametrize("name", OTHERS)
def test_the_barrier_is_not_checked_where_another_library_runs(name: str, tmp_path: Path) -> None:
    assert "EC623" in loud(report(tmp_path, {}, BARE, server=SYMMETRIC, engine="0.5.18"))
    found = report(tmp_path, {name: OTHERS[name]}, BARE, server=SYMMETRIC, engine="0.5.18")
    assert "EC623" not in loud(found)
    assert reasons(found)["EC623"].startswith("another NCCL is ")
    assert f"({name}={OTHERS[name]})" in reasons(found)["EC623"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_declared_version_is_what_runs(name: str, tmp_path: Path) -> None:
    for version, fails in (("2.30.7", False), ("2.29.7", True)):
        hardware = {**BARE, "nccl_version": version}
        found = report(tmp_path, {name: OTHERS[name]}, hardware, server=SYMMETRIC, engine="0.5.18")
        assert ("EC623" in loud(found)) == fails
        assert "EC623" not in reasons(found)


def test_a_version_that_is_none_declares_nothing(tmp_path: Path) -> None:
    found = report(tmp_path, OTHERS, {**BARE, "nccl_version": "new"}, server=SYMMETRIC, engine="0.5.18")
    assert "EC623" in reasons(found)


@pytest.mark.parametrize(
    ("env", "rule"),
    [
        ({"NCCL_NVLS_ENABLE": "1"}, "EC621"),
        ({"NCCL_ALGO": "allreduce:tree"}, "EC612"),
    ],
)
def test_no_other_verdict_rests_on_the_version(env: dict[str, str], rule: str, tmp_path: Path) -> None:
    old = {**BARE, "nccl_version": "2.28.9" if rule == "EC621" else "2.31.2"}
    assert rule in loud(report(tmp_path, env, old))
    found = report(tmp_path, {**env, "LD_PRELOAD": OTHERS["LD_PRELOAD"]}, BARE)
    assert rule not in {one.rule.id for one in found.findings}
    assert "another NCCL is preloaded" in reasons(found)[rule]


def test_a_name_that_has_ever_been_read_is_not_judged(tmp_path: Path) -> None:
    late = {"NCCL_SYM_NOWIN_ENABLE": "1"}
    assert "EC602" in {one.rule.id for one in report(tmp_path, late, BARE, engine="0.5.9").findings}
    found = report(tmp_path, {**late, "LD_PRELOAD": OTHERS["LD_PRELOAD"]}, BARE, engine="0.5.9")
    assert "EC602" not in {one.rule.id for one in found.findings}
    assert "another NCCL is preloaded" in reasons(found)["EC602"]


def test_what_is_wrong_in_every_version_is_found_still(tmp_path: Path) -> None:
    found = report(
        tmp_path, {"NCCL_PROTOO": "LL", "NCCL_P2P_LEVEL": "", "LD_PRELOAD": OTHERS["LD_PRELOAD"]}, BARE
    )
    messages = {one.rule.id: one.finding.message for one in found.findings}
    assert "EC601" in messages
    assert messages["EC605"].startswith("NCCL_P2P_LEVEL is set, but empty; NCCL takes it as")


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("/opt/libnccl.so.2", "/opt/libnccl.so.2"),
        ("libnccl.so", "libnccl.so"),
        ("/usr/lib/libtcmalloc.so.4:/opt/libnccl.so.2.30.7", "/opt/libnccl.so.2.30.7"),
        ("/usr/lib/libtcmalloc.so.4  /opt/libnccl.so.2", "/opt/libnccl.so.2"),
        ("/usr/lib/libtcmalloc.so.4", ""),
        ("/opt/libnccl-net.so", ""),
        ("/opt/libnccl-tuner-x.so", ""),
        ("/opt/libnccl.so.2/other.so", ""),
        ("${LD_PRELOAD}", ""),
        ("", ""),
    ],
)
def test_an_nccl_among_preloaded_libraries(text: str, library: str) -> None:
    assert chosen_library({"LD_PRELOAD": text}) == (f"LD_PRELOAD={library}" if library else "")


def test_a_search_path_chooses_nothing_that_is_known() -> None:
    assert chosen_library({"LD_LIBRARY_PATH": "/opt/nccl/lib"}) == ""
    assert chosen_library({"SGLANG_NCCL_SO_PATH": " "}) == ""
