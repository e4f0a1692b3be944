"""The server runs other checkpoints than the config names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed
from eaglecfg.rules.model import Evidence, Finding, Item, Need, Rule, Severity, Today

if TYPE_CHECKING:
    from eaglecfg.rules.live.running import Differing


def check(ctx: Context) -> Iterator[Item]:
    """Compare the target's and the draft's names, as far as a path in a container can be compared."""
    from eaglecfg.rules.live.judge import option

    running = ctx.running
    assert running is not None
    model = ctx.model
    sides = [("target", "model_path", model.target.checkpoint)]
    if ctx.speculates and model.draft is not None:
        sides.append(("draft", "speculative_draft_model_path", model.draft.checkpoint))
    for role, name, spelled in sides:
        found = running.info.get(name)
        if not running.says(name) or (role == "draft" and not running.info.get("speculative_algorithm")):
            continue  # whether it speculates at all is another rule's
        if not _same_model(ctx, spelled, found):
            yield Finding(
                f"the server at {running.url} runs the {role} {found}, but {role}.checkpoint is {spelled}",
                path=ctx.where(role, "checkpoint"),
                help=f"start the server with {option(name)} {spelled}, or name in the config what runs",
                evidence=(Evidence(f"{running.url}/server_info", name, str(found)),),
                values={"running": found, "named": spelled},
            )
        elif told := running.differing.get(role):
            yield _another_folder(ctx, role, name, spelled, told)


def _another_folder(ctx: Context, role: str, name: str, spelled: str, told: Differing) -> Finding:
    """A folder of the same name with other content: what was checked is not what runs."""
    running = ctx.running
    assert running is not None
    found = running.info[name]
    config = f"config.json differs from that of {role}.checkpoint {spelled} in {listed(list(told.keys))}"
    weights = f"{listed(list(told.files))} is another than that of {role}.checkpoint {spelled}"
    return Finding(
        f"the server at {running.url} runs the {role} {found}, whose {config if told.keys else weights}",
        path=ctx.where(role, "checkpoint"),
        why="everything that was checked in files was checked in another folder",
        help="start the server with the checkpoint of the config, or name in the config what runs",
        evidence=(Evidence(f"{running.url}/server_info", name, str(found)),),
        values={"running": found, "named": spelled, "keys": list(told.keys), "files": list(told.files)},
    )


def _same_model(ctx: Context, spelled: str, found: Any) -> bool:
    """Whether both may be one checkpoint: the same folder, hub id, or last part of the path."""
    from pathlib import Path

    if not isinstance(found, str) or "\0" in found or "\0" in spelled:
        return bool(found == spelled)
    here = (Path(ctx.config.document.folder) / spelled).resolve()
    if found == spelled or Path(found).resolve() == here:
        return True
    return _name(found) in (_name(spelled), here.name)


def _name(spelled: str) -> str:
    """The part of a name that stays when a folder is mounted elsewhere, or a hub id read from a cache."""
    parts = [part for part in spelled.partition("@")[0].split("/") if part]
    for part in parts:
        if part.startswith("models--"):
            return part.rpartition("--")[2]
    return parts[-1] if parts else ""


RULE = Rule(
    id="EC853",
    slug="live-models",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.RUNNING,),
)
