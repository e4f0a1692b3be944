"""``validate --with-engine``: ask the installed engine what it makes of each deployment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from eaglecfg.engines.ask import EngineSays, ask
from eaglecfg.engines.command import environment, launch_arguments
from eaglecfg.rules.context import Context
from eaglecfg.rules.runner import Ask


def asker(python: str | None) -> Ask:
    """What asks the engine of ``python``, by default of the Python that runs us."""
    answers: dict[object, EngineSays] = {}

    def of(context: Context) -> EngineSays | None:
        if context.engine is None:
            return None
        argv = launch_arguments(context.model, context.engine)
        own, folder = environment(context.model), Path(context.config.document.folder)
        key = (*argv, *sorted(own.items()), folder)
        if key not in answers:  # deployments that differ in what we check alone share one answer
            answers[key] = ask(python or sys.executable, argv, folder=folder, env={**os.environ, **own})
        return answers[key]

    return of
