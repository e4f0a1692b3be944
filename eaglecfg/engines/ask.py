"""Asks an installed engine what it makes of a deployment's arguments, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal

from eaglecfg.errors import UsageError
from eaglecfg.record import record, replace

TIMEOUT = 180.0
"""Seconds for one answer: importing the engine and its torch takes up to a minute on a cold disk."""
MOST_ANSWER = 4 << 20
MOST_NOISE = 64 << 10
"""Bytes that are read back of an answer, and of what the engine printed. It may print more."""

Outcome = Literal["values", "refused", "failed", "absent", "silent"]


@record
class EngineSays:
    """What an installed engine answered.

    ``outcome``: ``values``, its ServerArgs stand; ``refused``, its argument handling stops; ``failed``,
    something else did, a missing library or accelerator; ``absent``, there is no engine; ``silent``, no
    answer in time or none at all. ``values`` are its settings by flag name, secrets left out. ``on_cpu``: the
    machine has no accelerator, so ``--device cpu`` was added, and ``message`` says why. ``about``: the names
    in the conditions that a refusal stands under. ``unchecked``: why the check that every launch makes of the
    settings came to no end here, empty where it did.
    """

    outcome: Outcome
    version: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    on_cpu: bool = False
    about: tuple[str, ...] = ()
    unchecked: str = ""


def ask(
    python: str,
    argv: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    timeout: float = TIMEOUT,
) -> EngineSays:
    """The answer of the engine that ``python`` has installed, for the server arguments ``argv``.

    ``folder`` is where relative checkpoints start, ``env`` the whole environment of the child. Where it fails
    for another reason than its arguments, it is asked once more with ``--device cpu``. Raises UsageError
    where ``python`` cannot be started.
    """
    first = _ask(python, argv, folder, env, timeout)
    if first.outcome != "failed" or any(word.partition("=")[0] == "--device" for word in argv):
        return first
    second = _ask(python, [*argv, "--device", "cpu"], folder, env, timeout)
    if second.outcome not in ("values", "refused"):
        return first
    return replace(second, on_cpu=True, message=second.message or first.message)


def _ask(
    python: str, argv: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float
) -> EngineSays:
    script = Path(__file__).with_name("ask_child.py").read_text(encoding="utf-8")
    request = json.dumps({"argv": list(argv)}).encode()
    # Files, not pipes: an engine that prints without end fills no memory of ours, and blocks nobody.
    with TemporaryFile() as given, TemporaryFile() as answer, TemporaryFile() as noise:
        given.write(request)
        given.seek(0)
        try:
            child = subprocess.Popen(
                [python, "-c", script],
                stdin=given,
                stdout=answer,
                stderr=noise,
                cwd=folder,
                env=dict(env),
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                f"{python} cannot be started ({error.strerror}); "
                "name the Python that has the engine with --engine-python"
            ) from error
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            return EngineSays("silent", message=f"no answer within {timeout:g} s")
        finally:
            _end(child)
        return _read(answer, noise, code)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it has started: all of it is in the child's own session."""
    with suppress(ProcessLookupError, PermissionError):  # nothing is left
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _read(answer: IO[bytes], noise: IO[bytes], code: int) -> EngineSays:
    answer.seek(0)
    try:
        reply = json.loads(answer.read(MOST_ANSWER))
        return EngineSays(
            reply["outcome"],
            str(reply.get("version", "")),
            reply.get("values", {}),
            reply.get("message", ""),
            about=tuple(reply.get("about", ())),
            unchecked=str(reply.get("unchecked", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    size = noise.seek(0, os.SEEK_END)
    noise.seek(max(0, size - MOST_NOISE))
    lines = noise.read(MOST_NOISE).decode(errors="replace").strip().splitlines()
    last = f": {lines[-1].strip()[:300]}" if lines else ""
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return EngineSays("silent", message=f"the process ended with {ended} and no answer{last}")
