"""``eaglecfg validate --live URL``: the options, and the question to the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from eaglecfg.cli.numbers import FiniteRange
from eaglecfg.cli.output import tell
from eaglecfg.errors import UsageError
from eaglecfg.source.document import Document
from eaglecfg.source.secrets import is_secret_name

if TYPE_CHECKING:
    from eaglecfg.rules.context import Context
    from eaglecfg.rules.live.running import Running
    from eaglecfg.rules.runner import Look

F = TypeVar("F", bound=Callable[..., Any])


def live_options(function: F) -> F:
    """``--live`` and what belongs to it; the command gets them as one ``live``, None without a URL."""

    @click.option(
        "--live",
        "url",
        metavar="URL",
        help="Compare a running server too: what it says it runs, and a few generations.",
    )
    @click.option("--live-key", metavar="VARIABLE", help="The environment variable that holds its API key.")
    @click.option(
        "--live-prompts",
        metavar="FILE",
        help="JSON Lines of prompts; default: those of a study of the deployment, else a few texts.",
    )
    @click.option(
        "--live-requests", type=click.IntRange(0, 1000), metavar="N", help="Generations; default 24, 0: none."
    )
    @click.option(
        "--live-tokens", type=click.IntRange(2, 4096), metavar="N", help="Tokens of each; default 64."
    )
    @click.option(
        "--live-seconds",
        type=FiniteRange(0.1, 3600),
        metavar="S",
        help="Time for all of it; default 120.",
    )
    @wraps(function)
    def command(
        *,
        url: str | None,
        live_key: str | None,
        live_prompts: str | None,
        live_requests: int | None,
        live_tokens: int | None,
        live_seconds: float | None,
        **given: Any,
    ) -> Any:
        more = {
            "key": live_key,
            "prompts": live_prompts,
            "requests": live_requests,
            "tokens": live_tokens,
            "seconds": live_seconds,
        }
        set_ones = {name: value for name, value in more.items() if value is not None}
        if url is None and set_ones:
            raise UsageError(
                f"--live-{next(iter(set_ones))} says how to ask a running server; give --live URL"
            )
        return function(live=None if url is None else {"url": url, **set_ones}, **given)

    return cast(F, command)


def looker(live: dict[str, Any], documents: Sequence[Document], deployments: Sequence[str]) -> Look:
    """What asks the server at ``live['url']`` about the one deployment that is checked.

    Raises UsageError where several are, and for options that cannot be used.
    """
    import os
    from pathlib import Path

    from eaglecfg.live.ask import Wanted, ask_server
    from eaglecfg.live.http import Server, parse_address

    _refuse_several(documents, deployments)
    key = ""
    if "key" in live:
        key = os.environ.get(live["key"], "")
        if not key:
            raise UsageError(_unset(live["key"]))
        if not key.isascii() or not key.isprintable():
            raise UsageError(
                f"the variable {live['key']} holds something else than a key: a line break, perhaps"
            )
    given = {name: live[name] for name in ("requests", "tokens", "seconds") if name in live}
    prompts = Path(live["prompts"]) if "prompts" in live else None
    server, wanted = Server(parse_address(live["url"]), key), Wanted(prompts=prompts, **given)

    def look(context: Context) -> Running:
        tell(f"asking {server.address} ...")
        running = ask_server(server, context, wanted)
        _tell(running)
        return running

    return look


def _unset(name: str) -> str:
    """Why there is no key. ``name`` is repeated only where it cannot be the key itself."""
    if re.fullmatch(r"[A-Z][A-Z_]*", name) and is_secret_name(name):
        return f"--live-key names the variable {name}, which is not set"
    return (
        "--live-key takes the name of an environment variable that holds the key, such as SGLANG_API_KEY; "
        "no variable of the name given is set, and it is not repeated here, as it may be the key"
    )


def _tell(running: Running) -> None:
    """One line on stderr about what was seen, whether it is good or not."""
    if running.problem:
        tell(f"{running.url}: {running.problem}")
        return
    parts = [f"{running.url}: version {running.version or 'not told'}"]
    algorithm = running.info.get("speculative_algorithm")
    parts.append(f"speculation {algorithm or 'off'}")
    measured = running.generations
    if measured is not None and measured.accept_length is not None:
        bounds = "" if measured.low is None else f" [{measured.low:.2f}, {measured.high:.2f}]"
        parts.append(
            f"accept length {measured.accept_length:.2f}{bounds} over {measured.counted} "
            f"{'prompt' if measured.counted == 1 else 'prompts'} {measured.origin.removeprefix('prompts ')}"
        )
    elif measured is not None and measured.problem:
        parts.append(measured.problem)
    tell(" · ".join(parts))


def _refuse_several(documents: Sequence[Document], deployments: Sequence[str]) -> None:
    from eaglecfg.schema.load import load_config
    from eaglecfg.schema.load_study import kind_of

    found = [
        (document.name, each.name)
        for document in documents
        if kind_of(document) != "study"
        for each in load_config(document).deployments
        if not deployments or each.name in deployments
    ]
    if len(found) > 1:
        files = {file for file, _ in found}
        names = [name for _, name in found]
        if len(set(names)) < len(names):
            listed = ", ".join(f"{name} of {file}" for file, name in found[:10])
            raise UsageError(
                f"--live compares one server with one deployment, and there are {len(names)}: name one file "
                f"({listed})"
            )
        where = " of one file" if len(files) > 1 else ""
        raise UsageError(
            f"--live compares one server with one deployment, and there are {len(names)}: "
            f"name the one{where} that it runs with -d ({', '.join(names[:10])})"
        )
