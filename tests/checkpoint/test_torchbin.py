"""PyTorch .bin files: torch is the oracle, and no pickle ever runs."""

from __future__ import annotations

import collections
import contextlib
import io
import json
import os
import pickle
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglecfg.checkpoint.fault import FileFault
from eaglecfg.checkpoint.torchbin import read_bin
from eaglecfg.checkpoint.torchpickle import PickleFault, read_pickle
from tests.checkpoint.files import folder_with, kinds, read


def state() -> dict[str, torch.Tensor]:
    """Every kind of tensor that a draft may hold, and views."""
    return {
        "fc.weight": torch.zeros(8, 24, dtype=torch.bfloat16),
        "midlayer.self_attn.q_proj.weight": torch.zeros(4, 16, dtype=torch.float16),
        "norm.weight": torch.nn.Parameter(torch.ones(8)),
        "view": torch.zeros(10)[2:6],
        "turned": torch.zeros(3, 4).t(),
        "scalar": torch.tensor(3.0),
        "empty": torch.zeros(0, 5),
        "f8": torch.zeros(4).to(torch.float8_e4m3fn),
        "u16": torch.zeros(3, dtype=torch.uint16),
        "double": torch.zeros(2, dtype=torch.float64),
        "complex": torch.zeros(2, dtype=torch.complex64),
        "d2t": torch.tensor([0, -3, 7, 2**40]),
        "t2d": torch.tensor([True, False, True]),
    }


NAMES = {
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.uint16: "U16",
    torch.int64: "I64",
    torch.bool: "BOOL",
    torch.complex64: "C64",
}


def saved(value: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    torch.save(value, stream, **options)
    return stream.getvalue()


@pytest.mark.parametrize("ordered", [False, True])
def test_names_shapes_dtypes_and_maps_as_torch_wrote_them(ordered: bool, tmp_path: Path) -> None:
    tensors = state()
    folder_with(
        tmp_path, {"pytorch_model.bin": saved(collections.OrderedDict(tensors) if ordered else tensors)}
    )
    facts = read(tmp_path)
    assert facts.problems == ()
    assert facts.weights == "bin"
    expected = {name: (NAMES[tensor.dtype], tuple(tensor.shape)) for name, tensor in tensors.items()}
    assert {name: (fact.dtype, fact.shape) for name, fact in facts.tensors.items()} == expected
    assert facts.vocabulary.d2t == (0, -3, 7, 2**40)
    assert facts.vocabulary.t2d == b"\1\0\1"


def test_state_of_a_module_with_versions(tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    folder_with(tmp_path, {"pytorch_model.bin": saved(module.state_dict())})
    assert set(read(tmp_path).tensors) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_map_that_is_a_view(tmp_path: Path) -> None:
    folder_with(
        tmp_path, {"pytorch_model.bin": saved({"d2t": torch.arange(10)[4:7], "t2d": torch.arange(6)[::2]})}
    )
    facts = read(tmp_path)
    assert facts.vocabulary.d2t == (4, 5, 6)
    assert facts.vocabulary.t2d is None


def test_sharded_with_index(tmp_path: Path) -> None:
    names = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
    weight_map = {"a": names[0], "b": names[1]}
    index = json.dumps({"metadata": {}, "weight_map": weight_map}).encode()
    files = {name: saved({key: torch.zeros(2)}) for key, name in weight_map.items()}
    model = folder_with(tmp_path, {**files, "pytorch_model.bin.index.json": index})
    assert read(tmp_path).names == frozenset({"a", "b"})
    assert read(tmp_path).problems == ()
    (model / names[1]).unlink()
    facts = read(tmp_path)
    assert kinds(facts) == ["missing-shard"]
    assert names[1] in facts.problems[0].message


def test_one_tensor_in_two_files(tmp_path: Path) -> None:
    one = saved({"a": torch.zeros(2)})
    folder_with(tmp_path, {"x.bin": one, "y.bin": one, "training_args.bin": b"x", "optimizer.bin": b"x"})
    assert kinds(read(tmp_path)) == ["duplicate-tensor"]


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (b"", "truncated", "empty"),
        (b"junk" * 20, "not-supported", "zip archive"),
        (saved({"a": torch.zeros(2)}, _use_new_zipfile_serialization=False), "not-supported", "convert it"),
        (saved({"a": torch.zeros(2), "epoch": 3}), "not-supported", "epoch"),
        (saved({"state_dict": {"a": torch.zeros(2)}}), "not-supported", "state_dict"),
        (saved([torch.zeros(2)]), "not-supported", "dictionary"),
        (saved(torch.nn.Linear(1, 1)), "not-supported", "opcode 0x81"),
        (saved({"a": torch.zeros(2)})[:-30], "truncated", "does not end"),
        (saved({"a": torch.zeros(2)})[:100], "truncated", "does not end"),
        (b"version https://git-lfs.github.com/spec/v1\n", "lfs-pointer", "git lfs pull"),
    ],
)
def test_file_that_is_not_a_dictionary_of_tensors(
    content: bytes, kind: str, text: str, tmp_path: Path
) -> None:
    folder_with(tmp_path, {"pytorch_model.bin": content})
    facts = read(tmp_path)
    assert kinds(facts) == [kind]
    assert text in f"{facts.problems[0].message} {facts.problems[0].help}"
    assert facts.problems[0].incomplete
    assert facts.names is None


