"""The topology class, from what NVML says about links."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from eaglecfg.machine.gpus import read_gpus
from eaglecfg.machine.links import Links, Pair, classify, read_links
from eaglecfg.machine.places import Places
from tests.machine.library import bus, h200, nvml


def pairs(
    count: int, joined: set[tuple[int, int]] | None, *, direct: int = 0, switched: bool | None = None
) -> list[Pair]:
    """All pairs of ``count`` GPUs; ``joined`` None: all of them by NVLink."""
    return [
        Pair(a, b, linked, direct if linked else 0, switched if linked else False, "ok", "SYS")
        for a, b in combinations(range(count), 2)
        for linked in [joined is None or (a, b) in joined]
    ]


@pytest.mark.parametrize("count", [2, 4, 8])
def test_all_pairs_through_switches_are_nvswitch(count: int) -> None:
    topology, why = classify(count, pairs(count, None, switched=True))
    assert (topology, why) == ("nvswitch", "NVLink joins every pair through switches")


def test_bridged_pairs_are_nvlink_pair() -> None:
    topology, why = classify(4, pairs(4, {(0, 1), (2, 3)}, direct=4, switched=False))
    assert (topology, why) == ("nvlink-pair", "NVLink joins 2 pairs of GPUs, PCIe the rest")
    assert classify(2, pairs(2, None, direct=12, switched=False)) == (
        "nvlink-pair",
        "12 NVLinks between the two GPUs, no switch",
    )


@pytest.mark.parametrize("count", [2, 4, 8])
def test_no_link_at_all_is_pcie(count: int) -> None:
    assert classify(count, pairs(count, set()))[0] == "pcie"


def test_one_gpu_is_single_and_none_is_nothing() -> None:
    assert classify(1, [])[0] == "single"
    assert classify(0, []) == (None, "no GPU is visible")


def test_a_full_mesh_without_switches_counts_as_all_pairs_in_one_hop() -> None:
    topology, why = classify(4, pairs(4, None, direct=4, switched=False))
    assert topology == "nvswitch"
    assert "without a switch" in why


def test_two_linked_gpus_whose_far_ends_are_hidden_are_not_promised_a_switch() -> None:
    topology, why = classify(2, pairs(2, None, switched=None))
    assert topology == "nvlink-pair"
    assert "was not told" in why


@pytest.mark.parametrize(
    ("count", "joined"),
    [
        (8, {(a, b) for group in ((0, 1, 2, 3), (4, 5, 6, 7)) for a, b in combinations(group, 2)}),
        (3, {(0, 1), (1, 2)}),
        (8, {(0, 1), (0, 2), (1, 3), (2, 3), (0, 4), (1, 5), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7), (6, 7)}),
    ],
)
def test_what_is_linked_in_part_is_never_nvswitch(count: int, joined: set[tuple[int, int]]) -> None:
    topology, why = classify(count, pairs(count, joined, direct=1, switched=False))
    assert topology == "nvlink-pair"
    assert f"{len(joined)} of {count * (count - 1) // 2} pairs" in why


def test_one_pair_that_is_not_told_leaves_it_undecided() -> None:
    told = pairs(4, None, switched=True)
    told[3] = Pair(1, 2, None, 0, None, None, None)
    topology, why = classify(4, told)
    assert topology is None
    assert "GPU 1 and GPU 2" in why


def look(answers: dict[str, Any]) -> Links:
    library = nvml(answers)
    return read_links(library, read_gpus(library, None, Places()))


def test_a_board_with_switches_is_read_as_one() -> None:
    links = look(h200(2))
    assert links.topology == "nvswitch"
    assert links.pairs == (Pair(0, 1, True, 0, True, "ok", "SYS"),)


def test_switches_show_by_the_fabric_where_a_virtual_machine_hides_the_far_ends() -> None:
    answers = h200(2)
    del answers["DeviceGetNvLinkRemoteDeviceType"], answers["DeviceGetNvLinkRemotePciInfo"]
    assert look(answers).topology == "nvswitch"
    del answers["DeviceGetGpuFabricInfo"]
    links = look(answers)
    assert (links.topology, links.pairs[0].switched) == ("nvlink-pair", None)


def test_switches_show_by_far_ends_that_are_no_gpu() -> None:
    answers = h200(2)
    del answers["DeviceGetNvLinkRemoteDeviceType"], answers["DeviceGetGpuFabricInfo"]
    assert look(answers).topology == "nvswitch"


def test_bridges_are_counted_by_the_gpu_at_their_far_end() -> None:
    answers = h200(
        4,
        DeviceGetNvLinkState=lambda handle, link: int(link < 3),
        DeviceGetNvLinkRemoteDeviceType=0,
        DeviceGetNvLinkRemotePciInfo=lambda handle, link: bus(handle ^ 1),
        DeviceGetP2PStatus=lambda one, other, index: 0 if index < 2 or one ^ 1 == other else 5,
    )
    del answers["DeviceGetGpuFabricInfo"]
    links = look(answers)
    assert links.topology == "nvlink-pair"
    assert [(pair.first, pair.second, pair.direct) for pair in links.pairs if pair.nvlink] == [
        (0, 1, 3),
        (2, 3, 3),
    ]


def test_gpus_without_nvlink_are_pcie_even_where_p2p_is_refused() -> None:
    answers = h200(2, DeviceGetP2PStatus=lambda one, other, index: 5 if index == 2 else 1)
    for name in ("DeviceGetNvLinkState", "DeviceGetGpuFabricInfo"):
        del answers[name]
    links = look(answers)
    assert links.topology == "pcie"
    assert links.pairs[0].p2p == "chipset not supported"


def test_a_switch_that_is_partitioned_does_not_join() -> None:
    links = look(h200(2, DeviceGetP2PStatus=lambda one, other, index: 5 if index == 2 else 0))
    assert links.topology == "pcie"


def test_nothing_told_is_undecided_and_not_pcie() -> None:
    answers = {name: h200(2)[name] for name in ("DeviceGetCount", "DeviceGetHandleByIndex")}
    links = look(answers)
    assert links.topology is None
    assert links.pairs == (Pair(0, 1, None, 0, None, None, None),)
