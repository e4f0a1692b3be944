"""Which implementation carries an all-reduce of a given size: by version, machine, ranks and flags."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from eaglecfg.nccl.custom import custom_row, custom_shot, unreadable_entry
from eaglecfg.nccl.engine_writes import engine_table
from eaglecfg.nccl.gpus import gpu_of
from eaglecfg.nccl.paths import Machine, Message, Taken, all_reduce_path, fusion_runs, size_words
from eaglecfg.nccl.version import at_least
from eaglecfg.schema_files import read_schema
from tests.nccl.test_engine_writes import launch

KIB, MIB = 1 << 10, 1 << 20
VERSIONS = ("0.5.4.post1", "0.5.9", "0.5.12", "0.5.13", "0.5.14", "0.5.17", "0.5.21", "0.5.23")


def taken(
    version: str = "0.5.23",
    topology: str | None = "nvswitch",
    gpu: str | None = "H200",
    size: int = 56 * KIB,
    *,
    rows: int = 4,
    dtype: str = "bfloat16",
    layer: bool = True,
    automatic: bool = False,
    **arguments: Any,
) -> Taken:
    now = launch(version, **arguments)
    found = gpu_of(gpu)
    return all_reduce_path(
        now,
        Machine(topology, found),
        Message(rows, size, dtype, layer),
        fusion=fusion_runs(now, found, automatic=automatic),
    )


@pytest.mark.parametrize(
    ("version", "gpu", "tp", "size", "how"),
    [
        ("0.5.12", "H200", 8, 160 * KIB, "one-shot push"),
        ("0.5.12", "H200", 8, 160 * KIB + 16, "two-shot pull"),
        ("0.5.12", "H200", 2, 8 * MIB, "one-shot pull"),
        ("0.5.12", "A100", 4, 384 * KIB, "one-shot push"),
        ("0.5.12", "B200", 8, 720 * KIB, "one-shot push"),
        ("0.5.14", "H200", 4, 300 * KIB, "one-shot push"),
        ("0.5.16", "H200", 8, 128 * KIB, "one-shot push"),
        ("0.5.17", "H200", 8, 512 * KIB, "two-shot multicast"),
        ("0.5.17", "H200", 8, 512 * KIB - 16, "two-shot pull"),
        ("0.5.21", "B200", 8, 512 * KIB, "one-shot push"),
        ("0.5.23", "B200", 8, 512 * KIB, "two-shot push"),
        ("0.5.23", "B200", 8, 256 * KIB, "one-shot push"),
        ("0.5.23", "B200", 8, 9 * MIB, "two-shot multicast"),
        ("0.5.23", "A100", 8, MIB, "one-shot push"),
        ("0.5.23", "A100", 8, MIB + 16, "two-shot pull"),
    ],
)
def test_the_kernel_goes_by_size_ranks_and_gpu(version: str, gpu: str, tp: int, size: int, how: str) -> None:
    found = taken(version, gpu=gpu, tp=tp, size=size)
    assert (found.carrier, found.how) == ("custom", how)


@pytest.mark.parametrize(
    ("version", "most"), [("0.5.9", 8 * MIB), ("0.5.12", 16 * MIB), ("0.5.23", 16 * MIB)]
)
def test_beyond_its_limit_nccl_takes_over(version: str, most: int) -> None:
    assert taken(version, size=most).carrier == "custom"
    above = taken(version, size=most + 16)
    assert above.carrier == "nccl"
    assert size_words(most) in above.why
    assert taken(version, size=most).most == most


def test_the_limit_of_the_second_implementation_can_be_set() -> None:
    assert taken(size=2 * MIB, env={"SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB": "1024"}).carrier == "nccl"
    assert (
        taken("0.5.14", size=2 * MIB, env={"SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB": "1"}).carrier
        == "custom"
    )
    pushed = taken(size=MIB, env={"SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PUSH_SIZE_KB": "2048"})
    assert pushed.how == "one-shot push"
    assert taken(size=MIB, env={"SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB": "x" * 50}).carrier == "custom"


def test_two_ranks_over_pcie_were_left_to_nccl_by_one_version() -> None:
    names = {version: taken(version, "pcie", "RTX PRO 6000", tp=2).carrier for version in VERSIONS}
    assert {version for version, name in names.items() if name == "nccl"} == {"0.5.12"}
    old = {"SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2": "0"}
    assert taken("0.5.12", "pcie", "L40S", tp=2, env=old).carrier == "custom"


def test_a_driver_that_may_refuse_is_said_and_counts_as_nccls() -> None:
    found = taken(topology="pcie", gpu="RTX 4090", tp=2)
    assert (found.carrier, found.sure, found.nccl) == ("custom", False, True)
    assert "stock driver" in found.why
    assert taken(topology="pcie", gpu="RTX PRO 6000", tp=2).sure


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("arguments", "carrier"),
    [
        ({"topology": "pcie", "tp": 8}, "nccl"),
        ({"topology": "nvlink-pair", "tp": 4}, "nccl"),
        ({"topology": "nvlink-pair", "tp": 2}, "custom"),
        ({"tp": 1}, "none"),
        ({"disable_custom_all_reduce": True}, "nccl"),
        ({"enable_deterministic_inference": True}, "nccl"),
        ({"nodes": 2, "tp": 16}, "nccl"),
        ({"topology": None}, "not_known"),
        ({"topology": None, "disable_custom_all_reduce": True}, "nccl"),
        ({"topology": None, "gpu": None, "nodes": 2, "tp": 16, "disable_custom_all_reduce": True}, "nccl"),
        ({"enable_dp_attention": True}, "not_known"),
        ({"size": 10}, "nccl"),
        ({"env": {"CUDA_VISIBLE_DEVICES": "GPU-8f3a"}}, "nccl"),
    ],
)
def test_who_carries_it(version: str, arguments: dict[str, Any], carrier: str) -> None:
    found = taken(version, **arguments)
    assert found.carrier == carrier
    assert found.why
    assert bool(found.wanted) == (carrier == "not_known" and arguments.get("topology", "") is None)


@pytest.mark.parametrize(
    ("version", "tp", "flags", "carrier"),
    [
        ("0.5.9", 8, {"enable_symm_mem": True}, "nccl_symmetric"),
        ("0.5.14", 8, {"enable_symm_mem": True}, "nccl_symmetric"),
        ("0.5.17", 8, {"enable_symm_mem": True}, "custom"),
        ("0.5.9", 8, {"enable_mscclpp": True}, "custom"),
        ("0.5.14", 8, {"enable_mscclpp": True}, "mscclpp"),
        ("0.5.14", 4, {"enable_mscclpp": True}, "custom"),
        ("0.5.21", 4, {"enable_mscclpp": True}, "mscclpp"),
        ("0.5.9", 8, {"enable_mscclpp": True, "disable_custom_all_reduce": True}, "mscclpp"),
        ("0.5.14", 8, {"enable_torch_symm_mem": True}, "custom"),
        ("0.5.14", 8, {"enable_torch_symm_mem": True, "disable_custom_all_reduce": True}, "torch_symm_mem"),
        ("0.5.14", 3, {"enable_torch_symm_mem": True, "disable_custom_all_reduce": True}, "nccl"),
    ],
)
def test_the_order_of_the_others_changed_with_the_versions(
    version: str, tp: int, flags: dict[str, Any], carrier: str
) -> None:
    assert taken(version, tp=tp, **flags).carrier == carrier


def test_symmetric_kernels_need_nvlink() -> None:
    found = taken("0.5.9", "pcie", "L40S", tp=2, enable_symm_mem=True)
    assert (found.carrier, "NVLink" in found.why) == ("nccl", True)
    assert taken("0.5.17", "pcie", "L40S", tp=2, enable_symm_mem=True).carrier == "custom"


def test_torch_symmetric_memory_needs_its_dtype_its_gpu_and_its_size() -> None:
    flags: dict[str, Any] = {"enable_torch_symm_mem": True, "disable_custom_all_reduce": True}
    assert taken(tp=8, size=128 * MIB - 16, **flags).carrier == "torch_symm_mem"
    assert taken(tp=8, size=128 * MIB, **flags).carrier == "nccl"
    assert taken(tp=8, dtype="float16", **flags).carrier == "nccl"
    assert taken(tp=8, gpu="A100", **flags).carrier == "nccl"


def test_pcie_hosts_may_ask_for_flashinfers_kernels() -> None:
    env = {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"}
    found = taken(topology="pcie", gpu="RTX PRO 6000", env=env)
    assert (found.carrier, found.sure) == ("pcie_ipc", False)
    assert taken("0.5.17", "pcie", "RTX PRO 6000", env=env).carrier == "nccl"
    assert taken(topology="pcie", gpu="RTX PRO 6000", tp=6, env=env).carrier == "nccl"
    assert taken(env=env).carrier == "custom"


@pytest.mark.parametrize("version", ["0.5.9", "0.5.12", "0.5.17", "0.5.18", "0.5.23"])
def test_fusion_takes_layers_and_since_one_version_everything(version: str) -> None:
    assert taken(version, automatic=True).carrier == "fused"
    assert taken(version, automatic=True, rows=2048).carrier == "fused"
    assert taken(version, automatic=True, rows=2049).carrier == "custom"
    others = taken(version, automatic=True, layer=False).carrier
    assert others == ("fused" if at_least(version, "0.5.18") else "custom")
    assert taken(version, automatic=True, gpu="A100").carrier == "custom"
    assert taken(version, automatic=True, topology="pcie").carrier == "nccl"
    assert taken(version, automatic=True, gpu=None).carrier == "not_known"
    assert taken(version, automatic=True, gpu=None).wanted == ("hardware.gpu",)
    off: dict[str, Any] = {"enforce_disable_flashinfer_allreduce_fusion": True}
    assert taken(version, automatic=True, **off).carrier == "custom"
    assert taken(version, automatic=True, disable_custom_all_reduce=True).carrier == "fused"


def test_fusion_that_was_asked_for_reaches_only_what_a_class_hands_over() -> None:
    asked: dict[str, Any] = {"enable_flashinfer_allreduce_fusion": True}
    now = launch("0.5.14", **asked)
    machine, fusion = Machine("nvswitch", gpu_of("H200")), fusion_runs(now, gpu_of("H200"), automatic=False)
    found = all_reduce_path(now, machine, Message(4, 56 * KIB, read=False), fusion=fusion)
    assert (found.carrier, found.sure, found.nccl) == ("fused", False, True)
    assert "as asked" in found.why
    later = launch("0.5.23", flashinfer_allreduce_fusion_backend="auto")
    found = all_reduce_path(later, machine, Message(4, 56 * KIB, read=False), fusion=fusion)
    assert (found.carrier, found.sure) == ("fused", True)


def test_deterministic_mode_stops_fusion_since_one_version() -> None:
    flags: dict[str, Any] = {"automatic": True, "enable_deterministic_inference": True}
    assert taken("0.5.9", **flags).carrier == "fused"
    assert taken("0.5.12", **flags).carrier == "nccl"


def test_fabrics_carry_their_own_all_reduce_between_nodes_if_memory_is_mapped_for_it() -> None:
    grace: dict[str, Any] = {"gpu": "GB200", "nodes": 2, "tp": 8, "fabric": True}
    mapped = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    assert taken(**grace).carrier == "nccl"
    assert "expandable_segments" in taken(**grace).why
    assert taken(**grace, env=mapped).carrier == "custom"
    assert taken("0.5.14", **grace, env=mapped).carrier == "nccl"
    wanted = taken(gpu=None, nodes=2, tp=8)
    assert (wanted.carrier, wanted.wanted) == ("not_known", ("hardware.gpu",))


@pytest.mark.parametrize(
    ("version", "tp", "env", "carrier"),
    [
        ("0.5.23", 5, {"SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2": "0"}, "nccl"),
        ("0.5.11", 5, {"SGLANG_USE_JIT_ALL_REDUCE": "true"}, "custom"),
        ("0.5.11", 5, {}, "nccl"),
        ("0.5.12", 5, {}, "custom"),
    ],
)
def test_the_implementation_decides_which_ranks_it_knows(
    version: str, tp: int, env: dict[str, str], carrier: str
) -> None:
    assert taken(version, tp=tp, env=env).carrier == carrier


@pytest.mark.parametrize(
    ("visible", "entry"),
    [
        ("", None),
        ("0,1,2,3", None),
        (" 0, 1", None),
        ("0,1,2,-1", None),
        ("0,1,", ""),
        ("0 1 2 3", "0 1 2 3"),
        ("0,GPU-1f", "GPU-1f"),
        ("none", "none"),
        ("0;1", "0;1"),
    ],
)
def test_the_entry_that_the_engine_cannot_read(visible: str, entry: str | None) -> None:
    assert unreadable_entry(visible) == entry
    assert taken(env={"CUDA_VISIBLE_DEVICES": visible}).carrier == ("custom" if entry is None else "nccl")


def test_every_answer_names_a_line_of_the_engine() -> None:
    asked: tuple[dict[str, Any], ...] = ({}, {"enable_symm_mem": True}, {"disable_custom_all_reduce": True})
    for version, topology, flags in itertools.product(VERSIONS, ("nvswitch", "pcie"), asked):
        assert ".py:" in taken(version, topology, **flags).source


def test_rows_of_the_paths_are_in_order_and_sourced() -> None:
    table = engine_table()
    known = read_schema("engines", "sglang", "versions.json")["versions"]
    second = table["custom_all_reduce"][1]
    groups = [table[key] for key in ("order", "fusion", "mscclpp", "torch_symm_mem")]
    groups += [second["shots"], second["across_nodes"], table["calls"]["extend_rows"]]
    for rows in groups:
        for row in rows:
            assert {row["since"], row.get("until", row["since"]), row["read_in"]} <= set(known)
            assert row["source"].startswith("srt/")
        for earlier, later in itertools.pairwise(rows):
            assert known.index(earlier["until"]) + 1 == known.index(later["since"])


def test_every_known_version_has_an_order_and_the_second_one_its_sizes() -> None:
    known = read_schema("engines", "sglang", "versions.json")["versions"]
    for version, gpu in itertools.product(known, (None, "H200", "B200", "A100", "RTX PRO 6000")):
        for tp in (2, 4, 8):
            now = launch(version, tp=tp)
            row = custom_row(now, gpu_of(gpu), linked=True)
            assert row is not None
            how, most = custom_shot(now, row, gpu_of(gpu), 1024)
            assert how
            assert most in (8 * MIB, 16 * MIB)
        assert taken(version, "pcie", "L40S").source


@pytest.mark.parametrize(
    ("size", "words"),
    [(10, "10 bytes"), (1024, "1 KiB"), (57344, "56 KiB"), (1835008, "1.75 MiB"), (16 * MIB, "16 MiB")],
)
def test_sizes_are_said_as_people_say_them(size: int, words: str) -> None:
    assert size_words(size) == words
