"""Facts from PyTorch .bin files. Pickles are walked, never run; weights are not touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eaglecfg.checkpoint.dtypes import BITS
from eaglecfg.checkpoint.facts import FileProblem, TensorFact
from eaglecfg.checkpoint.fault import FileFault, legible
from eaglecfg.checkpoint.index import BIN_INDEX, plain, read_index
from eaglecfg.checkpoint.limits import MAX_PICKLE_BYTES, MAX_RANK, MAX_TENSORS
from eaglecfg.checkpoint.regular import opened
from eaglecfg.checkpoint.sharded import Shards, stat_all
from eaglecfg.checkpoint.torchpickle import PickledTensor, PickleFault, read_pickle
from eaglecfg.checkpoint.torchzip import Archive
from eaglecfg.checkpoint.vocabulary import Stored, is_map, read_vocabulary

if TYPE_CHECKING:
    from eaglecfg.checkpoint.weights import Weights

CONVERT = "convert it to safetensors, which loads faster and runs no code"


@dataclass(slots=True)
class Bin:
    """One .bin file: its tensors, and where the values of d2t and t2d lie."""

    tensors: dict[str, PickledTensor] = field(default_factory=dict)
    maps: dict[str, Stored] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)


def read_bins(out: Weights, folder: str, shown: str, files: list[str], indexed: bool, maps: bool) -> None:
    """Add the facts of ``files``, all of which engines load, to ``out``; ``maps`` reads d2t and t2d."""
    out.kind = "bin"
    if indexed:
        _compare_with_index(out, folder, shown, files)
    tensors: dict[str, TensorFact] = {}
    stored: dict[str, Stored] = {}
    read = False
    for file in files:
        name = f"{shown}/{legible(file)}"
        out.files.append(file)
        try:
            one = read_bin(f"{folder}/{file}", name)
        except FileFault as fault:
            out.problems.append(fault.problem)
            continue
        read = True
        out.problems += one.problems
        stored |= one.maps
        for key, tensor in one.tensors.items():
            if key in tensors:
                message = f"{legible(key)} is both in {tensors[key].file} and in {name}"
                out.problems.append(FileProblem("duplicate-tensor", name, message, "", False, legible(key)))
            tensors.setdefault(key, TensorFact(key, tensor.dtype, tensor.shape, name))
    out.tensors, out.names = tensors, frozenset(tensors) if read else None
    if maps:
        names = {name.rpartition(".")[2]: name for name in stored}
        out.vocabulary, problems = read_vocabulary(stored.get, names)
        out.problems += problems


def _compare_with_index(out: Weights, folder: str, shown: str, files: list[str]) -> None:
    """Every file that pytorch_model.bin.index.json names must be there."""
    shards = Shards(folder, shown)
    out.files.append(BIN_INDEX)
    try:
        index = read_index(shards.path(BIN_INDEX), shards.shown_path(BIN_INDEX))
    except FileFault as fault:
        out.problems.append(fault.problem)
        return
    stat_all(shards, [file for file in index.files if plain(file) and file not in files], index)
    out.problems += [*index.problems, *shards.problems]


def read_bin(path: str, shown: str) -> Bin:
    """The tensors of one file. Raises FileFault where it cannot be read as a dictionary of tensors."""
    with opened(path, shown) as (descriptor, size):
        archive = Archive(descriptor, size, path, shown)
        found = [name for name in archive.members if name == "data.pkl" or name.endswith("/data.pkl")]
        if len(found) != 1:
            raise archive.fault(
                "not-supported", "has no data.pkl, so it is not a checkpoint that torch.save wrote", CONVERT
            )
        root = found[0].removesuffix("data.pkl")
        try:
            pairs = read_pickle(archive.read(archive.members[found[0]], MAX_PICKLE_BYTES))
        except PickleFault as fault:
            raise archive.fault("not-supported", str(fault), CONVERT) from None
        order = archive.members.get(f"{root}byteorder")
        swapped = order is not None and archive.read(order, 16) == b"big"
        out = Bin()
        for name, tensor in pairs.items:
            if not isinstance(name, str) or not isinstance(tensor, PickledTensor):
                what = legible(name) if isinstance(name, str) else "an entry without a name"
                raise archive.fault("not-supported", f"holds {what}, which is not a tensor", CONVERT)
            _add(out, archive, root, name, tensor, swapped)
    return out


def _add(out: Bin, archive: Archive, root: str, name: str, tensor: PickledTensor, swapped: bool) -> None:
    """Take one tensor, once its storage can hold it. Raises FileFault."""
    if len(tensor.shape) > MAX_RANK or len(out.tensors) >= MAX_TENSORS:
        raise archive.fault(
            "not-supported", f"holds more than {MAX_TENSORS:,} tensors, or one of a shape no memory holds"
        )
    if name in out.tensors:
        raise archive.fault("malformed", f"names {legible(name)} twice")
    unit = BITS[tensor.dtype] // 8
    held = tensor.storage.count if tensor.storage.dtype is not None else tensor.storage.count // unit
    if 0 not in tensor.shape:
        last = tensor.offset + sum(
            (n - 1) * step for n, step in zip(tensor.shape, tensor.stride, strict=True)
        )
        if last >= held:
            raise archive.fault("malformed", f"gives {legible(name)} elements beyond the end of its storage")
    member = archive.members.get(f"{root}data/{tensor.storage.key}")
    due = tensor.storage.count * (unit if tensor.storage.dtype is not None else 1)
    if member is None or member.size < due:
        raise archive.fault("truncated", f"lacks the {due:,} bytes that {legible(name)} lies in")
    out.tensors[name] = tensor
    if is_map(name) and member.stored and not swapped and _contiguous(tensor):
        start = archive.start(member) + tensor.offset * unit
        out.maps[name] = Stored(archive.path, archive.shown, start, tensor.dtype, tensor.shape)


def _contiguous(tensor: PickledTensor) -> bool:
    due = 1
    for size, step in zip(reversed(tensor.shape), reversed(tensor.stride), strict=True):
        if size > 1 and step != due:
            return False
        due *= size
    return True
