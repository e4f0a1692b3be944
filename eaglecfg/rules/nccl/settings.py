"""What the rules about NCCL look at: variables as parsed, NCCL's version, the machine, and the engine's own
writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eaglecfg.engines.handed import Handed, handed_names
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.nccl.engine_writes import Effective, Launch, effective, engine_variables, written_names
from eaglecfg.nccl.facts import Standing, VariableFact, nccl_of_torch, variable_fact
from eaglecfg.nccl.gpus import Gpu, gpu_of
from eaglecfg.nccl.lists import Allowed
from eaglecfg.nccl.parse import Parsed, parse
from eaglecfg.nccl.variables import Variable, variables
from eaglecfg.nccl.version import at_least, declared_version, release
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding
from eaglecfg.rules.nccl.library import VersionNotKnown, chosen_library
from eaglecfg.source.span import KeyPath

NEWEST = "2.32.3"
"""The version whose grammar is assumed where nothing says which NCCL runs."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``given``: the variables that the deployment sets, by environment name. ``version``: NCCL's,
    ``version_from`` where it is from, in words. ``launch`` is None where the engine is not known.
    ``another`` is the variable, with its value, that chooses an NCCL of which nothing tells the version:
    ``version`` is then only the one whose grammar is assumed, and no verdict rests on it.

    Whatever follows from a value that is handed on from whoever launches raises ValueFromLaunch; what
    follows from a version that is not known raises VersionNotKnown, which is one.
    """

    ctx: Context
    given: Mapping[str, Variable]
    version: str
    version_from: str
    launch: Launch | None
    another: str = ""

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def handed(self, name: str) -> bool:
        """Whether the variable is given, with a value that only whoever launches knows."""
        return name in self.given and self.given[name].handed

    def text(self, name: str) -> str:
        """The value as spelled, empty where it is not given."""
        if name not in self.given:
            return ""
        if self.handed(name):
            raise ValueFromLaunch(name)
        return self.given[name].text

    def path(self, name: str) -> KeyPath:
        """Where the value stands in the document."""
        return self.ctx.where(*self.given[name].path)

    def spelled(self, name: str) -> str:
        """``NCCL_PROTO=LL``, as findings name a setting; the name alone where the value is handed on."""
        if self.handed(name):
            return name
        text = self.text(name)
        return f"{name}={text}" if text == text.strip() else f"{name}='{text}'"

    def parsed(self, name: str) -> Parsed | None:
        """What NCCL takes the given text as, None where it is not given."""
        return parse(name, self.text(name), self.version) if name in self.given else None

    def known(self, *kinds: str) -> Iterator[tuple[Variable, VariableFact]]:
        """The given variables of these ``kinds``, of any without them, that the facts know and that this
        version reads, or may read. Those whose value is handed on come last, as ValueFromLaunch."""
        handed = []
        for variable, fact in self.read():
            if kinds and fact.kind not in kinds:
                continue
            if variable.handed:
                handed.append(variable.name)
            else:
                yield variable, fact
        if handed:
            raise ValueFromLaunch(*handed)

    def read(self) -> Iterator[tuple[Variable, VariableFact]]:
        """The given variables that the facts know and that this version reads, or may read, whether their
        value is known or not."""
        for variable in self.given.values():
            fact = variable_fact(variable.name)
            if fact is not None and fact.standing(self.version) in ("there", "open"):
                yield variable, fact

    def sees(self, name: str) -> Effective:
        """What NCCL gets to see of a variable, after the engine's own writes; ``${NAME}`` where the value is
        handed on."""
        if self.launch is None:
            return Effective(name, self.given[name].text if name in self.given else None)
        return effective(name, self.launch)

    def _reaches(self, name: str) -> str | None:
        """The text that NCCL gets to see, where it is known."""
        seen = self.sees(name)
        return seen.text if seen.by_engine or name not in self.given else self.text(name)

    def number(self, name: str) -> int | None:
        """The whole number that NCCL works with, None where it works with its default."""
        text = self._reaches(name)
        taken = parse(name, text, self.version).taken if text else None
        return taken if isinstance(taken, int) else None

    def allowed(self, name: str) -> Allowed | None:
        """What NCCL_ALGO or NCCL_PROTO allows, None where it is not set or does not get through."""
        text = self._reaches(name)
        if not text:
            return None
        taken = parse(name, text, self.version)
        return taken.taken if isinstance(taken.taken, Allowed) and not taken.problems else None

    def flag(self, name: str) -> Any:
        """The value that runs of a server flag, None where it is off or not known."""
        return self.launch.flag(name) if self.launch is not None else self.ctx.argument(name)

    @property
    def topology(self) -> str | None:
        hardware = self.ctx.model.hardware
        return hardware.topology if hardware is not None else None

    @property
    def gpu_name(self) -> str:
        hardware = self.ctx.model.hardware
        return (hardware.gpu or "") if hardware is not None else ""

    @property
    def gpu(self) -> Gpu | None:
        return gpu_of(self.gpu_name)

    @property
    def tensor(self) -> int:
        return self.ctx.model.parallel.tp_size

    @property
    def nodes(self) -> int:
        return self.ctx.model.parallel.nnodes or 1

    @property
    def linked(self) -> bool | None:
        """Whether NVLink joins every pair of ranks; None where the topology is not declared."""
        if self.topology is None:
            return None
        return self.nodes == 1 and (
            self.topology == "nvswitch" or (self.topology == "nvlink-pair" and self.tensor == 2)
        )

    @property
    def symmetric(self) -> bool:
        """Whether the engine uses NCCL's symmetric memory."""
        return bool(self.flag("enable_symm_mem"))

    def engine_value(self, name: str) -> Effective:
        """What the engine would set where the user's value were not there."""
        return effective(name, self.launch_without((name,)))

    def launch_without(self, names: Collection[str]) -> Launch:
        """The launch, were the variables ``names`` not set."""
        assert self.launch is not None
        env = self.launch.env
        return replace(self.launch, env=env.without(names) if isinstance(env, Handed) else env)

    def written(self) -> tuple[str, ...]:
        """Variables that the engine writes, in some version."""
        return written_names(self.ctx.engine.name) if self.ctx.engine is not None else ()

    def own(self) -> Mapping[str, Mapping[str, str]]:
        """The engine's own variables about collectives, as its facts have them."""
        return engine_variables(self.ctx.engine.name) if self.ctx.engine is not None else {}

    def recent(self, version: str) -> bool:
        """Whether NCCL is ``version`` or later."""
        if self.another:
            raise VersionNotKnown(self.another)
        return at_least(self.version, version)

    def standing(self, fact: VariableFact) -> Standing:
        """Whether the NCCL that runs reads the variable."""
        standing = fact.standing(self.version)
        if self.another and standing != "there":
            raise VersionNotKnown(self.another)
        return standing

    @property
    def library(self) -> str:
        """``NCCL 2.28.9`` as messages name it, without a number that is only assumed."""
        return "NCCL" if self.another else f"NCCL {self.version}"

    def finding(self, name: str, message: str, **more: Any) -> Finding:
        """A finding at a variable, with its name, its text and NCCL's version among the values."""
        values = {
            name: self.given[name].text,
            "nccl_version": None if self.another else self.version,
            **more.pop("values", {}),
        }
        return Finding(message, path=self.path(name), values=values, **more)

    def p2p_off(self) -> str:
        """The variable that turns P2P off, empty where none does."""
        if self.number("NCCL_P2P_DISABLE") == 1:
            return "NCCL_P2P_DISABLE"
        level = self.parsed("NCCL_P2P_LEVEL")
        return "NCCL_P2P_LEVEL" if level is not None and level.taken == "LOC" else ""


