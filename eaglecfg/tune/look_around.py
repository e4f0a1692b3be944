"""Where a study would run now."""

from __future__ import annotations

from eaglecfg.tune.gpu import Gpu, driver_version
from eaglecfg.tune.opened import Opened
from eaglecfg.tune.placement import visible_gpus
from eaglecfg.tune.server_command import server_command
from eaglecfg.tune.surroundings import Place, place_of


def look_around(opened: Opened) -> tuple[Place, str]:
    """The place of the study's servers, and the version of NVIDIA's driver, empty where there are no GPUs."""
    arm = opened.design.baseline
    gpus: tuple[Gpu, ...] = ()
    if arm is not None:
        gpus = visible_gpus(server_command(opened, arm.deployment), opened.facts, opened.environ)
    return place_of(gpus, opened.environ), driver_version(gpus)
