"""Which variables Slurm and its like hand to a job: ``srun --export``, lines of ``#SBATCH`` and ``#PBS``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eaglecfg.review.imports.shell_state import State
from eaglecfg.review.imports.text import Note, Text, behind, guarded, not_known, split

LONGEST = 10_000
"""Characters of a list of variables."""

EXPORT_ENV = "SLURM_EXPORT_ENV"
"""sbatch leaves here what ``--export`` said, and every srun in the job goes by it. See sbatch(1), srun(1)."""

STEP_EXPORT_ENV = "SRUN_EXPORT_ENV"
"""What srun goes by before that one."""

_DIRECTIVE = re.compile(r"#(SBATCH|PBS|\$|BSUB)[ \t]+(.*)")
_EXPORT = re.compile(r"""(?:^|\s)--export(?:=|\s+)("[^"]*"|'[^']*'|\S+)""")
_EXPORT_FILE = re.compile(r"(?:^|\s)--export-file(?:=|\s+)(\S+)")
_PBS = re.compile(r"""(?:^|\s)-v[ \t]*("[^"]*"|'[^']*'|\S+)""")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


def exported(spec: Text, environment: Mapping[str, Text]) -> dict[str, Text] | None:
    """What a job step gets of ``environment`` with ``--export=spec``; None where ``spec`` is not known."""
    if len(spec.text) > LONGEST:
        return None
    parts = [part for part in split(spec, ",") if part.text]
    if any(
        part.unknown and (part.holes[0][0] <= part.text.find("=") or "=" not in part.text) for part in parts
    ):
        return None
    everything = "ALL" in [part.text.upper() for part in parts]
    kept = dict(environment) if everything else {}
    for part in parts:
        name, equals, _ = part.text.partition("=")
        if equals:
            kept[name] = behind(part, "=")
        elif name.upper() not in ("ALL", "NONE", "NIL") and name.isidentifier():
            kept[name] = environment.get(name, not_known(name))
    return kept


def state_of_job(text: str) -> tuple[State, list[Note]]:
    """What the directives in front of a job script say about its environment."""
    state, notes = State(), []
    for number, row in enumerate(text.split("\n"), 1):
        row = row.strip()
        if row and not row.startswith("#"):
            break
        found = _DIRECTIVE.match(row)
        if found is None:
            continue
        scheduler, rest = found[1], found[2]
        if scheduler == "SBATCH" and (file := _EXPORT_FILE.search(rest)):
            shown = guarded(file[1])
            why = f"{shown} is not read: the variables that it sets are not known here"
            notes.append(Note(why, number, todo=True, block="env"))
            state.reads(shown)
        given = _EXPORT.search(rest) if scheduler == "SBATCH" else None
        if given:
            state.assign(EXPORT_ENV, Text(given[1].strip("\"'")))
            state.exported.add(EXPORT_ENV)
        elif scheduler in ("PBS", "$") and (given := _PBS.search(rest)):
            _given(given[1].strip("\"'"), state)
    if isinstance(spec := state.variables.get(EXPORT_ENV), Text):
        _given(spec.text, state)
    return state, notes


def _given(spec: str, state: State) -> None:
    for part in re.split(r",(?=[A-Za-z_]\w*(?:=|,|$))", spec):
        name, equals, value = part.partition("=")
        if equals and _ASSIGNED.match(part):
            state.assign(name, Text(value))
            state.exported.add(name)
        elif name.isidentifier() and name.upper() not in ("ALL", "NONE", "NIL"):
            state.export(name)
