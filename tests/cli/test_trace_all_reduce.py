"""The section of ``eaglecfg trace`` on all-reduces: who carries them, their sizes, the estimate."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from eaglecfg.rules.examples import materialize

from .conftest import RunLine

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "trace.schema.json").read_text(encoding="utf-8"))
PCIE = {"gpu": "RTX PRO 6000", "count": 8, "topology": "pcie"}
SWITCHED = {"gpu": "H200", "count": 8, "topology": "nvswitch"}


@pytest.fixture
def traced(run_line: RunLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Trace the small pair as deployed in blocks: the section, and the same as JSON."""

    def _trace(**blocks: Any) -> tuple[str, dict[str, Any]]:
        materialize({"title": "traced", "deployment": blocks}, tmp_path)
        monkeypatch.chdir(tmp_path)
        code, out, err = run_line("trace")
        assert (code, err) == (0, "")
        _, text, _ = run_line("trace", "--format", "json")
        report = json.loads(text)
        jsonschema.validate(report, SCHEMA)
        assert report["version"] == 1
        start = out.index("All-reduce")
        return out[start:].split("In short:")[0], report["deployments"][0]["all_reduce"]

    return _trace


def test_one_rank_is_one_line(traced: Any) -> None:
    text, data = traced()
    assert text.strip() == "All-reduce: one rank has nothing to reduce"
    assert data["sizes"] == []


def test_nccl_on_a_pcie_host_gets_an_estimate_and_a_warning_about_it(traced: Any) -> None:
    text, data = traced(parallel={"tp_size": 4}, hardware=PCIE, server={"max_running_requests": 32})
    lines = text.splitlines()
    assert lines[0] == "All-reduce over 4 ranks"
    assert lines[1] == "  NCCL: more than two ranks without NVLink between all of them"
    assert re.fullmatch(
        r"    ::: (as in )?sglang 0\.5\.\S+ srt/distributed/parallel_state\.py:[0-9]+", lines[2]
    )
    assert "NCCL, Ring LL" in text
    assert "µs" in text
    assert "LL 8.2 µs (measured 7.2)" in " ".join(text.split())
    assert "NCCL measures its bandwidth at start" in " ".join(text.split())
    verify = [row for row in data["sizes"] if row["phase"] == "verify"]
    assert [row["batch"] for row in verify] == [1, 8, 32]
    for row in verify:
        assert row["bytes"] == row["tokens"] * verify[0]["bytes"] // verify[0]["tokens"]
        assert {(each["algorithm"], each["protocol"]) for each in row["choices"]} <= {
            (each["algorithm"], each["protocol"]) for each in row["estimates"]
        }
    assert str(verify[0]["calls_per_forward"]) in text


def test_nvlink_needs_no_estimate(traced: Any) -> None:
    text, data = traced(parallel={"tp_size": 4}, hardware=SWITCHED)
    assert "the engine's own all-reduce: over NVLink, up to 16 MiB" in text
    assert "custom, one-shot push" in text
    assert "estimate" not in text
    assert all(row["choices"] == row["estimates"] == [] for row in data["sizes"])


def test_undeclared_hardware_says_what_to_declare_and_keeps_the_sizes(traced: Any) -> None:
    text, data = traced(parallel={"tp_size": 4})
    assert "declare hardware.topology" in text
    assert "carried by" not in text
    assert "bytes a call" in text
    assert data["carriers"][0]["wanted"] == ["hardware.topology"]


def test_settings_of_nccl_narrow_what_it_may_choose(traced: Any) -> None:
    off = {"disable_custom_all_reduce": True}
    text, _ = traced(
        parallel={"tp_size": 4}, hardware=SWITCHED, server=off, nccl={"proto": "Simple", "algo": "ring"}
    )
    assert "NCCL, Ring Simple" in text
    assert "LL," not in text
    text, data = traced(
        parallel={"tp_size": 4},
        hardware=SWITCHED,
        server=off | {"chunked_prefill_size": 8192, "enable_nccl_nvls": True},
    )
    assert "prefill" in text
    assert data["prefill"]["tokens"] == 8192
    assert "NVLS" in json.dumps(data["prefill"]["choices"])


def test_an_estimate_of_prefill_alone_is_explained_too(traced: Any) -> None:
    text, data = traced(parallel={"tp_size": 4}, hardware=SWITCHED, server={"chunked_prefill_size": 65536})
    assert {row["layers"]["carrier"] for row in data["sizes"]} == {"custom"}
    assert data["prefill"]["layers"]["carrier"] == "nccl"
    assert "  estimate: NCCL's own latency model" in text


