"""A launch as a service of Docker Compose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.errors import UsageError
from eaglecfg.review.render.container import HEALTH, mounts, workdir
from eaglecfg.review.render.header import header, shown
from eaglecfg.review.render.launch import Launch, Word
from eaglecfg.review.yaml_text import scalar


def render(launch: Launch, image: str) -> str:
    """The file. Raises UsageError for a launch on several hosts, of which a service can only start one."""
    if launch.nodes > 1:
        raise UsageError(
            f"deployment {launch.name} runs on {launch.nodes} hosts, and a compose service starts one; "
            "render --as shell for each host"
        )
    name = service_name(launch.name)
    port = launch.port
    lines = [
        *header(launch),
        "services:",
        f"  {scalar(name)}:",
        f"    image: {scalar(escaped(image))}",
        "    command:",
        *(f"      - {scalar(escaped(text))}" for text in launch.program),
        *(f"      - {scalar(_word(word))}" for word in launch.words),
        *_environment(launch),
        *_folders(launch),
        "    ports:",
        f'      - "{port}:{port}"',
        "    ipc: host  # the ranks share memory through /dev/shm, of which containers have 64 MB",
        "    deploy:",
        "      resources:",
        "        reservations:",
        "          devices:",
        "            - driver: nvidia",
        f"              count: {launch.gpus}",
        "              capabilities: [gpu]",
        "    healthcheck:",
        "      test:",
        "        - CMD",
        f"        - {scalar(escaped(launch.program[0]))}",
        "        - -c",
        f"        - {scalar(HEALTH.format(port=port))}",
        "      interval: 30s",
        "      timeout: 10s",
        "      retries: 3",
        "      start_period: 30m  # loading weights and capturing graphs takes minutes",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """``text`` for Compose, which takes a dollar sign for the start of a variable."""
    return text.replace("$", "$$")


def service_name(name: str) -> str:
    """``name`` with the letters that a service may have."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")
    return plain if re.match(r"[A-Za-z0-9_]", plain) else f"server-{plain}".rstrip("-")


def _word(word: Word) -> str:
    return escaped(word.text) + (_needed(word.variable) if word.variable else "")


def _needed(name: str) -> str:
    return f"${{{name}:?is not set, and eaglecfg never writes its value}}"


def _environment(launch: Launch) -> Iterator[str]:
    if not launch.variables:
        return
    yield "    environment:"
    for variable in launch.variables:
        value = _needed(variable.name) if variable.text is None else escaped(variable.text)
        yield f"      {scalar(variable.name)}: {scalar(value)}"


def _folders(launch: Launch) -> Iterator[str]:
    folders = mounts(launch)
    if not folders:
        return
    inside = workdir(launch)
    if inside is not None:
        yield f"    working_dir: {inside}"
    yield "    volumes:"
    for mount in folders:
        yield "      - type: bind"
        beside = f"  # this file belongs beside {shown(launch.config)}" if mount.host == "." else ""
        yield f"        source: {scalar(escaped(mount.host))}{beside}"
        yield f"        target: {scalar(escaped(mount.inside))}"
        if mount.read_only:
            yield "        read_only: true"
