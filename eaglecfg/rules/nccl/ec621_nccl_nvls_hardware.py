"""NVLink SHARP asked for where the hardware or this NCCL has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import leave_out, without_variable, write_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

NAME, FLAG, FABRIC = "NCCL_NVLS_ENABLE", "enable_nccl_nvls", "NCCL_MNNVL_ENABLE"


def check(ctx: Context) -> Iterator[Item]:
    """NVLS needs NVSwitch and compute capability 9; NVLink across nodes needs a fabric."""
    view = settings(ctx, flags=(FLAG,))
    if view is None:
        yield NotApplicable()
        return
    yield from _fabric(view)
    asked = (view.number(NAME) or 0) >= 1 and (NAME in view or bool(view.flag(FLAG))) and view.tensor > 1
    if not asked:
        return
    lacks = _lacks(view)
    if lacks:
        yield _at(
            view,
            ctx,
            f"asks for NVLS, and {lacks}",
            None,
            "nothing is gained, and 1 skips the question whether the "
            "device can: where it says yes and cannot, initialisation fails or hangs",
            "leave it out",
        )
    elif view.topology is None:
        yield NotChecked("whether NVLS can run: declare hardware.topology and hardware.gpu")
    elif view.nodes == 1 and view.tensor == 2 and not view.recent("2.28.9"):
        yield _at(
            view,
            ctx,
            f"has no effect on two GPUs before NCCL 2.28.9 ({view.version} runs)",
            Severity.INFO,
            "NVLS was for more than two GPUs until then",
            "leave it out, or run a later NCCL",
        )
    elif NAME in view and view.recent("2.27") and not view.recent("2.29"):
        sure = view.number(NAME) == 1
        yield _at(
            view,
            ctx,
            f"may hang on NCCL {view.version} where multicast cannot be allocated",
            None if sure else Severity.INFO,
            "2.27 and 2.28 fall back without a word, and some ranks may do so while others wait",
            "run 2.29 or later, where the failure is an error",
        )


def _lacks(view: Settings) -> str:
    if view.gpu is not None and view.gpu.major < 9:
        return f"{view.gpu_name} has compute capability {view.gpu.capability}, not 9"
    if view.topology is not None and view.topology != "nvswitch":
        return f"hardware.topology is {view.topology}, without NVSwitch"
    return ""


def _at(view: Settings, ctx: Context, text: str, severity: Severity | None, why: str, help: str) -> Finding:
    if NAME in view:
        fix = without_variable(view, NAME) if help.startswith("leave it out") else None
        message = f"{view.spelled(NAME)} {text}"
        return view.finding(NAME, message, severity=severity, why=why, help=help, fix=fix)
    path = ctx.argument_path(FLAG)
    fix = leave_out(ctx, FLAG) if help.startswith("leave it out") else None
    message = f"--enable-nccl-nvls {text}"
    return Finding(message, path=path, severity=severity, why=why, help=help, fix=fix)


def _fabric(view: Settings) -> Iterator[Item]:
    if view.number(FABRIC) != 1 or FABRIC not in view:
        return
    if view.gpu is None:
        yield NotChecked(f"whether {view.spelled(FABRIC)} can work: declare hardware.gpu")
    elif not view.gpu.fabric:
        yield view.finding(
            FABRIC,
            f"{view.spelled(FABRIC)} demands NVLink across nodes, which {view.gpu_name} does not have",
            severity=Severity.ERROR,
            today=Today.CRASH_AT_START,
            why="with 1, NCCL stops at initialisation where there is no NVLink fabric; 2 would ask first",
            fix=write_variable(view, FABRIC, "2"),
            help="leave it out, or write 2",
        )


RULE = Rule(
    id="EC621",
    slug="nccl-nvls-hardware",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    follows=(
        "EC604",
        "EC606",
        "EC622",
    ),
    research=(
        "nccl/M001",
        "nccl/M004",
        "nccl/M005",
        "nccl/M013",
    ),
)
