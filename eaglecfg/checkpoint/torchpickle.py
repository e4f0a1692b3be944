"""Names, shapes and dtypes from the pickle in a .bin file, without unpickling.

A pickle is a program. Unpickling runs it and may call anything, so this walks the few opcodes that torch
writes for a dictionary of tensors and builds nothing but the small records below. Any other opcode or name
ends the walk.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eaglecfg.checkpoint.dtypes import STORAGES, TORCH
from eaglecfg.checkpoint.fault import legible
from eaglecfg.checkpoint.limits import MAX_PICKLE_STEPS


class PickleFault(ValueError):
    """The pickle is broken, or holds something that a dictionary of tensors does not need."""


@dataclass(frozen=True, slots=True)
class Global:
    """A name that the pickle would import. It is only ever compared."""

    name: str


@dataclass(frozen=True, slots=True)
class Storage:
    """Elements of one kind in one member of the archive. ``dtype`` is None where the tensor says it."""

    dtype: str | None
    key: str
    count: int


@dataclass(frozen=True, slots=True)
class PickledTensor:
    """A view into a storage; ``offset``, ``shape`` and ``stride`` in elements."""

    storage: Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class Pairs:
    """A dictionary of the pickle, as the pairs that were put into it."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[tuple[Any, Any]] = []


class _Mark:
    """The one stack item that MARK pushes."""


MARK = _Mark()
TOO_MANY = 1 << 63
OPAQUE = Global("")
"""Stands for values that do not matter, such as hooks."""


def read_pickle(data: bytes) -> Pairs:
    """The dictionary that the pickle describes; its values are PickledTensor where they are tensors.

    Raises PickleFault for everything that is not such a dictionary, within MAX_PICKLE_STEPS opcodes.
    """
    machine = _Machine(data)
    try:
        result = machine.run()
    except (IndexError, struct.error, UnicodeDecodeError):
        raise PickleFault(f"breaks off or is broken at byte {machine.at:,} of its pickle") from None
    if not isinstance(result, Pairs):
        raise PickleFault("does not hold a dictionary of tensors")
    return result


