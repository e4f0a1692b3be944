"""The forms of a launch by name."""

from __future__ import annotations

import re
from typing import Literal, get_args

from eaglecfg.engines.arguments import arguments
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.errors import UsageError
from eaglecfg.review.render import compose, env_file, kubernetes, shell
from eaglecfg.review.render.launch import make_launch
from eaglecfg.schema.deployment import Deployment, Engine

Form = Literal["shell", "env", "compose", "kubernetes"]
FORMS: tuple[Form, ...] = get_args(Form)
IN_CONTAINERS = ("compose", "kubernetes")
EVERYWHERE = "0.0.0.0"


def render(
    name: str,
    deployment: Deployment,
    engine: Engine,
    facts: EngineFacts | None,
    form: Form,
    *,
    python: str = "python3",
    port: int | None = None,
    image: str | None = None,
    config: str = "eaglecfg.yaml",
) -> str:
    """The launch of ``deployment`` in ``form``: the same text for the same arguments, always.

    In a container the server listens to all addresses where the file names none, since nobody could reach it
    otherwise. ``config`` is the file's name, for comments. ``image`` defaults to the engine's own of its
    version. Raises UsageError, with the key, for what the form cannot carry.
    """
    if engine.name != "sglang":
        raise UsageError(f"engine.name: sglang is the engine whose launch is known, got {engine.name!r}")
    host = EVERYWHERE if form in IN_CONTAINERS else None
    launch = make_launch(name, deployment, engine, facts, python=python, port=port, host=host, config=config)
    if form == "shell":
        return shell.render(launch)
    if form == "env":
        return env_file.render(launch)
    image = image or default_image(engine)
    return compose.render(launch, image) if form == "compose" else kubernetes.render(launch, image)


def unreachable(deployment: Deployment, facts: EngineFacts | None) -> str:
    """The file's own address where nobody outside of a container finds the server at it, else empty."""
    given = arguments(deployment, facts).get("host")
    value = str(given.value) if given is not None else ""
    return value if re.match(r"127\.|localhost|::1", value) else ""


def default_image(engine: Engine) -> str:
    """The name that SGLang's images have. Builds for other CUDA versions add to it (``-cu129``)."""
    version = re.sub(r"[^A-Za-z0-9_.-]", "-", engine.version)
    return f"lmsysorg/sglang:{'v' if version[:1].isdigit() else ''}{version}"
