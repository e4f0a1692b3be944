"""What a study's launch adds around its settings never hides what is searched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.rules.study.surroundings import hidden_flags, hidden_variables, surrounded
from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.opened import open_study
from eaglecfg.tune.server_command import server_command
from tests.tune.folder import Folder

BASE: dict[str, Any] = {
    "target": {"checkpoint": "t"},
    "draft": {"checkpoint": "d"},
    "speculative": {"num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 4},
}


def deployment(**more: Any) -> Deployment:
    return Deployment.model_validate({**BASE, **more})


def whole(folder: Folder, env: str, space: str) -> list[dict[str, str]]:
    """Variables of every setting's servers, in the order of the space."""
    folder.study(steps=[2], env=env, space=space, more="budget: {launches_each: 2}\n")
    opened = open_study(folder.path / "study.yaml", shown="study.yaml", launch_anyway=True, keep_inert=True)
    arms = [arm for arm in opened.design.arms if arm.label.startswith("2 steps")]
    return [dict(server_command(opened, arm.deployment).env) for arm in arms]


@pytest.mark.parametrize(
    ("space", "name"),
    [
        ("  nccl: [unset, {proto: LL}]\n", "NCCL_PROTO"),
        ("  nccl.proto: [unset, LL]\n", "NCCL_PROTO"),
        ("  env.NCCL_PROTO: [unset, LL]\n", "NCCL_PROTO"),
        ("  env.MINE: [unset, LL]\n", "MINE"),
    ],
)
def test_a_setting_wins_over_the_environment_around_it(space: str, name: str, tmp_path: Path) -> None:
    found = whole(Folder(tmp_path), f"{{{name}: Simple}}", space)
    assert [each[name] for each in found] == ["Simple", "LL"]


def test_variables_of_the_deployment_win_and_those_it_hands_on_do_not() -> None:
    model = deployment(env={"A": "1", "B": "${B}"}, nccl={"proto": "${NCCL_PROTO}", "algo": "Ring"})
    around = surrounded(model, {"A": "2", "B": "3", "C": "4", "NCCL_PROTO": "LL", "NCCL_ALGO": "Tree"})
    assert around.env == {"A": "1", "B": "3", "C": "4", "NCCL_PROTO": "LL", "NCCL_ALGO": "Tree"}
    assert around.nccl == {"algo": "Ring"}
    assert surrounded(model, {}) is model


