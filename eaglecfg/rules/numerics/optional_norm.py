"""The common shape of rules about norms that a key switches on and that bring tensors of their own."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line, listed, missing_tensor, tensor_line
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, Today
from eaglecfg.rules.numerics.honoured import draft_fact, engine_line, newer, option, since
from eaglecfg.rules.shapes.expected import pairs, wiring


@record
class OptionalNorm:
    """A norm that ``keys`` switch on (the first is how findings call it) and whose tensors begin with
    ``stems``.

    ``purpose`` says what it norms.
    """

    keys: tuple[str, ...]
    stems: tuple[str, ...]
    purpose: str

    def tensors(self, ctx: Context) -> list[TensorFact]:
        """The tensors of this norm in the draft's files, in the order of the files."""
        assert ctx.draft is not None
        return [t for name, t in ctx.draft.tensors.items() if self.owns(name)]

    def owns(self, name: str) -> bool:
        """Whether a tensor name belongs to this norm."""
        plain = name.removeprefix("model.")
        return any(plain == stem or plain.startswith(f"{stem}.") for stem in self.stems)


def check_norm(ctx: Context, norm: OptionalNorm) -> Iterator[Item]:
    """The key, the tensors and the engine version must agree about whether the norm is there."""
    fact = draft_fact(ctx)
    found = next((item for key in norm.keys if (item := option(ctx, key)) is not None and item[1]), None)
    if fact is None:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    tensors, known = norm.tensors(ctx), any(norm.owns(name) for name in ctx.draft.names or ())
    if found is None and not known:
        yield NotApplicable()
        return
    supported = norm.keys[0] in fact.honours
    if found is not None and not supported:
        yield _unsupported(ctx, norm, found[0], tensors)
    elif found is None:
        yield _switched_off(ctx, norm, tensors)
    elif not known and ctx.draft.names is not None:
        yield _without_tensors(ctx, norm, found[0])
    else:
        yield from _tensor_by_tensor(ctx, norm, found[0])


def _engine(ctx: Context, note: str) -> Evidence:
    fact = draft_fact(ctx)
    assert fact is not None
    return engine_line(ctx, fact, note)


def _unsupported(ctx: Context, norm: OptionalNorm, key: str, tensors: list[TensorFact]) -> Finding:
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    return Finding(
        f"{config.file} sets {key}, but {config.architecture} of sglang {ctx.engine.version} does not read it"
        f"{since(ctx, norm.keys[0])}",
        path=ctx.where("draft", "checkpoint"),
        why=f"{norm.purpose} is skipped and its weights are dropped: fc reads other values than in "
        "training, and nothing says so",
        help=newer(ctx, norm.keys[0], "use a draft without it"),
        evidence=(
            key_line(config, key),
            *(tensor_line(tensor, "dropped") for tensor in tensors[:3]),
            _engine(ctx, "ignored"),
        ),
        values={norm.keys[0]: True},
    )


def _switched_off(ctx: Context, norm: OptionalNorm, tensors: list[TensorFact]) -> Finding:
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.draft.names is not None
    config = ctx.draft.config
    names = [t.name for t in tensors] or sorted(name for name in ctx.draft.names if norm.owns(name))
    return Finding(
        f"the draft holds {listed(names)}, but {config.file} does not set {norm.keys[0]}",
        path=ctx.where("draft", "checkpoint"),
        why=f"without the key {norm.purpose} is not built and its weights are dropped, and nothing says so",
        help=f'write "{norm.keys[0]}": true into {config.file} if the draft was trained with it',
        evidence=(
            *(tensor_line(tensor, "dropped") for tensor in tensors[:3]),
            key_line(config, norm.keys[0]),
        ),
        values={"tensors": names, norm.keys[0]: False},
    )


def _without_tensors(ctx: Context, norm: OptionalNorm, key: str) -> Finding:
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    name = f"{norm.stems[0]}.weight"
    return Finding(
        f"{ctx.draft.config.file} sets {key}, but the draft holds no {name}",
        path=ctx.where("draft", "checkpoint"),
        why=f"{norm.purpose} is built and keeps uninitialised memory, and nothing says so",
        help=f"remove {key} if the draft was trained without it, or add its weights",
        evidence=(key_line(ctx.draft.config, key), missing_tensor(ctx.draft, name)),
        values={norm.keys[0]: True},
    )


def _tensor_by_tensor(ctx: Context, norm: OptionalNorm, key: str) -> Iterator[Item]:
    """One tensor of the right size for each norm that the engine builds."""
    built = wiring(ctx)
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    if built is None or ctx.draft.names is None:
        return
    wanted = [pair for pair in pairs(ctx, built) if norm.owns(pair.expected.names[0])]
    missing = [p for p in wanted if not any(name in ctx.draft.names for name in p.expected.names)]
    if missing:
        names = [pair.expected.names[0] for pair in missing]
        yield Finding(
            f"{key} needs {len(wanted)} norms, one for each captured state, but the draft lacks "
            f"{listed(names)}",
            path=ctx.where("draft", "checkpoint"),
            why="SGLang does not check for missing tensors: these norms keep uninitialised memory",
            help="take config and weights from one training run",
            evidence=(
                key_line(ctx.draft.config, key),
                *(missing_tensor(ctx.draft, name) for name in names[:3]),
            ),
            values={"needed": len(wanted), "missing": names},
        )
        return
    wrong = next((pair for pair in wanted if pair.differs is not None), None)
    if wrong is not None and wrong.found is not None:
        yield Finding(
            f"{wrong.found.name} must be {list(wrong.expected.shape)}, but is {list(wrong.found.shape)}",
            path=ctx.where("draft", "checkpoint"),
            today=Today.CRASH_AT_START,
            why="SGLang stops while it loads this tensor: the sizes do not fit",
            help="take config and weights from one training run",
            evidence=(key_line(ctx.draft.config, key), tensor_line(wrong.found)),
            values={"expected": list(wrong.expected.shape), "found": list(wrong.found.shape)},
        )
