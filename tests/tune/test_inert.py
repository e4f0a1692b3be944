"""Keys that cannot matter are left out of a study, and come back where something may wake them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize
from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.inert import find_inert
from eaglecfg.tune.space import Space
from eaglecfg.tune.suggest import Told, suggestions
from tests.tune.test_space import deployment, space

SWITCHED = {"gpu": "H200", "count": 8, "topology": "nvswitch"}


def custom(model: Deployment) -> str:
    """NCCL is awake where the engine's own all-reduce is off."""
    return "" if model.server.get("disable_custom_all_reduce") else "custom carries it"


def two_ranks(entries: dict[str, Any], **blocks: Any) -> Space:
    return space(entries, deployment(parallel={"tp_size": 2}, speculative={"num_steps": 3}, **blocks))


def test_nccls_keys_are_left_out_where_it_carries_nothing() -> None:
    found = find_inert(two_ranks({"nccl.proto": ["unset", "LL"], "speculative.num_steps": [1, 2]}), custom)
    assert list(found.left_out) == ["nccl.proto"]
    assert "custom carries it" in found.left_out["nccl.proto"]
    assert not found.conditions


def test_a_key_that_decides_keeps_the_group_for_one_of_its_choices() -> None:
    before = two_ranks(
        {
            "nccl.proto": ["LL", "Simple"],
            "server.disable_custom_all_reduce": [False, True],
            "nccl.algo": ["Ring", "Tree"],
        }
    )
    found = find_inert(before, custom)
    assert not found.left_out
    assert set(found.conditions) == {"nccl.proto", "nccl.algo"}
    after = before.under(found.conditions)
    assert (before.size, len(list(before.arms())), len(list(after.arms()))) == (8, 8, 5)
    quiet = [arm for arm in after.arms() if not arm.deployment.server.get("disable_custom_all_reduce")]
    assert [arm.deployment.nccl for arm in quiet] == [{}]
    for arm in after.arms():
        point = after.locate(arm)
        assert point is not None
        assert after.arm(after.values(point)).key == arm.key


def test_a_sampler_draws_and_learns_only_what_is_in_play() -> None:
    before = two_ranks(
        {
            "nccl.proto": ["LL", "Simple"],
            "server.disable_custom_all_reduce": [False, True],
            "speculative.num_steps": [1, 2, 3, 4],
        }
    )
    after = before.under(find_inert(before, custom).conditions)
    told: list[Told] = []
    for arm in after.arms():
        point = after.locate(arm)
        assert point is not None
        assert ("nccl.proto" in point) == bool(arm.deployment.server.get("disable_custom_all_reduce"))
        told.append(Told(point, float(len(told))))
    assert len(told) == 12
    for seed, known in ((0, told[:3]), (1, told)):
        for point in itertools.islice(suggestions(after, known, seed), 5):
            asleep = point["server.disable_custom_all_reduce"] == 0
            assert ("nccl.proto" in point) != asleep
            assert after.locate(after.arm(after.values(point))) == point


def test_a_study_behind_two_deciding_keys_is_searched_whole() -> None:
    def both(model: Deployment) -> str:
        return "" if model.server.get("disable_custom_all_reduce") and model.server.get("dtype") else "quiet"

    found = find_inert(
        two_ranks(
            {
                "nccl.proto": ["unset", "LL"],
                "server.disable_custom_all_reduce": [False, True],
                "server.dtype": ["unset", "half"],
            }
        ),
        both,
    )
    assert (found.left_out, found.conditions) == ({}, {})


def test_variables_that_serve_something_else_stay() -> None:
    found = find_inert(two_ranks({"nccl.socket_ifname": ["eth0", "eth1"], "env.MINE": ["1", "2"]}), custom)
    assert (found.left_out, found.conditions) == ({}, {})


