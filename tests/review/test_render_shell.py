"""The shell script starts exactly what the deployment says, whatever letters its values have."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eaglecfg.engines.command import environment, launch_arguments
from eaglecfg.engines.table import load_facts
from eaglecfg.review.render.form import render
from eaglecfg.schema.deployment import Deployment, Engine
from tests.review.strategies import NAME, NASTY_VALUES, VALUE

FACTS = load_facts("sglang", "0.5.14")
ENGINE = Engine(name="sglang", version="0.5.14")
STUB = """\
#!{python} -IS
import json, os, sys
print(json.dumps([sys.argv[1:], dict(os.environ)]))
"""
SHELLS = [shell for shell in ("sh", "bash") if shutil.which(shell)]


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that says with which words and in which environment it was started."""
    path = tmp_path_factory.mktemp("bin") / "python-stub"
    path.write_text(STUB.format(python=sys.executable))
    path.chmod(0o755)
    return path


def started(script: str, shell: str, **outside: str) -> tuple[list[str], dict[str, str]]:
    done = subprocess.run(
        [shell, "-s"],
        input=script.encode(),
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", **outside},
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr.decode()
    words, found = json.loads(done.stdout)
    return words, found


# Variables that Python, the loader or the shell act on before the stub could report them.
LEFT_ALONE = ("LC_", "LANG", "PYTHON", "LD_", "PATH")
SPECIAL = ["UID", "_", "IFS", "PPID", "RANDOM", "PS4", "BASH_ENV", "SHLVL", "OPTIND", "HOME", "PWD"]
VARIABLES = st.dictionaries(
    NAME.filter(lambda name: not name.startswith(LEFT_ALONE)) | st.sampled_from(SPECIAL), VALUE, max_size=6
)


def check(shell: str, stub: Path, values: list[str], variables: dict[str, str]) -> None:
    """Start a deployment with these values of flags and of variables, and compare what arrives."""
    server = {f"made_up_{letter}": value for letter, value in zip(letters(), values, strict=False)}
    deployment = Deployment.model_validate(
        {
            "target": {"checkpoint": values[0] if values and values[0] else "m"},
            "server": server,
            "env": variables,
        }
    )
    script = render("chat", deployment, ENGINE, FACTS, "shell", python=str(stub))
    handed = {name: "from outside" for name in variables if f"{name}:?" in script}
    words, found = started(script, shell, **handed)
    assert words == ["-m", "sglang.launch_server", *launch_arguments(deployment, FACTS)]
    assert {name: found.get(name) for name in variables} == {**environment(deployment), **handed}


def letters() -> Iterator[str]:
    return ("".join(pair) for pair in itertools.product("abcdefghij", repeat=2))


@pytest.mark.parametrize("shell", SHELLS)
def test_every_nasty_value_arrives_as_it_is(shell: str, stub: Path) -> None:
    check(
        shell,
        stub,
        NASTY_VALUES,
        dict(zip((f"V_{letter}" for letter in letters()), NASTY_VALUES, strict=False)),
    )
    check(shell, stub, [], dict.fromkeys(SPECIAL, "1 2"))


@pytest.mark.parametrize("shell", SHELLS)
def test_words_and_variables_arrive_as_they_are(shell: str, stub: Path) -> None:
    @settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(VALUE, max_size=12), VARIABLES)
    def holds(values: list[str], variables: dict[str, str]) -> None:
        check(shell, stub, values, variables)

    holds()


def test_a_secret_is_taken_from_outside_and_its_absence_stops_the_script(stub: Path) -> None:
    deployment = Deployment.model_validate(
        {
            "target": {"checkpoint": "m"},
            "server": {"api_key": "sesame", "served_model_name": "x"},
            "env": {"HF_TOKEN": "hf_open", "PLAIN": "https://me:word@host/"},
        }
    )
    script = render("chat", deployment, ENGINE, FACTS, "shell", python=str(stub))
    assert not any(secret in script for secret in ("sesame", "hf_open", "word@"))
    outside = {"SGLANG_API_KEY": "a $b", "HF_TOKEN": "t", "PLAIN": "p"}
    words, found = started(script, "sh", **outside)
    assert "--api-key=a $b" in words
    assert (found["HF_TOKEN"], found["PLAIN"]) == ("t", "p")
    for name in outside:
        less = {key: value for key, value in outside.items() if key != name}
        done = subprocess.run(
            ["sh", "-s"],
            input=script.encode(),
            env={"PATH": os.defpath, **less},
            capture_output=True,
            timeout=30,
        )
        assert done.returncode != 0
        assert f"{name}: is not set" in done.stderr.decode()


def test_a_host_of_several_is_told_its_rank(stub: Path) -> None:
    deployment = Deployment.model_validate(
        {"target": {"checkpoint": "m"}, "parallel": {"tp_size": 16, "nnodes": 2}}
    )
    script = render("chat", deployment, ENGINE, FACTS, "shell", python=str(stub))
    words, _ = started(script, "sh", NODE_RANK="1")
    assert words[-1] == "--node-rank=1"
