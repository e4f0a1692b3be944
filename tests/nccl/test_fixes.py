"""What a finding tells to write is good: a safe fix leads to no other finding, advice to none of its kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.nccl.parse import parse
from eaglecfg.rules.outcome import Report
from tests.nccl.test_rules import OFF, SWITCH, loud, report

NODE = {**SWITCH, "nccl_version": "2.28.9"}
"""A version on which asking for NVLS may hang."""

TEXTS = {
    "NCCL_NVLS_ENABLE": ("true", "on", "off", " 2", "2.0"),
    "NCCL_MNNVL_ENABLE": ("true", "yes"),
    "NCCL_PAT_ENABLE": ("true", "no"),
    "NCCL_CUMEM_ENABLE": ("true", "false"),
    "NCCL_P2P_DISABLE": ("false", "+0", "00"),
    "NCCL_P2P_LEVEL": ("pxb", "2", "NVL "),
    "NCCL_PROTO": ("LL, Simple", "LL ,Simpel"),
    "NCCL_ALGO": ("ring, tree", "ring; allreduce:tree"),
    "NCCL_BUFFSIZE": ("4M", "4194304 ", "4MiB"),
    "NCCL_DEBUG": ("warn ", "WARN\t"),
    "NCCL_DEBUG_SUBSYS": ("INIT, ENV",),
    "NCCL_NET": ("tcp", "infiniband"),
    "NCCL_THREAD_THRESHOLDS": ("8,8,64",),
    "NCCL_NTHREADS": ("256 # fast", "0256"),
    "nccl_debug": ("WARN",),
    "NCCL_MIN_CHANNELS": ("8",),
    "NCCL_NCHANNELS": ("8",),
    "NCCL_P2P": ("0",),
    "TORCH_NCCL_BLOCKING_WAITS": ("0",),
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_a_safe_fix_leads_to_no_other_finding(name: str, text: str, tmp_path: Path) -> None:
    env = {name: text}
    before = report(tmp_path / "before", env, NODE, server=OFF)
    for number, one in enumerate(before.findings):
        fix = one.finding.fix
        if fix is None or not fix.safe or fix.path[2:4] != ("env", name):
            continue
        mended = {"rename": {fix.text: text}, "set": {name: fix.text}, "remove": {}}[fix.kind]
        after = report(tmp_path / str(number), mended, NODE, server=OFF)
        assert set(loud(after)) <= set(loud(before)) - {one.rule.id}, mended


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_a_safe_fix_keeps_the_value_that_nccl_reads(name: str, text: str, tmp_path: Path) -> None:
    for one in report(tmp_path, {name: text}, NODE, server=OFF).findings:
        fix = one.finding.fix
        if fix is None or not fix.safe:
            continue
        assert fix.kind == "set", "a name that is read from then on was not read before"
        now, then = (parse(name, each, NODE["nccl_version"]) for each in (text, fix.text))
        assert now.taken is not None
        assert (then.taken, then.problems) == (now.taken, ())


@pytest.mark.parametrize(
    ("name", "text", "fixed", "safe"),
    [
        ("NCCL_P2P_DISABLE", "true", "1", False),  # reads 0: P2P is on today
        ("NCCL_P2P_DISABLE", "false", "0", True),
        ("NCCL_P2P_DISABLE", " 1", "1", True),
        ("NCCL_BUFFSIZE", "4M", "4194304", False),  # reads 4
        ("NCCL_BUFFSIZE", "4194304 ", "4194304", True),
        ("NCCL_NTHREADS", "0256", "256", False),  # octal
        ("NCCL_NTHREADS", "256 # fast", "256", True),
        ("NCCL_P2P_LEVEL", "pxb", "PXB", False),  # not known: the default
        ("NCCL_P2P_LEVEL", "2", "PXB", True),
    ],
)
def test_the_same_number_is_safe_and_another_is_not(
    name: str, text: str, fixed: str, safe: bool, tmp_path: Path
) -> None:
    found = [one.finding.fix for one in report(tmp_path, {name: text}, NODE, server=OFF).findings]
    assert [(fix.text, fix.safe) for fix in found if fix is not None and fix.kind == "set"] == [(fixed, safe)]


@pytest.mark.parametrize(
    ("env", "rule", "safe"),
    [
        ({"NCCL_MIN_NRINGS": "4", "NCCL_MIN_NCHANNELS": "8"}, "EC616", True),
        ({"NCCL_MIN_NRINGS": "4", "NCCL_MIN_NCHANNELS": ""}, "EC616", False),  # the old name holds
        ({"NCCL_MIN_NRINGS": "4", "NCCL_MIN_NCHANNELS": "${NCCL_MIN_NCHANNELS}"}, "EC616", False),
        ({"NCCL_MIN_NCHANNELS": "4", "NCCL_MIN_CTAS": "8"}, "EC616", False),  # the greater holds
        ({"NCCL_TUNER_CONFIG_FILE": "t.csv", "NCCL_TUNER_PLUGIN": "none"}, "EC633", True),
        ({"NCCL_TUNER_CONFIG_FILE": "t.csv"}, "EC633", False),  # libnccl-tuner.so may be there
        ({"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "PXB"}, "EC617", True),
        ({"NCCL_PROTOCOL": "LL"}, "EC601", False),
    ],
)
def test_a_removal_is_safe_where_nothing_reads_what_goes(
    env: dict[str, str], rule: str, safe: bool, tmp_path: Path
) -> None:
    found = report(tmp_path, env, NODE, server=OFF).findings
    fixes = [one.finding.fix for one in found if one.rule.id == rule]
    assert [fix.safe for fix in fixes if fix is not None] == [safe]


def finding(found: Report, rule: str) -> str:
    (one,) = [one.finding for one in found.findings if one.rule.id == rule]
    return f"{one.message}; {one.why}; {one.help}"


@pytest.mark.parametrize(
    ("env", "advice"),
    [
        ({"NCCL_PROTO": "^LL,LL128,Simple"}, "NCCL_PROTO=LL,Simple"),
        ({"NCCL_ALGO": "ring;allreduce:nvls"}, "set enable_nccl_nvls: true"),
        ({"NCCL_ALGO": "tree"}, "NCCL_ALGO=ring,tree;allreduce:tree"),
        ({"NCCL_ALGO": "ring;allreduce:collnetdirect"}, "leave CollNetDirect out"),
        ({"NCCL_ALGO": "ring;allreduce:collnetdirect", "NCCL_COLLNET_ENABLE": "1"}, "needs 2 nodes"),
        (
            {"NCCL_ALGO": "ring;allreduce:nvls", "NCCL_PROTO": "LL", "NCCL_NVLS_ENABLE": "2"},
            "leave Simple in",
        ),
    ],
)
def test_a_collective_without_algorithm_is_told_what_it_lacks(
    env: dict[str, str], advice: str, tmp_path: Path
) -> None:
    assert advice in finding(report(tmp_path, env, SWITCH, server=OFF), "EC611")


def test_advice_on_a_single_protocol_is_not_circular(tmp_path: Path) -> None:
    first = finding(report(tmp_path / "a", {"NCCL_PROTO": "LL"}, SWITCH, server=OFF), "EC614")
    for number, text in enumerate(("LL,Simple", "LL,Simple;allreduce:LL")):
        assert text in first
        after = report(tmp_path / str(number), {"NCCL_PROTO": text}, SWITCH, server=OFF)
        assert "EC614" not in {one.rule.id for one in after.findings}


@pytest.mark.parametrize(
    ("env", "shown"),
    [
        ({"NCCL_DEBUG": "INFO "}, "'INFO '"),
        ({"NCCL_DEBUG_SUBSYS": "INIT, ENV"}, "' ENV'"),
        ({"NCCL_BUFFSIZE": "4194304 "}, "'4194304 '"),
        ({"NCCL_P2P_LEVEL": " PXB"}, "' PXB'"),
        ({"NCCL_PROTO": "LL,Simple "}, "'Simple '"),
    ],
)
def test_blanks_are_shown(env: dict[str, str], shown: str, tmp_path: Path) -> None:
    found = report(tmp_path, env, SWITCH, server=OFF)
    assert any(shown in one.finding.message for one in found.findings)


def test_a_setting_that_is_cut_short_does_not_sound_like_a_crash(tmp_path: Path) -> None:
    told = finding(report(tmp_path, {"NCCL_THREAD_THRESHOLDS": "8,8,64"}, SWITCH, server=OFF), "EC608")
    assert "stops" not in told
    assert "takes 8 from it and ignores the rest" in told


def test_what_only_changes_the_log_is_a_warning(tmp_path: Path) -> None:
    found = report(tmp_path, {"NCCL_DEBUG_SUBSYS": "BANANA"}, SWITCH, server=OFF)
    assert [x.severity.value for x in found.findings if x.rule.id == "EC608"] == ["warning"]
