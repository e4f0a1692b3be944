"""The ``eaglecfg`` command: one group, one place that turns errors into exit codes."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

import click

from eaglecfg import __version__
from eaglecfg.errors import EaglecfgError

COMMANDS = {
    "validate": "Check eaglecfg.yaml and study files against the checkpoints and the engine.",
    "diff": "Show what changes in effect between two states of the config: files, folders, git revisions.",
    "trace": "Show the path of the hidden states through a deployment, hop by hop.",
    "tune": "Search settings with timed server launches.",
    "render": "Print the exact launch of a deployment: shell, env file, compose, Kubernetes.",
    "init": "Make a commented eaglecfg.yaml for a target and a draft.",
    "import": "Make an eaglecfg.yaml of a launch that exists: a command, script, manifest, running server.",
    "fix": "Write the fixes that a machine can make into config and study files.",
    "explain": "Tell what a rule checks, why, and how to fix what it finds.",
    "rules": "List the rules.",
    "schema": "Print the JSON Schemas of the files that eaglecfg reads.",
    "nccl-log": "Read NCCL's log: what it chose for which message, and which settings acted.",
    "doctor": "Look at this machine: GPUs, links, NCCL, leftovers; print its hardware block.",
    "bench-allreduce": "Time the all-reduce under NCCL settings, and say which differences are real.",
    "engine-diff": "Compare the engine facts with a wheel of the engine.",
    "nccl-diff": "Compare the NCCL facts with an installed libnccl.",
}
"""Command -> its line in the help. The modules behind them load only when called, to start fast."""

MODULES = {"import": "import_"}
"""Commands whose module cannot have their name."""

UNUSABLE = 2
INTERNAL_ERROR = 4
INTERRUPTED = 130
READER_GONE = 141
"""What a shell shows for a program that SIGPIPE ended."""
LONGEST_MESSAGE = 2_000
"""Characters of one error on stderr; refusals of a study may list several findings."""


class _ReaderGone(Exception):
    """Whoever read the output has closed the pipe."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = MODULES.get(cmd_name, cmd_name.replace("-", "_"))
        command: click.Command = importlib.import_module(f"eaglecfg.cli.{module}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. click would end the process with 1, our code for findings, where nobody reads."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = click.utils.make_str(args[0])
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", message="eaglecfg %(version)s")
def cli() -> None:
    """Check and tune EAGLE-3 speculative decoding deployments on SGLang.

    Exit codes: 0 good, 1 findings, 2 usage or unreadable config, 3 incomplete, 4 internal error,
    130 interrupted.
    """


def main() -> None:
    """Run the command line and end the process. Nothing but an exit code and text leaves here."""
    code = run(sys.argv[1:])
    # The interpreter looks for garbage once more before it ends, through everything that is loaded: a tenth
    # of the time of a check, for memory that the system takes back anyway.
    gc.freeze()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    if sys.stdout is None:
        return _unwritten("standard output is closed")
    try:
        code = cli.main(arguments, prog_name="eaglecfg", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except (BrokenPipeError, _ReaderGone):
        _drop_output()  # the reader has seen enough
        return READER_GONE
    except EaglecfgError as error:
        _complain(_cut(str(error)))
        return error.exit_code
    except OSError as error:
        # A file or folder that was named, or the disk: no fault of ours.
        if "--traceback" in arguments:
            raise
        if _of_output(error):
            return _unwritten(error.strerror or str(error))
        name = f"{_cut(str(error.filename))}: " if error.filename is not None else ""
        _complain(f"{name}{error.strerror or error}")
        return UNUSABLE
    except Exception as error:
        if "--traceback" in arguments:
            raise
        _complain(
            f"internal error: {type(error).__name__}: {error}. "
            f"This is a fault of eaglecfg {__version__}; add --traceback to see where."
        )
        return INTERNAL_ERROR


def _of_output(error: OSError) -> bool:
    """Whether writing to stdout failed: only what prints, and our flush at the end, is innermost then."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    code = frame.tb_frame.f_code if frame is not None else None
    return code in (click.echo.__code__, run.__code__)


def _unwritten(reason: str) -> int:
    if sys.stdout is not None:
        _drop_output()
    click.echo(f"eaglecfg: the output could not be written: {reason}", err=True)
    return UNUSABLE


def _complain(text: str) -> None:
    """Say on stderr what went wrong; no secret of a server's answer, a URL or a file comes along."""
    from eaglecfg.cli.output import tell
    from eaglecfg.source.secrets import redact_text

    tell(f"eaglecfg: {redact_text(text)}")


def _drop_output() -> None:
    """Point stdout elsewhere, or the interpreter complains at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cut(text: str) -> str:
    """``text`` with the middle left out where a name made it too long to read."""
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:400]} … {text[-100:]}"


if __name__ == "__main__":
    main()
