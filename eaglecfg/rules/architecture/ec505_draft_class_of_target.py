"""A draft whose config names the class of a whole language model."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.architecture.drafts import mark_lines, marks, runs_eagle3
from eaglecfg.rules.architecture.ec502_draft_of_another_kind import OTHER_KINDS
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today

LLAMA, MLA = "LlamaForCausalLMEagle3", "Eagle3DeepseekV2ForCausalLM"


def is_language_model(name: str) -> bool:
    """Whether ``name`` is that of a whole model rather than of a draft class, known or not."""
    ends = name.endswith(("ForCausalLM", "ForConditionalGeneration", "LMHeadModel"))
    return ends and "Eagle" not in name and "Draft" not in name and OTHER_KINDS.search(name) is None


def check(context: Context) -> Iterator[Item]:
    """The draft's class must be a draft class."""
    draft = context.draft
    assert context.engine is not None
    assert draft is not None
    assert draft.config is not None
    name = draft.config.architecture
    if not runs_eagle3(context) or name is None or not is_language_model(name):
        return
    fits = MLA if any("kv_a_proj_with_mqa" in key for key in draft.names or ()) else LLAMA
    eagle3 = bool(marks(draft))
    yield Finding(
        f"the draft's config.json names the class {name} of a whole model, but its tensors are those of "
        f"an EAGLE-3 draft, which {engine_label(context)} builds as {fits}"
        if eagle3
        else f"the draft is a whole model of class {name}, but algorithm EAGLE3 needs a draft of class "
        f"{fits}",
        path=context.where("draft", "checkpoint"),
        why="the engine picks the class by this name (some names it first rewrites to an MTP class), and "
        "that class does not fit the tensors",
        help=f'write "architectures": ["{fits}"] in the draft\'s config.json'
        if eagle3
        else "use an EAGLE-3 draft that was trained for this target",
        evidence=(config_line(draft.config, "architectures", "class of a whole model"), *mark_lines(draft)),
        values={"draft_architecture": name, "fitting": fits},
    )


RULE = Rule(
    id="EC505",
    slug="draft-class-of-whole-model",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    research=("ALG-06", "ALG-07"),
)