def test_launches_from_when_launch_env_hid_settings_do_not_count(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for env, other in (("{NCCL_PROTO: Simple}", True), ("{NCCL_ALGO: Ring}", False)):
        folder.study(env=env, space="  nccl.proto: [unset, LL]\n")
        opened = open_study(tmp_path / "study.yaml", shown="study.yaml", launch_anyway=True)
        assert ("settings over launch.env" in opened.described) is other


@pytest.mark.parametrize(
    ("prefix", "hidden"),
    [
        (["env", "NCCL_PROTO=Simple", "x"], True),
        (["docker", "run", "-e", "NCCL_PROTO=Simple", "i"], True),
        (["docker", "run", "-eNCCL_PROTO=Simple", "i"], True),
        (["docker", "run", "--env=NCCL_PROTO=Simple", "i"], True),
        (["srun", "--export=ALL,NCCL_PROTO=Simple"], True),
        (["sh", "-c", 'NCCL_PROTO=Simple exec "$@"', "x"], True),
        (["env", "NCCL_ALGO=Ring", "x"], False),
        (["env", "MY_NCCL_PROTO=Simple", "x"], False),
        (["docker", "run", "-e", "NCCL_PROTO", "i"], False),
    ],
)
def test_what_a_prefix_sets_is_seen(prefix: list[str], hidden: bool) -> None:
    found = list(hidden_variables({}, prefix, {"nccl": ["unset", {"proto": "LL"}]}, deployment()))
    assert bool(found) is hidden


@pytest.mark.parametrize(
    ("space", "more", "setter"),
    [
        ({"nccl": ["unset", {"PROTO": "Simple"}]}, {}, "the space searches (nccl)"),
        ({"nccl": [{"proto": "Simple", "algo": "Ring"}, {"algo": "Tree"}]}, {}, "the space searches (nccl)"),
        ({"nccl": ["unset", {"algo": "Ring"}]}, {"nccl": {"proto": "LL"}}, "the space searches (nccl)"),
        ({"nccl.NCCL_PROTO": {"low": 1, "high": 2}}, {}, "the space searches (nccl.NCCL_PROTO)"),
        ({}, {"nccl": {"proto": "LL"}}, "the deployment sets to LL"),
        ({}, {"env": {"NCCL_PROTO": "LL"}}, "the deployment sets to LL"),
        ({}, {"env": {"NCCL_PROTO": "${NCCL_PROTO}"}}, ""),
        ({}, {"nccl": {"proto": "Simple"}}, ""),
        ({"nccl.proto": ["Simple"]}, {"nccl": {"proto": "LL"}}, ""),
        ({"nccl": [{"proto": "Simple"}, {"proto": "Simple", "algo": "Ring"}]}, {}, ""),
    ],
)
def test_only_another_value_hides_a_setting(space: Any, more: Any, setter: str) -> None:
    found = list(hidden_variables({"NCCL_PROTO": "Simple"}, [], space, deployment(**more)))
    assert [each.setter for each in found] == [setter][: bool(setter)]


def test_secrets_are_not_shown() -> None:
    (found,) = hidden_variables({"API_KEY": "s3cr3t"}, [], {}, deployment(env={"API_KEY": "t0ps3cr3t"}))
    assert "s3cr3t" not in found.what + found.setter


@pytest.mark.parametrize(
    ("flags", "space", "setter"),
    [
        (["--speculative-num-steps", "5"], {"speculative": ["off", {"num_steps": [2, 3]}]}, "the space"),
        (["--speculative_num_steps=5"], {"speculative.num_steps": [2, 3]}, "the space"),
        (["--speculative-num-draft-tokens", "6"], {"speculative": [{"num_steps": [2, 3]}]}, "the space"),
        (["--speculative-num-steps", "3"], {}, ""),
        (["--speculative-num-steps", "4"], {}, "the deployment sets to 3"),
        (["--speculative-algorithm", "EAGLE"], {}, "the deployment sets to EAGLE3"),
        (["--tp", "2"], {"server.tensor-parallel-size": [1, 2]}, "the space"),
        (["--tp", "2"], {"parallel.tp_size": [2]}, ""),
        (["--disable-x"], {"server.disable_x": [False, True]}, "the space"),
        (["--disable-x"], {"server.disable_x": [True]}, ""),
        (["--log-level", "warning"], {"server.disable_x": [False, True]}, ""),
        (["--kept", "a", "b"], {}, ""),
        (["--kept", "b"], {}, "the deployment sets to a b"),
    ],
)
def test_flags_that_win_over_a_setting_are_found(flags: list[str], space: Any, setter: str) -> None:
    model = deployment(
        server={"kept": ["a", "b"]}, speculative={**BASE["speculative"], "algorithm": "EAGLE3"}
    )
    found = [each.setter for each in hidden_flags(flags, space, ["as_it_stands"], model, None)]
    assert [bool(each.startswith(setter)) for each in found] == [True][: bool(setter)]


def test_speculation_that_off_goes_without_is_no_flag_of_every_launch() -> None:
    flags = ["--speculative-num-steps", "3"]
    assert not list(hidden_flags(flags, {}, ["as_it_stands"], deployment(), None))
    (found,) = hidden_flags(flags, {}, ["as_it_stands", "off"], deployment(), None)
    assert found.setter == "the baseline off goes without"


def test_a_prefix_of_the_command_line_may_not_hide_a_setting_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    folder.study(space="  nccl.proto: [unset, LL]\n")
    assert run([*folder.arguments, "--dry-run", "--launch-prefix", "env NCCL_PROTO=Simple python3"]) == 2
    assert "--launch-prefix sets NCCL_PROTO=Simple, which the space searches" in capsys.readouterr().err
