"""Step cost without weights: simulated for real, named loudly, and no ground for choosing a shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.errors import UsageError
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.opened import open_study
from eaglecfg.tune.step_cost import FACT, additions, require_switch, rests_on_acceptance, simulated
from tests.tune.folder import Folder
from tests.tune.simulate import make


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    # What a step costs shows in whole steps: short answers would show their ends.
    made.study(steps=[2], more="step_cost: {accept_length: 2.5}\n", tokens=64)
    return made


def rewrite(folder: Folder, old: str, new: str) -> None:
    path = folder.path / "study.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def flat(text: str) -> str:
    return " ".join(text.split())


def test_every_result_says_that_only_step_cost_was_measured(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder.arguments) == 0
    out = flat(capsys.readouterr().out)
    before, after = out.split("[ 1/", 1)
    assert "STEP COST made-up weights, acceptance simulated at 2.50 tokens a verify step." in before
    assert "accept simulated 2.5" in after
    assert "STEP COST ONLY: made-up weights" in after
    result = folder.result
    assert result["step_cost"] == {"accept_length": 2.5}
    assert result["verdict"][0].startswith("STEP COST ONLY: ")
    rows = {row["label"]: row for row in result["settings"]}
    for label in ("2 steps", "4 steps"):
        assert rows[label]["accept_length"] == pytest.approx(2.5, rel=0.05)
        assert rows[label]["agreement"] is None
    assert rows["off"]["accept_length"] is None
    text = (folder.record / "result.md").read_text(encoding="utf-8")
    assert text.startswith("# Study study: step cost only\n")
    assert "simulated<br>2.5" in text
    assert "| accepted by position (simulated) |" in text
    launch = next(iter((folder.record / "launches").iterdir()))
    command = json.loads((launch / "command.json").read_text())
    assert command["argv"][command["argv"].index("--load-format") + 1] == "dummy"
    assert command["env"]["SGLANG_SIMULATE_ACC_LEN"] == "2.5"
    assert command["env"]["SGLANG_SIMULATE_ACC_METHOD"] == "match-expected"
    assert command["plan"]["greedy_check"] == 0

    assert run(["tune", "status", str(folder.path / "study.yaml")]) == 1
    assert "STEP COST ONLY: acceptance is simulated at 2.50" in capsys.readouterr().out
    assert run(["tune", "report", str(folder.path / "study.yaml"), "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# Study study: step cost only\n")


def test_a_shape_is_not_applied(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder.path / "eaglecfg.yaml").read_text(encoding="utf-8")
    assert run([*folder.arguments, "--apply"]) == 0
    assert folder.result["winner"] is None
    out, error = map(flat, capsys.readouterr())
    assert (
        "not applied: 2 steps: it changes speculative.num_draft_tokens, speculative.num_steps, which" in error
    )
    assert "No setting of the same shape is shown to beat the deployment as it stands." in out
    assert "Faster here, with another shape: 2 steps" in out
    assert "eaglecfg validate and trace look for the reason" not in out
    assert (folder.path / "eaglecfg.yaml").read_text(encoding="utf-8") == before
    assert not (folder.record / "winner.patch").exists()


def test_nccl_settings_are_applied_without_an_accept_length(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "step_cost: {accept_length: 2.5}\nbudget: {launches: 6}\n"
    folder.study(more=more, tokens=64)
    rewrite(folder, "  speculative: ['off', {num_steps: [2, 4]}]\n", "  nccl.proto: [unset, LL]\n")
    assert run([*folder.arguments, "--apply", "--no-proof", "--keep-inert"]) == 0, capsys.readouterr()
    edited = (folder.path / "eaglecfg.yaml").read_text(encoding="utf-8")
    assert "proto: LL" in edited
    assert "expected_accept_length" not in edited


def test_launches_of_step_cost_and_of_real_acceptance_are_never_mixed(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ["tune", "check", str(folder.path / "study.yaml"), "--launch-anyway", "--launches", "2"]
    assert run(check) == 0
    assert "accept simulated 2.5" in capsys.readouterr().out
    rewrite(folder, "step_cost: {accept_length: 2.5}\n", "")
    assert run(check) == 0
    out = flat(capsys.readouterr().out)
    assert "earlier launches are set aside: step_cost, greedy_check changed since" in out
    assert len(folder.finished()) == 4
    assert "simulated" not in out


def test_another_simulated_length_is_another_condition(folder: Folder) -> None:
    def conditions() -> str:
        path = folder.path / "study.yaml"
        return open_study(path, shown=str(path), launch_anyway=True).conditions

    first = conditions()
    rewrite(folder, "2.5", "2.75")
    assert conditions() != first


def test_a_server_that_does_not_simulate_is_no_result(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(folder, "['{python}'", "[env, -u, SGLANG_SIMULATE_ACC_LEN, '{python}'")
    assert run(folder.arguments) == 1
    out = flat(capsys.readouterr().out)
    assert "acceptance was to be simulated at 2.50 tokens a step, the server reports 1.00" in out
    assert folder.result["winner"] is None


def test_what_a_shape_cannot_yield_is_not_called_simulated(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder.path / "eaglecfg.yaml"
    path.write_text(
        path.read_text("utf-8").replace("num_steps: 4", "num_steps: 1").replace("tokens: 5", "tokens: 2")
    )
    check = ["tune", "check", str(folder.path / "study.yaml"), "--launch-anyway", "--launches", "2"]
    assert run(check) == 0
    assert "accept simulated 2.00" in capsys.readouterr().out


def arm_of(values: Mapping[str, Any]) -> Arm:
    space = {"speculative.num_steps": [1, 2], "nccl.proto": ["LL"], "server.page_size": [1, 64]}
    return make(space).space.arm(values)


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ({"nccl.proto": "LL"}, ()),
        ({"nccl.proto": "LL", "server.page_size": 64}, ()),
        ({"speculative": "off"}, ("speculative",)),
        ({"speculative.num_steps": 2}, ("speculative.num_draft_tokens", "speculative.num_steps")),
        (
            {"speculative.num_steps": 2, "nccl.proto": "LL"},
            ("speculative.num_draft_tokens", "speculative.num_steps"),
        ),
    ],
)
def test_what_rests_on_acceptance(values: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    assert rests_on_acceptance(arm_of(values)) == keys


def test_the_simulated_length_is_what_the_engine_makes_of_it() -> None:
    assert simulated(arm_of({"speculative.num_steps": 2}).deployment, 2.5) == 2.5
    assert simulated(arm_of({"speculative.num_steps": 1}).deployment, 2.5) == 2.0
    assert simulated(arm_of({"speculative": "off"}).deployment, 2.5) is None


@pytest.mark.parametrize("version", known_versions("sglang"))
def test_every_known_version_has_the_switch(version: str) -> None:
    facts = load_facts("sglang", version)
    assert facts is not None
    flags, variables = additions(require_switch(None, facts), 2.5)
    assert flags == ("--load-format", "dummy")
    assert variables == {
        "SGLANG_SIMULATE_ACC_LEN": "2.5",
        "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
    }
    assert "dummy" in (facts.flags["load_format"].choices or ())
    assert "EAGLE3" in facts.values[FACT]["algorithms"]


def test_an_engine_without_the_switch_is_refused(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="got no engine"):
        require_switch(None, None)
    path = folder.path / "eaglecfg.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("name: sglang, version: 0.5.14", "name: vllm, version: 1.0.0"), "utf-8")
    assert run(folder.arguments) == 2
    assert "expected an engine that can simulate acceptance, got vllm 1.0.0" in capsys.readouterr().err
    assert folder.events == ()