class _Machine:
    """A stack, a memo and a place in the data. A step pushes one item at most: memory follows the file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        for _ in range(MAX_PICKLE_STEPS):
            code = self.data[self.at]
            self.at += 1
            if code == STOP:
                return self.stack.pop()
            step = STEPS.get(code)
            if step is None:
                place = f"byte {self.at - 1:,} of its pickle"
                raise PickleFault(f"has opcode {code:#04x} at {place}, which tensors do not need")
            step(self)
        raise PickleFault(f"has a pickle of more than {MAX_PICKLE_STEPS:,} steps")

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if len(part) < count:
            raise IndexError
        self.at += count
        return part

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def line(self) -> str:
        end = (
            self.data.index(b"\n", self.at, self.at + 300)
            if b"\n" in self.data[self.at : self.at + 300]
            else -1
        )
        if end < 0:
            raise IndexError
        text = self.data[self.at : end].decode("ascii")
        self.at = end + 1
        return text

    def to_mark(self) -> list[Any]:
        """Everything above the last mark, which goes too."""
        items: list[Any] = []
        while True:
            item = self.stack.pop()
            if item is MARK:
                return items[::-1]
            items.append(item)

    def put(self, index: int) -> None:
        if index > len(self.data):  # a memo needs an opcode per entry
            raise PickleFault("uses memo numbers beyond its length")
        self.memo[index] = self.stack[-1]

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise PickleFault("uses a memo number that was never set")
        self.stack.append(self.memo[index])


def _set_items(machine: _Machine, flat: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, Pairs) or len(flat) % 2:
        raise PickleFault("sets items of something that is not a dictionary")
    target.items.extend(zip(flat[::2], flat[1::2], strict=True))


def _set_item(machine: _Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _set_items(machine, [key, value])


def _append(machine: _Machine, items: list[Any]) -> None:
    if not isinstance(machine.stack[-1], list):
        raise PickleFault("appends to something that is not a list")
    machine.stack[-1].extend(items)


def _tuple_of(machine: _Machine, count: int) -> None:
    items = tuple(machine.stack[len(machine.stack) - count :]) if len(machine.stack) >= count else None
    if items is None:
        raise IndexError
    del machine.stack[len(machine.stack) - count :]
    machine.stack.append(items)


def _persistent(machine: _Machine) -> None:
    """``('storage', storage class, key, location, count)`` is the only reference that torch writes."""
    reference = machine.stack.pop()
    match reference:
        case ("storage", Global(name=name), str(key), str(), int(count)) if 0 <= count < TOO_MANY:
            module, _, kind = name.rpartition(" ")
            if kind == "UntypedStorage":
                machine.stack.append(Storage(None, key, count))
            elif module == "torch" and kind in STORAGES:
                machine.stack.append(Storage(STORAGES[kind], key, count))
            else:
                raise PickleFault(f"holds {legible(kind[:40])}, a kind of storage that is not read here")
        case _:
            raise PickleFault("refers to something other than a storage")


def _reduce(machine: _Machine) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    if not isinstance(function, Global) or not isinstance(arguments, tuple):
        raise PickleFault("calls something that is not a function")
    build = CALLS.get(function.name)
    if build is None:
        raise PickleFault(f"calls {legible(function.name[:80]).replace(' ', '.')}, which tensors do not need")
    machine.stack.append(build(arguments))


def _tensor(arguments: tuple[Any, ...]) -> PickledTensor:
    """``_rebuild_tensor_v2(storage, offset, size, stride, ...)``; version 3 adds the dtype."""
    match arguments:
        case (Storage() as storage, int(offset), tuple(shape), tuple(stride), *rest) if (
            0 <= offset < TOO_MANY
        ):
            sizes = (*shape, *stride)
            if len(shape) == len(stride) and all(
                type(size) is int and 0 <= size < TOO_MANY for size in sizes
            ):
                dtype = storage.dtype
                if dtype is None and len(rest) >= 3 and isinstance(rest[2], Global):
                    dtype = TORCH.get(rest[2].name.removeprefix("torch "))
                if dtype is None:
                    raise PickleFault("holds a tensor of a dtype that is not known here")
                return PickledTensor(storage, dtype, offset, shape, stride)
    raise PickleFault("rebuilds a tensor from arguments that torch does not write")


def _parameter(arguments: tuple[Any, ...]) -> PickledTensor:
    if not arguments or not isinstance(arguments[0], PickledTensor):
        raise PickleFault("makes a parameter of something that is not a tensor")
    return arguments[0]


def _dictionary(arguments: tuple[Any, ...]) -> Pairs:
    if arguments:
        raise PickleFault("makes a dictionary from arguments")
    return Pairs()


CALLS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "collections OrderedDict": _dictionary,
    "torch._utils _rebuild_tensor_v2": _tensor,
    "torch._utils _rebuild_tensor_v3": _tensor,
    "torch._utils _rebuild_parameter": _parameter,
}
"""All that a pickle may call here, and what comes of it."""

STOP = ord(".")


def _push(value: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        machine.stack.append(value(machine))

    return step


STEPS: dict[int, Callable[[_Machine], None]] = {
    0x80: lambda machine: _protocol(machine),
    0x95: lambda machine: _ignored(machine.take(8)),
    ord("("): _push(lambda _: MARK),
    ord(")"): _push(lambda _: ()),
    ord("}"): _push(lambda _: Pairs()),
    ord("]"): _push(lambda _: []),
    ord("N"): _push(lambda _: None),
    0x88: _push(lambda _: True),
    0x89: _push(lambda _: False),
    ord("K"): _push(lambda machine: machine.number("<B")),
    ord("M"): _push(lambda machine: machine.number("<H")),
    ord("J"): _push(lambda machine: machine.number("<i")),
    0x8A: _push(lambda machine: int.from_bytes(machine.take(machine.number("<B")), "little", signed=True)),
    ord("G"): _push(lambda machine: struct.unpack(">d", machine.take(8))[0]),
    ord("X"): _push(lambda machine: machine.take(machine.number("<I")).decode("utf-8")),
    0x8C: _push(lambda machine: machine.take(machine.number("<B")).decode("utf-8")),
    ord("c"): _push(lambda machine: Global(f"{machine.line()} {machine.line()}")),
    ord("q"): lambda machine: machine.put(machine.number("<B")),
    ord("r"): lambda machine: machine.put(machine.number("<I")),
    0x94: lambda machine: machine.put(len(machine.memo)),
    ord("h"): lambda machine: machine.get(machine.number("<B")),
    ord("j"): lambda machine: machine.get(machine.number("<I")),
    ord("t"): _push(lambda machine: tuple(machine.to_mark())),
    0x85: lambda machine: _tuple_of(machine, 1),
    0x86: lambda machine: _tuple_of(machine, 2),
    0x87: lambda machine: _tuple_of(machine, 3),
    ord("s"): _set_item,
    ord("u"): lambda machine: _set_items(machine, machine.to_mark()),
    ord("a"): lambda machine: _append(machine, [machine.stack.pop()]),
    ord("e"): lambda machine: _append(machine, machine.to_mark()),
    ord("Q"): _persistent,
    ord("R"): _reduce,
    ord("b"): lambda machine: _ignored(machine.stack.pop()),
}
"""Opcode -> what it does here. BUILD drops its state: torch keeps the module versions there."""


def _protocol(machine: _Machine) -> None:
    if machine.number("<B") > 5:
        raise PickleFault("is a pickle of an unknown protocol")


def _ignored(_: Any) -> None:
    """A value that does not matter here."""
