"""The command that launches a setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eaglecfg.engines.command import launch_arguments
from eaglecfg.rules.study.surroundings import server_environment
from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.opened import Opened
from eaglecfg.tune.step_cost import additions
from eaglecfg.tune.trial import ServerCommand


def server_command(opened: Opened, deployment: Deployment) -> ServerCommand:
    """The command that launches ``deployment``: the study's prefix, the deployment's flags, the study's
    own, its environment with the deployment's own variables over it, and what makes the engine simulate where
    only step cost is measured."""
    placed = _placed(deployment, opened.base_folder)
    launch, cost = opened.study.launch, opened.study.step_cost
    flags, simulate = (
        additions(opened.simulation, cost.accept_length) if cost and opened.simulation else ((), {})
    )
    return ServerCommand(
        argv=(*opened.prefix, *launch_arguments(placed, opened.facts), *launch.flags, *flags),
        env={**server_environment(placed, launch.env), **simulate},
        stop="group" if launch.stop == "group" else tuple(launch.stop),
    )


def _placed(deployment: Deployment, folder: Path) -> Deployment:
    """The deployment with checkpoint folders made absolute; hub ids stay as they are."""

    def place(spelled: str) -> str:
        path = (folder / Path(spelled).expanduser()).resolve()
        return str(path) if path.exists() else spelled

    target = deployment.target.model_copy(update={"checkpoint": place(deployment.target.checkpoint)})
    update: dict[str, Any] = {"target": target}
    if deployment.draft is not None:
        checkpoint = place(deployment.draft.checkpoint)
        update["draft"] = deployment.draft.model_copy(update={"checkpoint": checkpoint})
    return deployment.model_copy(update=update)
