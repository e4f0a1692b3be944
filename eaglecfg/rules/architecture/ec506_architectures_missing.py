"""Without ``architectures`` no class can be chosen."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line, shown
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Both config.json files must name a class."""
    target = context.target.config if context.target is not None else None
    draft = context.draft.config if context.draft is not None and context.speculates else None
    if target is not None and target.architecture is None:
        yield _finding(context, target, "target", "the class of the model")
    if draft is not None and draft.architecture is None:
        yield _finding(context, draft, "draft", "LlamaForCausalLMEagle3 for a Llama-style EAGLE-3 draft")


def _finding(context: Context, config: ModelConfig, role: str, wanted: str) -> Finding:
    given = config.top("architectures")
    is_given = "is absent" if given is None else f"is {shown(given.value)}"
    return Finding(
        f"architectures in {config.file} must name a class, but it {is_given}",
        path=context.where(role, "checkpoint"),
        why=f"{engine_label(context)} picks the class of the {role} by architectures[0] and stops while "
        "loading",
        help=f'write "architectures": [...] with {wanted}',
        evidence=(config_line(config, "architectures"),),
        values={"architectures": None if given is None else given.value},
    )


RULE = Rule(
    id="EC506",
    slug="architectures-missing",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    research=("ALG-14",),
)