def test_an_nccl_whose_constants_were_not_read_gets_no_estimate(traced: Any) -> None:
    text, data = traced(parallel={"tp_size": 4}, hardware={**PCIE, "nccl_version": "2.21.5"})
    assert "estimate" not in text
    assert all(not row["estimates"] for row in data["sizes"])


def test_data_parallel_attention_gathers_and_has_no_table(traced: Any) -> None:
    text, _ = traced(parallel={"tp_size": 4, "dp_size": 4, "enable_dp_attention": True}, hardware=SWITCHED)
    assert "gather and scatter" in text
    assert "bytes a call" not in text


def test_a_deployment_without_a_draft_has_decode_alone(
    run_line: RunLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    materialize({"title": "off", "deployment": {"parallel": {"tp_size": 4}, "hardware": SWITCHED}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "eaglecfg.yaml"
    import yaml

    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for each in config["deployments"].values():
        each["speculative"] = "off"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    _, out, _ = run_line("trace")
    assert "  decode" in out
    assert "verify" not in out.split("All-reduce")[1].split("Findings")[0]


@pytest.mark.parametrize(
    "blocks",
    [
        {"server": {"max_running_requests": "many"}},
        {"server": {"max_running_requests": 10**18}},
        {"server": {"chunked_prefill_size": "2x"}},
        {"server": {"moe_a2a_backend": ["a"]}},
        {"server": {"flashinfer_allreduce_fusion_backend": {"a": 1}}},
        {"env": {"SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB": "²"}},
        {"env": {"CUDA_VISIBLE_DEVICES": ""}},
        {"nccl": {"proto": "LL;;", "algo": "☃"}},
        {"parallel": {"tp_size": 999_999_999_999}},
        {"parallel": {"tp_size": 3}},
        {"hardware": {"gpu": "☃", "topology": "single"}},
    ],
)
def test_nothing_that_a_file_can_hold_breaks_it(
    run_line: RunLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: dict[str, Any]
) -> None:
    base = {"parallel": {"tp_size": 4}, "hardware": SWITCHED}
    materialize({"title": "odd", "deployment": base | blocks}, tmp_path)
    monkeypatch.chdir(tmp_path)
    for form in ("text", "json"):
        code, out, err = run_line("trace", "--format", form)
        assert code in (0, 3), err
        assert "All-reduce" in out or '"all_reduce": {' in out


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize(
    "blocks",
    [
        {"parallel": {"tp_size": 4}, "hardware": PCIE, "server": {"max_running_requests": 32}},
        {"parallel": {"tp_size": 4}, "hardware": SWITCHED},
        {"parallel": {"tp_size": 4}},
        {},
    ],
    ids=["pcie", "nvswitch", "undeclared", "one rank"],
)
def test_the_section_folds_to_the_terminal(
    traced: Any, monkeypatch: pytest.MonkeyPatch, blocks: dict[str, Any], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    wide = traced(**blocks)[0]
    monkeypatch.setenv("COLUMNS", str(columns))
    text = traced(**blocks)[0]
    for row in text.splitlines():
        assert len(row) <= columns or row.strip().startswith(":::"), row  # the line of the engine stays whole
    assert sorted(text.split()) == sorted(wide.split())


def test_what_the_start_decides_is_said_in_the_text_as_in_json(traced: Any) -> None:
    text, data = traced(parallel={"tp_size": 4}, hardware=PCIE, env={"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"})
    unsure = [row for row in data["sizes"] for row in (row["layers"], row["others"]) if not row["sure"]]
    assert unsure
    flat = " ".join(text.split())
    assert "FlashInfer, PCIe, or NCCL" in flat
    assert "not settled before the server starts, and NCCL carries what it does not" in flat
    text, data = traced(parallel={"tp_size": 4}, hardware=PCIE)
    assert all(row[part]["sure"] for row in data["sizes"] for part in ("layers", "others"))
    assert "not settled" not in text
    assert "or NCCL" not in text


def test_another_nccl_gets_no_estimate_until_its_version_is_told(traced: Any) -> None:
    blocks: dict[str, Any] = {"parallel": {"tp_size": 4}, "env": {"LD_PRELOAD": "/opt/nccl/libnccl.so.2"}}
    text, data = traced(**blocks, hardware=PCIE)
    assert data["nccl_version"] is None
    assert "µs" not in text.split("calls:")[0]
    text, data = traced(**blocks, hardware={**PCIE, "nccl_version": "2.28.9"})
    assert data["nccl_version"] == "2.28.9"
    assert "µs" in text