class Attack:
    """Runs a command when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_pickle_does_not_run(protocol: int, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    data = pickle.dumps({"a": Attack(marker)}, protocol=protocol)
    with pytest.raises(PickleFault):
        read_pickle(data)
    folder_with(tmp_path, {"pytorch_model.bin": archive(data)})
    assert kinds(read(tmp_path)) == ["not-supported"]
    assert not marker.exists()


def archive(data: bytes, method: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    """A zip archive with ``data`` as its data.pkl."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as out:
        out.writestr("model/data.pkl", data)
        for name, content in members.items():
            out.writestr(f"model/{name.replace('__', '/')}", content)
    return stream.getvalue()


GLOBAL = b"ctorch._utils\n_rebuild_tensor_v2\n"


def tensor(
    shape: bytes, stride: bytes = b"K\x01\x85", count: bytes = b"K\x04", kind: bytes = b"FloatStorage"
) -> bytes:
    """A pickle of one tensor ``a`` over the storage ``0``."""
    storage = b"(X\x07\0\0\0storagectorch\n" + kind + b"\nX\x01\0\0\x000X\x03\0\0\0cpu" + count + b"tQ"
    return b"\x80\x02}X\x01\0\0\0a" + GLOBAL + b"(" + storage + b"K\0" + shape + stride + b"\x89}tRs."


