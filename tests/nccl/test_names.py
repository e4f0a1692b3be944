"""Names that are nearly NCCL's: never one under which the value means the opposite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eaglecfg.machine.findings import Finding
from eaglecfg.machine.setting_findings import _unknown
from eaglecfg.nccl.bench.setting import _unknown as bench_says
from eaglecfg.nccl.facts import library_strings, related, variable_names
from eaglecfg.nccl.names import nearest, negative, opposite, same_sense
from eaglecfg.rules.outcome import Reported
from tests.nccl.test_rules import PCIE, loud, report

KNOWN = variable_names()


def unknown(name: str, text: str, folder: Path, version: str = "2.30.7") -> Reported:
    found = report(folder, {name: text}, {**PCIE, "nccl_version": version})
    (one,) = [one for one in found.findings if one.rule.id == "EC601"]
    return one


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NCCL_PORTO", "NCCL_PROTO"),
        ("NCCL_AGLO", "NCCL_ALGO"),
        ("NCCL_DEUBG", "NCCL_DEBUG"),
        ("NCCL_P2P_LVEL", "NCCL_P2P_LEVEL"),
        ("NCCL_P2P_DISALBE", "NCCL_P2P_DISABLE"),
        ("NCCL_DISABLE_P2P", None),
        ("NCCL_MIN_NCHANELS", "NCCL_MIN_NCHANNELS"),
        ("NCCL_MAX_NCHANNEL", "NCCL_MAX_NCHANNELS"),
        ("NCCL_P2PDISABLE", "NCCL_P2P_DISABLE"),
        ("NCL_PROTO", "NCCL_PROTO"),
        ("NCCL_FOO", None),
        ("NCCL_", None),
        ("NCCL_RAS_DISABLE", None),
        ("NCCL_PAT_DISABLE", None),
        ("NCCL_P2P_ENABLE", None),
        ("NCCL_P2P_ENABEL", None),
    ],
)
def test_nearest(name: str, near: str | None) -> None:
    assert nearest(name, KNOWN) == near


@pytest.mark.parametrize("name", [name for name in KNOWN if "ENABLE" in name or "DISABLE" in name])
def test_no_name_leads_to_its_opposite(name: str) -> None:
    turned = name.replace("ENABLE", "\0").replace("DISABLE", "ENABLE")
    turned = turned.replace("\0", "DISABLE")
    if turned in KNOWN:
        return
    assert opposite(turned, KNOWN) == name
    near = nearest(turned, KNOWN)
    assert near is None or same_sense(turned, near)


@pytest.mark.parametrize("text", ["1", "0", "true", "off", "7"])
@pytest.mark.parametrize(
    "name", ["NCCL_P2P_DISABLE", "NCCL_NVLS_ENABLE", "NCCL_NET_DISABLE_INTRA", "NCCL_P2P_DIRECT_DISABLE"]
)
def test_a_fix_never_turns_a_value_around(name: str, text: str, tmp_path: Path) -> None:
    turned = name.replace("ENABLE", "\0").replace("DISABLE", "ENABLE").replace("\0", "DISABLE")
    one = unknown(turned, text, tmp_path)
    assert one.finding.fix is None
    assert name in one.finding.message
    if text != "7":
        meant = 0 if text in ("1", "true") else 1
        assert f"{name}={meant} is what {text} means" in one.finding.help


def test_names_without_a_turn_are_not_turned_either(tmp_path: Path) -> None:
    for name, other in related()["renamed"].items():
        one = unknown(name, "1", tmp_path / name)
        if negative(name) != negative(other):
            assert one.finding.fix is None
            assert f"{other}=0" in one.finding.help
        else:
            assert one.finding.fix is not None
            assert not one.finding.fix.safe, "NCCL reads the new name, and did not read the old one"


def test_a_name_inside_the_code_is_no_setting(tmp_path: Path) -> None:
    name = min(library_strings() - set(related()["renamed"]))
    one = unknown(name, "1", tmp_path)
    assert "inside NCCL's code" in one.finding.message


@pytest.mark.parametrize("name", ["NCCL_IB_PKEY_WORD", "NCCL_GIN_PROXY_NTHREAD", "NCCL_WHOLLY_OTHER"])
def test_beyond_the_facts_nothing_is_certain(name: str, tmp_path: Path) -> None:
    one = unknown(name, "1", tmp_path, "2.40.1")
    assert one.severity.value == "warning"
    assert "2.32.3" in one.finding.why
    assert "2.40.1" in one.finding.why
    assert one.finding.fix is None or not one.finding.fix.safe


def test_values_of_findings_are_plain_data(tmp_path: Path) -> None:
    assert json.dumps(dict(unknown("NCCL_P2P_ENABLE", "1", tmp_path).finding.values))


def test_the_machine_and_the_measurement_know_the_opposite_too() -> None:
    (found,) = machine_finding("NCCL_P2P_ENABLE")
    assert "NCCL_P2P_DISABLE says the opposite" in found.message
    assert "turn the value around" in found.help
    assert "NCCL_P2P_DISABLE says the opposite" in bench_says("NCCL_P2P_ENABLE", "2.30.7")[0]
    assert "the nearest name is NCCL_PROTO" in bench_says("NCCL_PORTO", "2.30.7")[0]


def machine_finding(name: str) -> list[Finding]:
    return list(_unknown(name, "the environment sets"))


@pytest.mark.parametrize("name", ["NCCL_IB_PKEY_VALUE", "NCCL_GIN_PROXY_NTHREADS"])
@pytest.mark.parametrize(("version", "rules"), [("2.30.7", ["EC602"]), ("2.31.2", []), ("2.32.3", [])])
def test_names_of_the_newest_library_are_known(
    name: str, version: str, rules: list[str], tmp_path: Path
) -> None:
    assert loud(report(tmp_path, {name: "1"}, {**PCIE, "nccl_version": version})) == rules


@pytest.mark.parametrize(
    "name",
    ["NCCL_LL_THRESHOLD", "NCCL_TREE_THRESHOLD", "NCCL_IB_RETURN_ASYNC_EVENTS", "NCCL_UID_STAGGER_RATE"],
)
def test_names_that_an_old_library_does_not_have(name: str, tmp_path: Path) -> None:
    assert loud(report(tmp_path, {name: "1"}, {**PCIE, "nccl_version": "2.21.5"})) == ["EC602"]
