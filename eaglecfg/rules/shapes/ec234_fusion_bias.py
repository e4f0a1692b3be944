"""The bias of fc in the config and in the files."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.naming import reaching
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, missing_tensor, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import by_plain_name, draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """``bias`` must be true exactly where the files hold fc.bias."""
    fact, draft = draft_class(ctx), draft_config(ctx)
    if fact is None or "bias" not in fact.honours:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    asked = draft.value("bias", False) is True
    held = reaching(fact, "fc.bias", ctx.draft.names or ()) is not None
    if asked == held:
        return
    tensor = by_plain_name(ctx).get("fc.bias")
    if held:
        yield Finding(
            f"the draft ships fc.bias, but {draft.file} does not set bias",
            path=ctx.where("draft", "checkpoint"),
            why="SGLang builds fc without a bias and drops the trained one, and nothing says so",
            help=f'write "bias": true into {draft.file}',
            evidence=(
                *((tensor_line(tensor, "dropped"),) if tensor is not None else ()),
                config_line(draft, "bias"),
            ),
            values={"bias": False},
        )
        return
    yield Finding(
        f"{draft.file} sets bias, but the draft's files have no fc.bias",
        path=ctx.where("draft", "checkpoint"),
        why="SGLang builds a bias for fc and does not check for missing tensors: it keeps uninitialised "
        "memory",
        help=f'write "bias": false into {draft.file}, or add fc.bias of the training run',
        evidence=(config_line(draft, "bias"), missing_tensor(ctx.draft, "fc.bias")),
        values={"bias": True},
    )


RULE = Rule(
    id="EC234",
    slug="fusion-bias",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=UNLOADABLE,
    research=("SHP-13",),
)
