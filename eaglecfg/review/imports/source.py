"""What an import reads: a command, a script, a compose file, a manifest, a Dockerfile, an env file."""

from __future__ import annotations

import re
from typing import Literal

from eaglecfg.errors import UsageError
from eaglecfg.record import record
from eaglecfg.review.imports.calls import Call, calls_of_script, mentions, other_engine
from eaglecfg.review.imports.compose import calls_of_compose
from eaglecfg.review.imports.dockerfile import calls_of_dockerfile
from eaglecfg.review.imports.env_file import calls_of_env_file
from eaglecfg.review.imports.foreign import is_python, is_shell, refuse_foreign, without_here_documents
from eaglecfg.review.imports.manifest import calls_of_manifest
from eaglecfg.review.imports.systemd import SECTION, calls_of_unit
from eaglecfg.review.imports.text import Note
from eaglecfg.review.imports.values import RENDER_THE_CHART, refuse_values
from eaglecfg.review.imports.yaml_source import read_parts
from eaglecfg.review.render.env_file import COMMAND
from eaglecfg.review.render.header import origin_of
from eaglecfg.schema.load import MOST_DEPLOYMENTS

Kind = Literal[
    "command", "env file", "compose file", "manifest", "Dockerfile", "systemd unit", "server info"
]  # fmt: skip

_YAML = re.compile(r"^(?:services|apiVersion|kind|items)[ \t]*:", re.MULTILINE)
_JSON = re.compile(r'\s*\{\s*["}]')
_BEFORE_FROM = re.compile(r"\s*(?:#|ARG\s|$)", re.IGNORECASE)
_FROM = re.compile(r"\s*FROM[ \t]+\S", re.IGNORECASE)


@record
class Found:
    """The launches of a text, and what is to be told about the whole of it."""

    calls: tuple[Call, ...]
    notes: tuple[Note, ...] = ()


def kind_of(text: str) -> Kind:
    """What the text is, by how it is written."""
    text = text.removeprefix("\ufeff")
    if is_shell(text):
        return "command"
    text = without_here_documents(text)
    if SECTION.search(text):
        return "systemd unit"
    if _JSON.match(text) and not re.search(r'"(?:kind|services|apiVersion)"\s*:', text):
        return "server info"
    if _is_dockerfile(text):
        return "Dockerfile"
    if _YAML.search(text) or _JSON.match(text):
        return "compose file" if re.search(r'^"?\s*"?services"?[ \t]*:', text, re.MULTILINE) else "manifest"
    if re.search(rf"^{re.escape(COMMAND)}[ \t]*$", text, re.MULTILINE):
        return "env file"
    return "command"


def _is_dockerfile(text: str) -> bool:
    """Whether the first instruction is FROM; only comments and ARG may stand before it."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at : min(end, at + 200)]
        if not _BEFORE_FROM.match(line):
            return _FROM.match(line) is not None
        at = end + 1
    return False


def find_calls(text: str, shown: str) -> Found:
    """The server launches in ``text``, which ``shown`` names in messages.

    Raises UsageError where it does not parse or launches no server.
    """
    kind = kind_of(text)
    calls: list[Call] = []
    notes: list[Note] = []
    try:
        if kind in ("compose file", "manifest"):
            for part in read_parts(text, shown):
                calls += calls_of_compose(part) if "services" in part.data else calls_of_manifest(part)
        elif kind == "Dockerfile":
            calls += calls_of_dockerfile(text)
        elif kind == "env file":
            calls += calls_of_env_file(text)
        elif kind == "systemd unit":
            calls += calls_of_unit(text)
        else:
            if not is_shell(text, shown):
                refuse_values(text)
            if mentions(text) and origin_of(text) is None:
                refuse_foreign(text, shown)
            calls, notes = calls_of_script(text)
    except UsageError as error:
        if str(error).startswith(shown):
            raise
        raise UsageError(f"{shown}: {error}") from None
    except RecursionError:
        raise UsageError(f"{shown}: it nests deeper than can be followed") from None
    if not calls:
        _refuse_values(text, shown, kind)
        raise UsageError(_nothing(text, shown, kind))
    if len(calls) > MOST_DEPLOYMENTS:
        raise UsageError(
            f"{shown}: it launches {len(calls):,} servers; a file holds up to {MOST_DEPLOYMENTS}"
        )
    return Found(tuple(calls), tuple(notes))


def _refuse_values(text: str, shown: str, kind: Kind) -> None:
    """Raises UsageError for values of a chart that have a key as manifests do."""
    try:
        if kind == "manifest":
            refuse_values(text)
    except UsageError as error:
        raise UsageError(f"{shown}: {error}") from None


def _nothing(text: str, shown: str, kind: Kind) -> str:
    if kind == "manifest" and "{{" in text:
        return f"{shown}: this is a template; {RENDER_THE_CHART}"
    other = other_engine(text)
    if other:
        return f"{shown}: this launches {other}; only SGLang servers can be imported"
    if not text.strip():
        return f"{shown}: it is empty"
    if kind == "command" and is_python(text, shown):
        return (
            f"{shown}: this looks like a Python program, which is not read; import the command of a server, "
            "or begin with eaglecfg init TARGET DRAFT"
        )
    what = "this command" if kind == "command" and "\n" not in text.strip() else f"this {kind}"
    at = next((at for at, row in enumerate(text.split("\n"), 1) if mentions(row)), 0)
    if at and "\n" in text.strip():
        return (
            f"{shown}: line {at} mentions a server, but as text that this {kind} shows, writes or hands to "
            "something that is not read here; import that script or command itself"
        )
    wanted = "python3 -m sglang.launch_server or sglang serve"
    return f"{shown}: {what} is expected to launch a server with {wanted}, and does not"
