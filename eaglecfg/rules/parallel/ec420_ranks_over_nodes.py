"""EC420: the same number of ranks on every host."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks, unsettled


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    parallel, shared = ctx.model.parallel, ranks(ctx)
    hosts, stages = 1 if parallel.nnodes is None else parallel.nnodes, parallel.pp_size or 1
    total = shared.tensor * stages
    host = ctx.argument("node_rank")
    if isinstance(host, int) and not isinstance(host, bool) and hosts > 0 and not 0 <= host < hosts:
        yield _no_such_host(ctx, host, hosts)
        return
    if hosts == 1 or total < 1:
        yield NotApplicable()
        return
    path = ctx.where("parallel", "nnodes")
    if hosts < 1:
        yield Finding(
            f"nnodes must be at least 1, but is {hosts}",
            path=path,
            why="it is the number of hosts, over which SGLang divides its ranks",
            help="write the number of hosts, or leave it out for one",
            values={"nnodes": hosts},
        )
    elif total % hosts:
        product = f"tp_size {shared.tensor}" + (f" × pp_size {stages}" if stages > 1 else "")
        yield Finding(
            f"{product} does not divide by nnodes {hosts}",
            path=path,
            why="every host runs the same number of ranks; SGLang asserts it at start",
            help=f"use a tp_size that is a multiple of {hosts}, or another nnodes",
            related=((ctx.where("parallel", "tp_size"), f"{shared.tensor} tensor-parallel ranks"),),
            arithmetic=(f"{total} ÷ {hosts} = {total // hosts}, remainder {total % hosts}",),
            values={"ranks": total, "nnodes": hosts},
        )
    elif (parallel.dp_size or 1) > 1 and shared.groups == 1 and not parallel.enable_dp_attention:
        yield Finding(
            f"dp_size {parallel.dp_size} makes replicas, which SGLang does not spread over nnodes {hosts}",
            path=path,
            why="SGLang asserts at start that more than one host runs one replica, unless attention is "
            "data-parallel",
            help="serve the replicas from one host each, or use data-parallel attention",
            related=((ctx.where("parallel", "dp_size"), f"{parallel.dp_size} replicas"),),
            values={"dp_size": parallel.dp_size, "nnodes": hosts},
        )


def _no_such_host(ctx: Context, host: int, hosts: int) -> Finding:
    fits = "0" if hosts == 1 else f"from 0 to {hosts - 1}"
    return Finding(
        f"node_rank must be {fits} with nnodes {hosts}, but is {host}",
        path=ctx.argument_path("node_rank"),
        why="this host would start ranks that the others do not count; they never find each other",
        help="number the hosts from 0, or set nnodes to how many there are",
        related=((ctx.where("parallel", "nnodes"), f"{hosts} host{'s' if hosts > 1 else ''}"),),
        values={"node_rank": host, "nnodes": hosts},
        today=Today.CRASH_AT_START,
    )


RULE = Rule(
    id="EC420",
    slug="ranks-over-nodes",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC408",),
)
