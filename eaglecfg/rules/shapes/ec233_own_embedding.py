"""A draft of another width needs an embedding of its own."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.naming import reaching, wrapped
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, missing_tensor, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import wiring
from eaglecfg.rules.shapes.tensors import by_plain_name, draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """Where ``target_hidden_size`` differs from ``hidden_size`` the target's table cannot be shared."""
    draft = draft_config(ctx)
    wide, hidden = draft.integer("target_hidden_size"), draft.integer("hidden_size")
    fact = draft_class(ctx)
    built = wiring(ctx)
    # One that borrows the head is given both tables of the target's; a rule of its own says why that stops.
    borrows = built is not None and built.head == "target"
    if fact is None or wide is None or hidden is None or wide == hidden or borrows:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    own, rows = by_plain_name(ctx).get("embed_tokens.weight"), draft.integer("vocab_size")
    if own is not None and rows is not None and own.shape != (rows, hidden):
        yield Finding(
            f"embed_tokens.weight must be [{rows}, {hidden}], but is {list(own.shape)}",
            path=ctx.where("draft", "checkpoint"),
            today=Today.CRASH_AT_START,
            why="this draft keeps its own embedding, and SGLang stops while it loads one of another size",
            help="take the embedding and config.json from one training run",
            evidence=(tensor_line(own), config_line(draft, "vocab_size"), config_line(draft, "hidden_size")),
            values={"expected": [rows, hidden], "found": list(own.shape)},
        )
        return
    names = ctx.draft.names or frozenset()
    if reaching(fact, "embed_tokens.weight", names) is not None:
        return
    stray = next((name for name in sorted(names) if name.endswith(".embed_tokens.weight")), None)
    if stray is not None and wrapped(fact, stray, names):
        yield NotApplicable()  # the rule about missing tensors tells of a prefix before every tensor
        return
    yield Finding(
        f"a draft of hidden_size {hidden} for a target of {wide} needs embed_tokens.weight, but its files "
        + ("have none" if stray is None else f"call it {stray}, which {fact.architecture} does not load"),
        path=ctx.where("draft", "checkpoint"),
        why="the target's embedding is of another width and is not shared, and SGLang does not check for "
        "missing tensors: "
        "the draft reads random embeddings",
        help="add embed_tokens.weight of the training run to the draft's weights"
        if stray is None
        else f"save {stray} as embed_tokens.weight in the draft's files",
        evidence=(
            missing_tensor(ctx.draft, "embed_tokens.weight"),
            config_line(draft, "target_hidden_size", "width of the target's embedding"),
            config_line(draft, "hidden_size", "width that the draft needs"),
        ),
        values={"target_hidden_size": wide, "hidden_size": hidden},
    )


RULE = Rule(
    id="EC233",
    slug="own-embedding",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=("EC222", *UNLOADABLE),
    research=("VOC-12",),
)
