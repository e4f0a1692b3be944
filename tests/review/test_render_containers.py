"""What a container gets is what the deployment says, read back with other parsers than ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from eaglecfg.engines.table import load_facts
from eaglecfg.errors import UsageError
from eaglecfg.review.render.form import render
from eaglecfg.review.render.launch import Launch, make_launch
from eaglecfg.schema.deployment import Deployment, Engine
from tests.review.strategies import DEPLOYMENTS

FACTS = load_facts("sglang", "0.5.14")
ENGINE = Engine(name="sglang", version="0.5.14")
PROPERTY = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
OUTSIDE = "from outside"


def launch_of(deployment: Deployment, host: str | None) -> Launch:
    return make_launch("chat", deployment, ENGINE, FACTS, host=host)


def expected_words(launch: Launch) -> list[str]:
    return [*launch.program, *(word.text + (OUTSIDE if word.variable else "") for word in launch.words)]


def expected_environment(launch: Launch) -> dict[str, str]:
    return {each.name: OUTSIDE if each.text is None else each.text for each in launch.variables}


def compose_text(text: str) -> str:
    """What Compose makes of a text, every variable of its environment being OUTSIDE."""
    return re.sub(r"\$(?:(\$)|\{\w+:\?[^}]*\})", lambda found: found[1] or OUTSIDE, text)


def kubelet_text(text: str, known: Mapping[str, str]) -> str:
    """The expansion of the kubelet, letter by letter as its source has it."""
    out, at = "", 0
    while at < len(text):
        if text[at] != "$" or at + 1 == len(text):
            out, at = out + text[at], at + 1
        elif text[at + 1] == "$":
            out, at = out + "$", at + 2
        elif text[at + 1] == "(" and ")" in text[at:]:
            end = text.index(")", at)
            name = text[at + 2 : end]
            out, at = out + known.get(name, f"$({name})"), end + 1
        else:
            out, at = out + text[at : at + 2], at + 2
    return out


@PROPERTY
@given(DEPLOYMENTS)
def test_compose_carries_every_word_and_variable(deployment: Deployment) -> None:
    launch = launch_of(deployment, "0.0.0.0")
    data = yaml.safe_load(render("chat", deployment, ENGINE, FACTS, "compose"))
    service: Mapping[str, Any] = data["services"]["chat"]
    assert all(isinstance(word, str) for word in service["command"])
    assert list(map(compose_text, service["command"])) == expected_words(launch)
    environment = service.get("environment", {})
    assert {name: compose_text(text) for name, text in environment.items()} == expected_environment(launch)
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["count"] == launch.gpus


@PROPERTY
@given(DEPLOYMENTS)
def test_kubernetes_carries_every_word_and_variable(deployment: Deployment) -> None:
    launch = launch_of(deployment, "0.0.0.0")
    data = yaml.safe_load(render("chat", deployment, ENGINE, FACTS, "kubernetes"))
    pod = data["spec"]["template"]["spec"]
    container: Mapping[str, Any] = pod["containers"][0]
    known: dict[str, str] = {}
    for entry in container.get("env", ()):
        known[entry["name"]] = OUTSIDE if "valueFrom" in entry else kubelet_text(entry["value"], known)
    words = [*container["command"], *container["args"]]
    assert [kubelet_text(word, known) for word in words] == expected_words(launch)
    environment = expected_environment(launch)
    assert {name: known[name] for name in environment} == environment
    assert set(known) - set(environment) <= set(launch.handed)
    assert container["resources"]["limits"]["nvidia.com/gpu"] == launch.gpus
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}


@PROPERTY
@given(DEPLOYMENTS)
def test_an_env_file_carries_every_variable_or_names_the_one_that_it_cannot(deployment: Deployment) -> None:
    launch = launch_of(deployment, None)
    carried = [each for each in launch.variables if each.text is None or "\n" not in each.text]
    if len(carried) < len(launch.variables):
        broken = next(each.name for each in launch.variables if each not in carried)
        with pytest.raises(UsageError, match=re.escape(broken)):
            render("chat", deployment, ENGINE, FACTS, "env")
        return
    found: dict[str, str] = {}
    # As docker reads it: lines end at a line feed, and what is left of the first = is the name.
    for line in render("chat", deployment, ENGINE, FACTS, "env").encode().split(b"\n"):
        text = line.decode().lstrip()
        if text and not text.startswith("#"):
            name, equals, value = text.partition("=")
            found[name] = value if equals else OUTSIDE
    environment = expected_environment(launch)
    assert {name: found[name] for name in environment} == environment
    assert set(found) - set(environment) <= set(launch.handed)


def made(**parts: Any) -> Deployment:
    return Deployment.model_validate({"target": {"checkpoint": "m"}, **parts})


@pytest.mark.parametrize(
    ("parallel", "gpus"),
    [
        ({"tp_size": 8}, 8),
        ({"tp_size": 4, "pp_size": 2}, 8),
        ({"tp_size": 4, "dp_size": 2}, 8),
        ({"tp_size": 8, "dp_size": 2, "enable_dp_attention": True}, 8),
        ({"tp_size": 8, "ep_size": 8}, 8),
        ({"tp_size": 16, "nnodes": 2}, 8),
        ({}, 1),
    ],
)
def test_gpus_are_the_ranks_of_one_host(parallel: dict[str, Any], gpus: int) -> None:
    assert launch_of(made(parallel=parallel), None).gpus == gpus


@pytest.mark.parametrize("form", ["compose", "kubernetes"])
def test_several_hosts_are_refused_in_a_container_form(form: Any) -> None:
    with pytest.raises(UsageError, match="2 hosts"):
        render("chat", made(parallel={"tp_size": 16, "nnodes": 2}), ENGINE, FACTS, form)


@pytest.mark.parametrize(
    ("target", "draft", "sources", "inside"),
    [
        ("/data/t", "/data/d", ["/data/t", "/data/d"], None),
        ("a/b/c", "./d", ["."], "/workspace"),
        ("org/name", "models/d", [".", "~/.cache/huggingface"], "/workspace"),
        ("../t", "d", [".", "../t"], "/workspace/config"),
        ("../../t", "../d", ["../../t", "../d"], "/workspace/config/config"),
    ],
)
def test_a_container_sees_the_folders_of_its_checkpoints(
    target: str, draft: str, sources: list[str], inside: str | None
) -> None:
    deployment = made(target={"checkpoint": target}, draft={"checkpoint": draft})
    service = yaml.safe_load(render("chat", deployment, ENGINE, FACTS, "compose"))["services"]["chat"]
    assert sorted(each["source"] for each in service["volumes"]) == sorted(sources)
    assert service.get("working_dir") == inside


def test_a_container_sees_the_files_of_other_flags() -> None:
    deployment = made(
        target={"checkpoint": "/t"}, server={"chat_template": "./x.jinja", "config": "../c.yaml"}
    )
    service = yaml.safe_load(render("chat", deployment, ENGINE, FACTS, "compose"))["services"]["chat"]
    assert sorted(each["source"] for each in service["volumes"]) == [".", "../c.yaml", "/t"]
    assert service["working_dir"] == "/workspace/config"


@pytest.mark.parametrize(
    ("version", "image"),
    [
        ("0.5.14", "v0.5.14"),
        ("v0.5.14-cu129", "v0.5.14-cu129"),
        ("latest", "latest"),
        ("0.5.9+cu1", "v0.5.9-cu1"),
    ],
)
def test_the_image_is_that_of_the_version(version: str, image: str) -> None:
    text = render("chat", made(), Engine(name="sglang", version=version), None, "compose")
    assert yaml.safe_load(text)["services"]["chat"]["image"] == f"lmsysorg/sglang:{image}"


@pytest.mark.parametrize("name", ["Chat 70B", "1", "é", "-", "a" * 200, "x/y\n", "UPPER_case"])
def test_names_become_names_of_objects(name: str) -> None:
    manifest = yaml.safe_load(render(name, made(), ENGINE, FACTS, "kubernetes"))
    assert re.fullmatch(r"[a-z]([a-z0-9-]{0,48}[a-z0-9])?", manifest["metadata"]["name"])
    (service,) = yaml.safe_load(render(name, made(), ENGINE, FACTS, "compose"))["services"]
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", service)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"env": {"A B": "x"}}, "A B"),
        ({"env": {"": "x"}}, "variable"),
        ({"env": {"A": "a\0b"}}, r"U\+0000"),
        ({"server": {"a=b": 1}}, "a=b"),
        ({"server": {"": 1}}, "flag"),
        ({"server": {"chat_template": "\ud800"}}, r"U\+D800"),
        ({"target": {"checkpoint": "a\0"}}, "target.checkpoint"),
    ],
)
def test_what_no_process_can_be_given_is_refused_by_its_key(parts: dict[str, Any], says: str) -> None:
    for form in ("shell", "env", "compose", "kubernetes"):
        with pytest.raises(UsageError, match=says):
            render("chat", made(**parts), ENGINE, FACTS, form)  # type: ignore[arg-type]
