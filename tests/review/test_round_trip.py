"""render -> import -> render is the identity, in every form."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from eaglecfg.engines.table import load_facts
from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text
from eaglecfg.review.render.form import FORMS, Form, render
from eaglecfg.schema.deployment import Deployment, Engine
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig
from eaglecfg.source.read import parse_document, read_document
from tests.review.strategies import DEPLOYMENTS

ROOT = Path(__file__).parents[2]
EXAMPLES = [ROOT / "eaglecfg.yaml", *sorted((ROOT / "examples").glob("*/*.yaml"))]


def loaded(text: str) -> LoadedConfig:
    config = load_config(parse_document(text, "eaglecfg.yaml", "."))
    assert config.problems == ()
    assert config.document.problems == ()
    return config


def round_trip(name: str, deployment: Deployment, engine: Engine, form: Form) -> None:
    facts = load_facts(engine.name, engine.version)
    first = render(name, deployment, engine, facts, form)
    result = import_text(first, "launch")
    config = loaded(result.text)
    assert config.engine == engine
    (again,) = config.deployments
    assert (again.name, result.left_open) == (name, 0)
    assert render(again.name, again.model, engine, facts, form) == first


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_example_comes_back(path: Path, form: Form) -> None:
    config = load_config(read_document(path))
    assert config.engine is not None
    for each in config.deployments:
        round_trip(each.name, each.model, config.engine, form)


@pytest.mark.parametrize("form", FORMS)
def test_every_deployment_comes_back(form: Form) -> None:
    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(DEPLOYMENTS)
    def holds(deployment: Deployment) -> None:
        try:
            round_trip("chat", deployment, Engine(name="sglang", version="0.5.14"), form)
        except UsageError as error:
            assert form == "env"
            assert "line break" in str(error)  # noqa: PT017

    holds()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["Chat 70B", 'a"b\\', "no", "1", "é\u2028", "x\ny"])
def test_the_name_comes_back(name: str, form: Form) -> None:
    deployment = Deployment.model_validate({"target": {"checkpoint": "m"}})
    round_trip(name, deployment, Engine(name="sglang", version="0.5.10.post1"), form)


def test_a_launch_on_several_hosts_comes_back_without_its_rank() -> None:
    deployment = Deployment.model_validate(
        {"target": {"checkpoint": "m"}, "parallel": {"tp_size": 16, "nnodes": 2}, "env": {"A": "b"}}
    )
    for form in ("shell", "env"):
        round_trip("chat", deployment, Engine(name="sglang", version="0.5.14"), form)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["latest", "0.4.1", "99.0.0", "1 2", '"'])
def test_a_version_that_nobody_knows_comes_back(version: str) -> None:
    deployment = Deployment.model_validate(
        {
            "target": {"checkpoint": "m"},
            "parallel": {"tp_size": 2},
            "server": {"x": [1], "y": True, "z": "0.80"},
        }
    )
    for form in FORMS:
        round_trip("chat", deployment, Engine(name="sglang", version=version), form)


def test_spellings_of_the_command_line_are_those_of_the_version() -> None:
    deployment = Deployment.model_validate(
        {"target": {"checkpoint": "m"}, "server": {"fp8_gemm_runner_backend": "triton"}}
    )
    engine = Engine(name="sglang", version="0.5.14")
    text = render("chat", deployment, engine, load_facts("sglang", "0.5.14"), "shell")
    assert "--fp8-gemm-backend triton" in text
    assert "fp8_gemm_runner_backend: triton" in import_text(text, "launch").text