def test_too_many_combinations_leave_everything_in() -> None:
    entries = {"nccl.proto": ["unset", "LL"], "speculative.num_steps": list(range(1, 41))}
    entries["server.max_running_requests"] = list(range(1, 12))
    assert not find_inert(two_ranks(entries), custom).left_out


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real pair on two ranks of NVSwitch, and a study that searches NCCL's protocol."""
    materialize(
        {
            "title": "study",
            "deployment": {"parallel": {"tp_size": 2}, "hardware": SWITCHED},
        },
        tmp_path,
    )
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"input_ids": [1, 2]}) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "study.yaml"


def planned(study: Path, capsys: pytest.CaptureFixture[str], more: str = "", *options: str) -> str:
    config = (study.parent / "eaglecfg.yaml").read_text(encoding="utf-8")
    name = config.split("deployments:\n")[1].strip().split(":")[0]
    launch = "launch: {prefix: [python3, -m, sglang.launch_server]}\n"
    study.write_text(
        f"version: 1\nconfig: eaglecfg.yaml\ndeployment: {name}\n{launch if 'launch:' not in more else ''}"
        f"space:\n  nccl.proto: [unset, LL]\n  speculative.num_steps: [1, 2]\n{more}"
        "workload: {prompts: prompts.jsonl, output_tokens: 100}\nprofile: short\n",
        encoding="utf-8",
    )
    code = run(["tune", str(study), "--dry-run", "--launch-anyway", *options])
    out, err = capsys.readouterr()
    assert code == 0, err
    return " ".join(out.split())


def test_the_plan_says_what_is_not_searched_and_why(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = planned(study, capsys)
    assert "not searched nccl.proto: NCCL carries no all-reduce of decode or verify" in out
    assert "--keep-inert" in out
    assert "NCCL_PROTO" not in out


def test_a_searched_key_wakes_it_in_part(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = planned(study, capsys, "  server.disable_custom_all_reduce: [false, true]\n")
    assert "in part nccl.proto: not searched with server.disable_custom_all_reduce false" in out
    assert "NCCL_PROTO=LL" in out


@pytest.mark.parametrize(
    "more",
    [
        "launch: {prefix: [python3, -m, sglang.launch_server], flags: [--disable-custom-all-reduce]}\n",
        "launch: {prefix: [python3, -m, sglang.launch_server, --data-parallel-size=2]}\n",
        "launch: {prefix: [python3, -m, sglang.launch_server], env: {CUDA_VISIBLE_DEVICES: GPU-1}}\n",
    ],
)
def test_what_the_study_hands_the_server_wakes_it(
    study: Path, capsys: pytest.CaptureFixture[str], more: str
) -> None:
    assert "not searched" not in planned(study, capsys, more)


def test_other_flags_of_the_study_do_not(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "launch: {prefix: [python3, -m, sglang.launch_server], flags: [--log-level, error]}\n"
    assert "not searched nccl.proto" in planned(study, capsys, more)


def test_it_can_be_searched_all_the_same(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = planned(study, capsys, "", "--keep-inert")
    assert "not searched" not in out
    assert "NCCL_PROTO=LL" in out


def test_entries_of_nccl_are_searched_only_where_nccl_is_awake() -> None:
    entries = ["unset", {"proto": ["LL", "Simple"]}, {"algo": "Ring"}]
    before = two_ranks({"nccl": entries, "server.disable_custom_all_reduce": [False, True]})
    found = find_inert(before, custom)
    assert set(found.conditions) == {"nccl"}
    after = before.under(found.conditions)
    assert (before.size, len(list(after.arms()))) == (8, 5)
    assert set(find_inert(two_ranks({"nccl": entries}), custom).left_out) == {"nccl"}


def test_a_variable_that_is_not_about_decode_keeps_its_entry() -> None:
    mixed = {"nccl": ["unset", {"proto": "LL"}, {"net": "Socket"}]}
    assert not find_inert(two_ranks(mixed), custom).left_out
