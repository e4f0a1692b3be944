"""Which files of a folder an engine would load, and the facts in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eaglecfg.checkpoint.facts import FileProblem, TensorFact, VocabularyMap
from eaglecfg.checkpoint.fault import FileFault, legible, listed
from eaglecfg.checkpoint.index import BIN_INDEX, SAFETENSORS_INDEX, Index, plain, read_index
from eaglecfg.checkpoint.layout import SINGLE, layout_problems
from eaglecfg.checkpoint.limits import MAX_DRAFT_TENSORS, MAX_OPENED, MAX_TENSORS
from eaglecfg.checkpoint.sharded import (
    Shards,
    compare_total,
    compare_with_index,
    open_all,
    opened_tensors,
    stat_all,
)
from eaglecfg.checkpoint.vocabulary import Stored, is_map, read_vocabulary
from eaglecfg.checkpoint.wanted import wanted

NOT_WEIGHTS = ("training_args.bin", "optimizer.bin")
"""Files of a trainer that end like weights (SGLang skips them: ``filter_files_not_needed_for_inference``)."""

CONSOLIDATED = "consolidated.safetensors"


@dataclass(slots=True)
class Weights:
    """Facts of the weight files of one folder; the fields are those of CheckpointFacts."""

    kind: str | None = None
    names: frozenset[str] | None = None
    tensors: Mapping[str, TensorFact] = field(default_factory=dict)
    vocabulary: VocabularyMap = field(default_factory=VocabularyMap)
    problems: list[FileProblem] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read_weights(
    folder: str, shown: str, present: list[str], *, everything: bool, maps: bool, layers: int | None
) -> Weights:
    """Facts of the weights among the ``present`` file names.

    ``everything`` opens all files, else only those that hold wanted tensors; ``maps`` reads the values of d2t
    and t2d; ``layers`` is the number of layers that config.json gives. As engines do (SGLang 0.5.4-0.5.23,
    ``_prepare_weights``): safetensors files before .bin files, and of the former only those that the index
    names.
    """
    tensors = sorted(name for name in present if name.endswith(".safetensors"))
    pickles = sorted(n for n in present if n.endswith(".bin") and not n.endswith(NOT_WEIGHTS))
    out = Weights()
    if tensors or (SAFETENSORS_INDEX in present and not pickles):
        _read_safetensors(out, Shards(folder, shown), present, tensors, everything, maps, layers)
        if pickles:
            message = f"{shown} holds safetensors and .bin weights; engines load the safetensors files"
            help = f"remove {listed(pickles)} unless another tool needs it"
            out.problems.append(
                FileProblem("both-formats", shown, message, help, False, legible(pickles[0]), "pickle")
            )
    elif pickles:
        from eaglecfg.checkpoint.torchbin import read_bins  # rare: old checkpoints only

        read_bins(out, folder, shown, pickles, BIN_INDEX in present, maps)
    else:
        out.problems.append(_none(shown, present))
    return out


def _none(shown: str, present: list[str]) -> FileProblem:
    others = sorted(n for n in present if n.endswith((".gguf", ".pt", ".pth", ".h5", ".msgpack", ".onnx")))
    has = f", only {listed(others)}" if others else ""
    message = f"{shown} has no weight files (*.safetensors or *.bin){has}"
    return FileProblem("no-weights", shown, message, "name the folder that holds the weights", True)


def _read_safetensors(
    out: Weights,
    shards: Shards,
    present: list[str],
    tensors: list[str],
    everything: bool,
    maps: bool,
    layers: int | None,
) -> None:
    index = _index(out, shards) if SAFETENSORS_INDEX in present else None
    loaded = [f for f in index.files if plain(f)] if index is not None else _unindexed(tensors)
    stat_all(shards, loaded, index)
    to_open = [file for file in loaded if shards.sizes.get(file)]
    if index is not None and not everything:
        to_open = files_to_open(index, shards.sizes, layers)
    open_all(shards, to_open, MAX_DRAFT_TENSORS if maps else MAX_TENSORS)
    opened = opened_tensors(shards)
    out.tensors = dict(opened) if maps else opened  # rules look at every tensor of a draft, again and again
    names = set(out.tensors)
    if index is not None:
        names |= _only_in_index(shards, index)
        compare_with_index(shards, index)
        compare_total(shards, index)
    out.kind, out.names = "safetensors", frozenset(names) if names or _any_read(shards) else None
    out.problems += shards.problems
    out.problems += layout_problems(shards.shown, index, loaded, tensors)
    out.files += list(shards.sizes)
    if maps:
        out.vocabulary, problems = _maps(shards, out.tensors)
        out.problems += problems


def files_to_open(index: Index, sizes: Mapping[str, int], layers: int | None) -> list[str]:
    """The files, of those that are there with ``sizes`` in bytes, that hold tensors some rule looks at.

    All of them where they are smaller than their tensors: one is cut off, and only opening tells which.
    """
    there = [file for file in index.files if sizes.get(file)]
    if index.total_size is not None and sum(sizes[file] for file in there) < index.total_size:
        return there
    holders = {index.weight_map[name] for name in wanted(index.weight_map, layers)}
    return [file for file in there if file in holders][:MAX_OPENED]


def _any_read(shards: Shards) -> bool:
    """Whether a header could be read, be it one without tensors."""
    return any(not header.malformed for header in shards.headers.values())


def _only_in_index(shards: Shards, index: Index) -> set[str]:
    """Tensors that the index puts into files which were not opened, or could not be read."""
    seen = {file for file, header in shards.headers.items() if header.entries}
    return {name for name, file in index.weight_map.items() if file not in seen}


def _index(out: Weights, shards: Shards) -> Index | None:
    out.files.append(SAFETENSORS_INDEX)
    try:
        index = read_index(shards.path(SAFETENSORS_INDEX), shards.shown_path(SAFETENSORS_INDEX))
    except FileFault as fault:
        out.problems.append(fault.problem)
        return None
    out.problems += index.problems
    return index


def _unindexed(tensors: list[str]) -> list[str]:
    """Without an index engines load every file, but for the second copy that Mistral ships (as above)."""
    return [SINGLE] if tensors == [CONSOLIDATED, SINGLE] else tensors


def _maps(shards: Shards, tensors: Mapping[str, TensorFact]) -> tuple[VocabularyMap, list[FileProblem]]:
    names = {name.rpartition(".")[2]: name for name in tensors if is_map(name)}

    def find(name: str) -> Stored | None:
        for file, header in shards.headers.items():
            if name in header.entries:
                dtype, shape, begin, _ = header.entries[name]
                return Stored(shards.path(file), header.shown, header.start + begin, dtype, shape)
        return None

    return read_vocabulary(find, names)