def look(ctx: Context) -> Settings:
    """The settings of a deployment."""
    given = variables(ctx.model)
    version, source = _version(ctx)
    hardware = ctx.model.hardware
    told = hardware is not None and declared_version(hardware.nccl_version or "") is not None
    another = "" if told else chosen_library(ctx.model.env)
    return Settings(ctx, given, version, source, _launch(ctx, given), another)


def _version(ctx: Context) -> tuple[str, str]:
    """NCCL's version and where it is from, in words."""
    hardware = ctx.model.hardware
    declared = (declared_version(hardware.nccl_version or "") or "") if hardware is not None else ""
    pin = str(ctx.engine.values.get("pins", {}).get("torch", "")) if ctx.engine is not None else ""
    torch = hardware.torch if hardware is not None else None
    brought = [
        (nccl, f"torch {one} brings it ({source})")
        for one, source in ((torch, "hardware.torch"), (pin.removeprefix("=="), "the engine's pin"))
        if one and (nccl := nccl_of_torch(one)) is not None
    ]
    if len(release(declared)) >= 3:
        return declared, "hardware.nccl_version"
    # A version without its last number does not say whether a variable is there yet.
    for nccl, source in brought:
        if not declared:
            return nccl, source
        if nccl.startswith(f"{declared}."):
            return nccl, f"hardware.nccl_version is {declared}, and {source}"
    if declared:
        return declared, "hardware.nccl_version"
    return NEWEST, "assumed; declare hardware.nccl_version"


def _launch(ctx: Context, given: Mapping[str, Variable]) -> Launch | None:
    if ctx.engine is None or ctx.resolution is None or ctx.engine.name != "sglang":
        return None
    parallel, hardware = ctx.model.parallel, ctx.model.hardware
    gpu = gpu_of(hardware.gpu) if hardware is not None else None
    env = Handed(
        dict(ctx.model.env) | {name: variable.text for name, variable in given.items()},
        (*handed_names(ctx.model.env), *(each.name for each in given.values() if each.handed)),
    )
    return Launch(
        ctx.engine.facts_of,
        ctx.resolution.runs,
        parallel.tp_size,
        max(parallel.tp_size, parallel.ep_size or 1, parallel.dp_size or 1),
        parallel.nnodes or 1,
        gpu is not None and gpu.fabric,
        ctx.resolution.graphs,
        env,
    )