def test_hand_made_file_is_read(tmp_path: Path) -> None:
    folder_with(tmp_path, {"pytorch_model.bin": archive(tensor(b"K\x04\x85"), data__0=b"\0" * 16)})
    assert read(tmp_path).problems == ()


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (tensor(b"K\x05\x85"), "malformed", "beyond the end of its storage"),
        (tensor(b"K\x04\x85", stride=b"K\x02\x85"), "malformed", "beyond the end"),
        (tensor(b"K\x04\x85", count=b"K\x05"), "truncated", "lacks the 20 bytes"),
        (tensor(b"K\x04\x85", count=b"J\xff\xff\xff\xff"), "not-supported", "other than a storage"),
        (tensor(b"J\xff\xff\xff\xff\x85"), "not-supported", "arguments"),
        (tensor(b"X\x01\0\0\0a\x85"), "not-supported", "arguments"),
        (tensor(b"K\x04K\x01\x86"), "not-supported", "arguments"),
        (tensor(b"\x8a\xff" + b"\x7f" * 255 + b"\x85"), "not-supported", "arguments"),
        (tensor(b"(" + b"K\x01" * 70 + b"t", stride=b"(" + b"K\0" * 70 + b"t"), "not-supported", "no memory"),
        (tensor(b"K\x04\x85", kind=b"QInt8Storage"), "not-supported", "QInt8Storage"),
        (tensor(b"K\x04\x85", kind=b"UntypedStorage"), "not-supported", "dtype"),
    ],
)
def test_tensor_that_lies(data: bytes, kind: str, text: str, tmp_path: Path) -> None:
    folder_with(tmp_path, {"pytorch_model.bin": archive(data, data__0=b"\0" * 16)})
    facts = read(tmp_path)
    assert kinds(facts) == [kind]
    assert text in facts.problems[0].message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"\x80\x02",
        b"\x80\x09}.",
        b"}r\xff\xff\xff\x7f.",
        b"}h\x05.",
        b"(((((((.",
        b"\x85.",
        b"t.",
        b"}X\xff\xff\xff\xffa.",
        b"}X\x01\0\0\0\xffK\0s.",
        b"K\x01K\x02K\x03s.",
        b"}(K\x01u.",
        b"cposix\nsystem\n(X\x02\0\0\0idtR.",
        b"c" + b"x" * 400,
        b"}K\x01Q.",
        b"K\x01)R.",
        b"]K\x01\x94" * 1000,
    ],
)
def test_broken_pickles_are_refused(data: bytes) -> None:
    with pytest.raises(PickleFault):
        read_pickle(data)


def test_memo_number_far_beyond_the_file_costs_nothing() -> None:
    started = time.monotonic()
    with pytest.raises(PickleFault, match="memo"):
        read_pickle(b"\x80\x02}r\0\0\0\x04.")
    assert time.monotonic() - started < 0.1


def test_endless_pickle_ends() -> None:
    started = time.process_time()
    with pytest.raises(PickleFault, match="steps"):
        read_pickle(b"\x80\x02" + b"}" * 8_000_000)
    assert time.process_time() - started < 5


def test_compressed_and_doubled_members_are_refused(tmp_path: Path) -> None:
    packed = archive(tensor(b"K\x04\x85") + b"\0" * 1000, zipfile.ZIP_DEFLATED, data__0=b"\0" * 16)
    folder_with(tmp_path, {"pytorch_model.bin": packed})
    assert kinds(read(tmp_path)) == ["not-supported"]


def test_directory_and_local_header_must_agree(tmp_path: Path) -> None:
    """Readers that scan the file and readers that use the directory would see two different archives."""
    content = archive(tensor(b"K\x04\x85"), data__0=b"\0" * 16)
    assert content.count(b"model/data.pkl") == 2
    folder_with(tmp_path, {"pytorch_model.bin": content.replace(b"model/data.pkl", b"other/data.pkl", 1)})
    facts = read(tmp_path)
    assert kinds(facts) == ["malformed"]
    assert "in two ways" in facts.problems[0].message


def test_directory_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, 3_000_000_000, 4, 0)
    path = folder_with(tmp_path, {}) / "pytorch_model.bin"
    with path.open("wb") as stream:
        stream.write(b"PK\x03\x04")
        stream.seek(3_100_000_000)
        stream.write(end)
    assert kinds(read(tmp_path)) == ["not-supported"]


WHOLE = saved(state())


@settings(max_examples=200, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=8),
    cut=st.integers(0, 200),
)
def test_flipped_bytes_never_raise_anything_else(
    flips: list[tuple[int, int]], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(WHOLE)
    for at, value in flips:
        content[at] = value
    path = tmp_path_factory.mktemp("bin") / "x.bin"
    path.write_bytes(bytes(content[: len(content) - cut]))
    with contextlib.suppress(FileFault):
        assert len(read_bin(str(path), "x.bin").tensors) <= len(state())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_random_pickles_never_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(PickleFault):
        read_pickle(data)
