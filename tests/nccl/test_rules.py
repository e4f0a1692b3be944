"""Findings about whole deployments: one cause, one finding, and nothing where nothing is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

PCIE = {"gpu": "RTX PRO 6000", "count": 4, "topology": "pcie", "nccl_version": "2.30.7"}
SWITCH = {"gpu": "H200", "count": 4, "topology": "nvswitch", "nccl_version": "2.30.7"}
OFF = {"disable_custom_all_reduce": True}


def report(folder: Path, env: dict[str, str], hardware: dict[str, Any] | None = None, **more: Any) -> Report:
    engine = more.pop("engine", "0.5.23")
    deployment = {
        "parallel": {"tp_size": 4, **more.pop("parallel", {})},
        "env": env,
        "hardware": hardware or PCIE,
        **more,
    }
    return validate([read_document(materialize({"engine": engine, "deployment": deployment}, folder))])


def loud(found: Report) -> list[str]:
    return [one.rule.id for one in found.findings if one.severity.value != "info"]


@pytest.mark.parametrize(
    "env",
    [
        {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "eth0", "NCCL_IB_DISABLE": "1"},
        {"NCCL_P2P_LEVEL": "PXB", "NCCL_MIN_NCHANNELS": "4", "NCCL_ALGO": "ring"},
        {"NCCL_ALGO": "ring,tree;allreduce:tree", "NCCL_PROTO": "LL,Simple;allreduce:LL"},
        {"NCCL_GRAPH_MIXING_SUPPORT": "0", "NCCL_GRAPH_STREAM_ORDERING": "0"},
        {"NCCL_BUFFSIZE": "0x400000", "NCCL_NTHREADS": "256"},
        {"NCCL_VERSION": "2.30.7", "NCCL_HOME": "/usr"},
        {"PATH": "/usr/bin", "HF_HOME": "/models"},
    ],
)
def test_good_settings_are_quiet(env: dict[str, str], tmp_path: Path) -> None:
    found = report(tmp_path, env)
    assert not found.crashes
    assert not loud(found)


def test_the_nccl_block_and_env_say_the_same(tmp_path: Path) -> None:
    block = report(tmp_path / "block", {}, nccl={"p2p_level": "phb"})
    plain = report(tmp_path / "plain", {"NCCL_P2P_LEVEL": "phb"})
    assert [one.finding.message for one in block.findings] == [one.finding.message for one in plain.findings]
    assert loud(block) == ["EC608"]


def test_a_value_keeps_its_spelling(tmp_path: Path) -> None:
    path = materialize({"deployment": {"parallel": {"tp_size": 4}, "hardware": PCIE}}, tmp_path)
    path.write_text(path.read_text().replace("hardware:", "nccl: {min_nchannels: 010}\n    hardware:", 1))
    found = validate([read_document(path)])
    assert loud(found) == ["EC604"]
    assert "NCCL_MIN_NCHANNELS=010" in found.findings[0].finding.message


@pytest.mark.parametrize(
    ("engine", "version"), [("0.5.14", "2.28.9"), ("0.5.20", "2.29.7"), ("0.5.22", "2.30.7")]
)
def test_the_version_is_the_one_that_the_engines_torch_brings(
    engine: str, version: str, tmp_path: Path
) -> None:
    hardware = {"gpu": "RTX PRO 6000", "count": 4, "topology": "pcie"}
    found = report(tmp_path, {"NCCL_NTHREADS": "100"}, hardware, engine=engine)
    (one,) = [one for one in found.findings if one.rule.id == "EC607"]
    assert one.finding.values["nccl_version"] == version


@pytest.mark.parametrize(
    ("declared", "version"),
    [("2.30", "2.30.7"), ("2.29", "2.29"), ("unknown", "2.30.7"), ("2.31.2", "2.31.2")],
)
def test_a_declared_version_counts_where_it_is_one(declared: str, version: str, tmp_path: Path) -> None:
    found = report(tmp_path, {"NCCL_NTHREADS": "100"}, {**PCIE, "nccl_version": declared})
    (one,) = [one for one in found.findings if one.rule.id == "EC607"]
    assert one.finding.values["nccl_version"] == version


def test_a_forced_protocol_is_judged_by_links_and_unjudged_without_them(tmp_path: Path) -> None:
    env = {"NCCL_PROTO": "LL,LL128,Simple"}
    assert loud(report(tmp_path / "pcie", env)) == ["EC613"]
    assert not loud(report(tmp_path / "switch", env, SWITCH, server=OFF))
    unknown = report(tmp_path / "unknown", env, {"gpu": "H200", "count": 4})
    assert not loud(unknown)
    reasons = {skipped.rule.id: skipped.reason for skipped in unknown.not_checked}
    assert "hardware.topology" in reasons["EC613"]


def test_one_cause_is_one_finding(tmp_path: Path) -> None:
    both_off = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
    assert loud(report(tmp_path / "a", both_off, SWITCH, server=OFF)) == ["EC618"]
    overwritten = report(
        tmp_path / "b", {"NCCL_ALGO": "Tree"}, SWITCH, server={"enable_deterministic_inference": True}
    )
    assert loud(overwritten) == ["EC622"]


def test_fixes_are_the_text_that_is_meant(tmp_path: Path) -> None:
    found = report(tmp_path, {"NCCL_BUFFSIZE": "4M", "NCCL_P2P_LEVEL": "pxb", "NCCL_PROTO": "LL, Simple"})
    fixes = {one.rule.id: one.finding.fix.text for one in found.findings if one.finding.fix is not None}
    meant = {"EC604": "4194304", "EC608": "PXB", "EC610": "LL,Simple"}
    assert {rule: text for rule, text in fixes.items() if rule.startswith("EC6")} == meant


def test_a_name_that_is_listed_as_unchecked_is_noted_only(tmp_path: Path) -> None:
    env = {"NCCL_SITE_PATCH": "1"}
    assert loud(report(tmp_path / "a", env)) == ["EC601"]
    listed = report(tmp_path / "b", env, unchecked_variables=["site_patch"])
    assert not loud(listed)
    assert any("unchecked" in one.finding.message for one in listed.findings)


@pytest.mark.parametrize(
    "folder", ["/no-such-folder-here", "/", "/etc", "/opt", "/tmp", "/usr/lib", "/var/run"]
)
@pytest.mark.parametrize("name", ["NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_CONF_FILE", "NCCL_NET_PLUGIN"])
def test_a_file_of_another_machine_is_not_judged(name: str, folder: str, tmp_path: Path) -> None:
    found = report(tmp_path, {name: f"{folder}/no-such-file-of-nccl"})
    assert not loud(found)
    (skipped,) = [one for one in found.not_checked if one.rule.id == "EC631"]
    assert "need not be the one that serves" in skipped.reason
    assert "--with-engine where the server runs" in skipped.help
    assert not skipped.incomplete


@pytest.mark.parametrize("name", ["NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_CONF_FILE", "NCCL_NET_PLUGIN"])
def test_a_file_that_travels_with_the_config_has_to_be_there(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "deploy"
    for number, path in enumerate(("topo.xml", "./x/topo.xml", "../topo.xml", str(folder / "no/topo.xml"))):
        if "/" in path or name != "NCCL_NET_PLUGIN":
            assert loud(report(folder, {name: path})) == ["EC631"], number
    held = folder / "topo.xml"
    held.write_text("")
    assert not loud(report(folder, {name: str(held)}))


def test_a_strange_name_is_less_sure_for_a_newer_nccl(tmp_path: Path) -> None:
    env = {"NCCL_WHOLLY_OTHER": "1"}
    severities = {}
    for version in ("2.30.7", "2.33.1"):
        found = report(tmp_path / version, env, {**PCIE, "nccl_version": version})
        (one,) = [one for one in found.findings if one.rule.id == "EC601"]
        severities[version] = one.severity.value
    assert severities == {"2.30.7": "error", "2.33.1": "warning"}


def test_facts_are_left_alone_where_nothing_asks_for_them(tmp_path: Path) -> None:
    import subprocess

    path = materialize({"deployment": {"env": {"HF_HOME": "/models"}}}, tmp_path)
    code = (
        "import sys; from eaglecfg.rules.runner import validate; from eaglecfg.source.read import "
        "read_document;"
        "from pathlib import Path; validate([read_document(Path(sys.argv[1]))]);"
        "print([name for name in sys.modules if name.startswith('eaglecfg.nccl.')])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['eaglecfg.nccl.version']"
