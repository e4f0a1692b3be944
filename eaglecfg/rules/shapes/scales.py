"""Scales and packed numbers of a quantised draft beside those that the engine reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from eaglecfg.checkpoint.quantization import Declared, declared
from eaglecfg.engines.wiring import ExpectedTensor, Wiring
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed
from eaglecfg.rules.model import NotChecked

if TYPE_CHECKING:
    from eaglecfg.engines.quantized import Parts

FLAGS = ("quantization", "speculative_draft_model_quantization")
EIGHT_BITS = ("F8_E4M3", "F8_E5M2", "I8")
IGNORED = "SGLANG_FP8_IGNORED_LAYERS"
LINEAR = ("attention", "mlp")


@record
class Unscaled:
    """Tensors that quantised layers of the draft lack, and what such a layer is made of. ``plain``: names by
    which the engine asks for those among them that the files hold unquantised; empty where not known."""

    missing: list[str]
    parts: Parts
    declared: Declared
    plain: tuple[str, ...]


def unscaled(ctx: Context, built: Wiring, absent: Sequence[str]) -> Iterator[Unscaled | NotChecked]:
    """What is missing beside the draft's quantised weights, those in ``absent`` apart, which lack it all."""
    assert ctx.draft is not None
    assert ctx.engine is not None
    found = declared(ctx.draft)
    groups = [_Group(ctx, each) for each in _layers(built)]
    if found is None or not any(group.quantised for group in groups):
        return  # plain weights under a declaration, and the reverse, have rules of their own
    from eaglecfg.engines.quantized import parts_of  # few drafts are quantised

    flag = next((flag for flag in FLAGS if ctx.argument(flag) not in (None, found.method)), None)
    parts = parts_of(ctx.engine.name, ctx.engine.facts_of, found)
    if flag is not None or parts is None:
        yield NotChecked(
            f"which scales {found.form} weights need "
            + (f"under {flag} {ctx.argument(flag)}" if flag else f"in this form (see {found.file})")
            + " is not known"
        )
        return
    missing = [name for group in groups if group.quantised for name in group.lacks(parts, absent)]
    asked, unclear = [], []
    for group in groups:
        if group.quantised or not group.present:
            continue
        name, out = spared(ctx, found, group.members[0])
        if out is None:
            unclear.append(group.members[0].names[0])
        elif not out and (lacking := group.lacks(parts, absent)):
            missing += lacking
            asked.append(name)
    if unclear:
        be, them = ("is", "it") if len(unclear) == 1 else ("are", "them")
        yield NotChecked(
            f"{listed(unclear)} {be} plain beside quantised weights; whether {found.file} leaves {them} out, "
            "as the engine reads that file, is not known"
        )
    if missing:
        yield Unscaled(missing, parts, found, tuple(asked))


def spared(ctx: Context, found: Declared, layer: ExpectedTensor) -> tuple[str, bool | None]:
    """(the name under which the engine asks for ``layer`` or what it is joined into, whether the declaration
    leaves that out); an empty name and None where it is not known."""
    from eaglecfg.engines.spared import asked_as, left_out  # few drafts are quantised

    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.engine is not None
    engine, version = ctx.engine.name, ctx.engine.facts_of
    part = ".".join(layer.names[0].split(".")[-3:-1])
    name = asked_as(engine, version, ctx.draft.config.architecture or "", part) or ""
    if not found.spares:
        return name, False
    if not name or ctx.variable(IGNORED):
        return name, None
    return name, left_out(engine, version, found, name)


def _layers(built: Wiring) -> Iterator[tuple[ExpectedTensor, ...]]:
    """The linear layers that the engine builds, each with the parts that it is joined from."""
    layers: dict[tuple[str, ...], list[ExpectedTensor]] = {}
    for each in built.tensors:
        linear = each.part in LINEAR or (each.part == "fc" and built.fact.fc_quantized)
        if linear and len(each.shape) == 2:
            layers.setdefault(each.instead or each.names, []).append(each)
    return (tuple(members) for members in layers.values())


class _Group:
    """One linear layer as the files hold it: in parts, or joined."""

    def __init__(self, ctx: Context, members: tuple[ExpectedTensor, ...]) -> None:
        assert ctx.draft is not None
        self.members = members
        self._names = ctx.draft.names or frozenset()
        self._dtypes = {name: tensor.dtype for name, tensor in ctx.draft.tensors.items()}
        self._joined = self._stem(members[0].instead)

    @property
    def present(self) -> bool:
        """Whether anything of the layer is in the files."""
        return bool(self._joined) or any(self._stem(each.names) for each in self.members)

    @property
    def quantised(self) -> bool:
        """Whether a part of the layer is stored in eight bits, packed, or with a scale."""
        stems = [self._joined] if self._joined else [self._stem(each.names) for each in self.members]
        return any(
            self._dtypes.get(f"{stem}weight") in EIGHT_BITS
            or any(
                name.startswith(stem) and name != f"{stem}bias" for name in self._names - {f"{stem}weight"}
            )
            for stem in stems
            if stem
        )

    def lacks(self, parts: Parts, absent: Sequence[str]) -> list[str]:
        """Names, as the engine spells them first, of what ``parts`` ask for and no file holds."""
        places = [self.members[0].instead] if self._joined else [each.names for each in self.members]
        places = [names for names in places if names and names[0] not in absent]
        out = [
            self._spelled(names, leaf)
            for names in places
            for leaf in (parts.weight, *parts.scales)
            if not self._holds(names, leaf)
        ]
        for leaf in parts.inputs:
            if places and not any(self._holds(names, leaf) for names in places):
                out.append(self._spelled(places[0], leaf))
        return out

    def _holds(self, names: Sequence[str], leaf: str) -> bool:
        return any(_beside(name, leaf) in self._names for name in names)

    def _spelled(self, names: Sequence[str], leaf: str) -> str:
        """``leaf`` beside the stem that the files use, or the commonest."""
        return f"{self._stem(names) or names[0].removesuffix('weight')}{leaf}"

    def _stem(self, names: Sequence[str]) -> str:
        stems = [name.removesuffix("weight") for name in names]
        return next((stem for stem in stems if any(name.startswith(stem) for name in self._names)), "")


def _beside(name: str, leaf: str) -> str:
    return f"{name.removesuffix('weight')}{leaf}"
