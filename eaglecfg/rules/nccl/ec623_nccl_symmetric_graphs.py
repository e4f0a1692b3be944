"""Symmetric kernels in CUDA graphs with an NCCL that lacks a barrier."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

FLAG, FIXED = "enable_symm_mem", "2.30.7"


def check(ctx: Context) -> Iterator[Item]:
    """Symmetric kernels before 2.30.7 must not be captured in graphs."""
    view = settings(ctx, flags=(FLAG,))
    if view is None:
        yield NotApplicable()
        return
    windowless = "NCCL_SYM_NOWIN_ENABLE" in view and view.number("NCCL_SYM_NOWIN_ENABLE") == 1
    if not (view.symmetric or windowless) or view.tensor <= 1:
        yield NotApplicable()
        return
    graphs = ctx.resolution.graphs if ctx.resolution is not None else True
    what = "--enable-symm-mem" if view.symmetric else view.spelled("NCCL_SYM_NOWIN_ENABLE")
    path = ctx.argument_path(FLAG) if view.symmetric else view.path("NCCL_SYM_NOWIN_ENABLE")
    if not graphs:
        return
    values = {"nccl_version": view.version, "fixed": FIXED}
    if not view.recent(FIXED):
        yield Finding(
            f"{what} captures symmetric kernels of NCCL {view.version} in CUDA graphs; before {FIXED} they "
            "lack a barrier",
            path=path,
            why="decode from such graphs gave wrong tokens, without any error (version: "
            f"{view.version_from})",
            help=f"run NCCL {FIXED} or later, or leave {what} out",
            values=values,
        )
    elif ctx.speculates:
        yield Finding(
            f"{what} with speculative decoding deserves a comparison of outputs before it serves",
            path=path,
            severity=Severity.INFO,
            today=Today.NOTHING,
            why="wrong results of captured symmetric kernels were reported more than once with speculation",
            help="compare answers with and without it, token by token",
            values=values,
        )


RULE = Rule(
    id="EC623",
    slug="nccl-symmetric-graphs",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    follows=(
        "EC602",
        "EC620",
    ),
    research=(
        "nccl/M007",
        "nccl/M008",
    ),
)
