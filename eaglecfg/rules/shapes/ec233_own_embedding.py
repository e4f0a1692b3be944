"""An embedding in the draft's files must fit; a draft of another width needs one."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.naming import reaching, wrapped
from eaglecfg.engines.wiring import Wiring
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, missing_tensor, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import Pair, pairs, wiring
from eaglecfg.rules.shapes.tensors import draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """Where ``target_hidden_size`` differs from ``hidden_size`` the target's table cannot be shared."""
    draft = draft_config(ctx)
    wide, hidden = draft.integer("target_hidden_size"), draft.integer("hidden_size")
    fact = draft_class(ctx)
    built = wiring(ctx)
    pair = _misfit(ctx, built) if built is not None and ctx.load_format("draft") != "dummy" else None
    if built is not None and pair is not None:
        yield _misfit_finding(ctx, built, pair)
        return
    # One that borrows the head is given both tables of the target's; a rule of its own says why that stops.
    borrows = built is not None and built.head == "target"
    if fact is None or wide is None or hidden is None or wide == hidden or borrows:
        yield NotApplicable()
        return
    assert ctx.draft is not None
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


def _misfit(ctx: Context, built: Wiring) -> Pair | None:
    """The embedding of the files where it is loaded and has another shape than the class builds."""
    embeddings = (pair for pair in pairs(ctx, built) if pair.expected.part == "embedding")
    return next((pair for pair in embeddings if pair.differs is not None), None)


def _misfit_finding(ctx: Context, built: Wiring, pair: Pair) -> Finding:
    draft, found, want = draft_config(ctx), pair.found, pair.expected.shape
    assert found is not None
    size = "[" + ", ".join("?" if length is None else str(length) for length in want) + "]"
    replaced = built.embedding == "target"
    spare = "leave it out of the draft's files, as the target's is used in its place, or " if replaced else ""
    return Finding(
        f"{found.name} must be {size}, but is {list(found.shape)}",
        path=ctx.where("draft", "checkpoint"),
        today=Today.CRASH_AT_START,
        why=(
            "SGLang loads it before it puts the target's in its place"
            if replaced
            else "it is the one that runs"
        )
        + ", and stops while it loads one of another size than the draft's vocab_size × hidden_size",
        help=f"{spare}take the embedding and config.json from one training run",
        evidence=(
            tensor_line(found, f"expected {size}"),
            config_line(draft, "vocab_size"),
            config_line(draft, "hidden_size"),
        ),
        values={"expected": list(want), "found": list(found.shape)},
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
