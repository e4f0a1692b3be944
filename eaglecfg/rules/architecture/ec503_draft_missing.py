"""Algorithms that need a draft of their own load the target as its own draft where none is named."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.rules.architecture.algorithms import known_algorithms
from eaglecfg.rules.architecture.drafts import algorithm
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.files.target_names import layers, whole_target
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today

SINGLE_STATE = ("EAGLE", "NEXTN")
"""Algorithms whose draft may be an MTP head in the target's own checkpoint."""

HEAD = re.compile(r"(?:^|[._])(?:mtp|nextn|eh_proj|enorm|hnorm|predict|eagle|draft)", re.IGNORECASE)
"""What names of tensors of an MTP head have in them, where it is not a layer beyond the last: mtp.fc of
Qwen3-Next, model.mtp_layers of MiMo, model.mtp_block of Ernie (their classes in srt/models/*mtp.py and
*nextn.py)."""

NEEDY = {
    "EAGLE3": "an EAGLE-3 draft",
    "EAGLE": "an EAGLE draft",
    "NEXTN": "an MTP head",
    "STANDALONE": "a smaller model of the same vocabulary",
    "DFLASH": "a DFlash draft",
    "FROZEN_KV_MTP": "an assistant model",
}
"""Algorithm -> the draft that it needs. Others draft from the text, or find their draft by other ways."""


def check(context: Context) -> Iterator[Item]:
    """Speculation that loads a draft must name one."""
    chosen = algorithm(context)
    name = chosen.upper() if chosen is not None else None
    if context.model.draft is not None or context.refused("draft") or name not in NEEDY:
        yield NotApplicable()
        return
    assert context.engine is not None
    known, _ = known_algorithms(context.engine)
    if context.argument("speculative_draft_model_path") is not None or name not in known:
        return  # no text, or no algorithm of this version, of which other rules say so
    head = _own_head(context)
    if name in SINGLE_STATE:
        if head is None:
            yield NotChecked(
                "whether the target holds an MTP head is told by its config.json, which could not be read",
                incomplete=True,
            )
            return
        if head and not _lacks_head(context):
            return
    today, outcome = _outcome(context, name, head)
    yield Finding(
        f"algorithm {name} needs a draft, but the deployment names none",
        path=context.where("speculative"),
        at_key=True,
        today=today,
        why=f"{engine_label(context)} {outcome}",
        help=f"add draft: {{checkpoint: ...}} with {NEEDY[name]}, or set speculative: off",
        values={"algorithm": name, "draft": None},
    )


def _own_head(context: Context) -> str | None:
    """The target's class where it drafts with its own checkpoint, empty where not, None: not known."""
    assert context.engine is not None
    config = context.target.config if context.target is not None else None
    if config is None or config.architecture is None:
        return None
    name = config.architecture
    values = context.engine.values
    families = [each[:-1] for each in values["mtp_in_target"] if each.endswith("*")]
    own = name in values["draft_from_target"] or name in values["mtp_in_target"]
    return name if own or any(name.startswith(each) for each in families) else ""


def _lacks_head(context: Context) -> bool:
    """Whether the target is of a class with a head, and its whole files have no tensor of one."""
    whole = whole_target(context)
    if whole is None:
        return False
    config, names = whole
    depth = config.integer("num_hidden_layers")
    beyond = depth is not None and any(index >= depth for index in layers(names))
    return bool(layers(names)) and not beyond and not any(HEAD.search(name) for name in names)


def _outcome(context: Context, name: str, head: str | None) -> tuple[Today, str]:
    """What the engine does without a draft."""
    if name == "DFLASH":
        return Today.REFUSED, "stops with a ValueError"
    if name == "EAGLE3":
        return Today.CRASH_AT_START, (
            f"takes the MTP head inside {head} as the draft, which reads no captured states"
            if head
            else "loads the target a second time as its own draft and fails after minutes of loading"
        )
    if head:
        return Today.SILENT, (
            f"takes the MTP head inside {head} as the draft, and the target's files have no tensor of one: "
            "it refuses, or drafts with whatever its memory held"
        )
    return Today.SLOWER, (
        "loads the target a second time as its own draft: its weights take twice the memory, and a token "
        "costs as much to draft as to decode"
    )


RULE = Rule(
    id="EC503",
    slug="draft-missing",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    research=("ALG-03", "ALG-04"),
)
