"""The raw header of a safetensors file: 8 bytes of length, then so many bytes of JSON. Never weights."""

from __future__ import annotations

from typing import NamedTuple

from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import FileFault
from eaglecfg.checkpoint.limits import FIRST_READ, FORMAT_HEADER_BYTES, MAX_HEADER_BYTES
from eaglecfg.checkpoint.regular import LFS, opened, pointer, read_range

LENGTH_BYTES = 8


class RawHeader(NamedTuple):
    """Bytes of the JSON header and the size of the whole file in bytes."""

    data: bytes
    size: int

    @property
    def start(self) -> int:
        """First byte of the data region, which offsets count from."""
        return LENGTH_BYTES + len(self.data)


class Peek(NamedTuple):
    """The first FIRST_READ bytes of a file and its size: the whole header of nearly every file."""

    first: bytes
    size: int


def peek_header(path: str, shown: str) -> Peek:
    """One read of one file. Raises FileFault where it is not a regular file or cannot be read."""
    with opened(path, shown) as (descriptor, size):
        return Peek(read_range(descriptor, 0, FIRST_READ, shown), size)


def finish_header(path: str, shown: str, peek: Peek, budget: int = MAX_HEADER_BYTES) -> RawHeader:
    """The whole header, read on where it is longer than the peek. Raises FileFault.

    The announced length is held against the file's size and against ``budget`` bytes before anything is
    allocated for it. The file is read, not mapped: a mapped file that shrinks on a network disk kills the
    process.
    """
    length = announced_length(peek.first, peek.size, shown)
    if length > budget:
        message = f"{shown} has a header of {length:,} bytes; {budget:,} more are read of this checkpoint"
        raise FileFault(FileProblem("not-supported", shown, message, "", True, "bytes 0-7"))
    data = peek.first[LENGTH_BYTES : LENGTH_BYTES + length]
    if len(data) < length:
        with opened(path, shown) as (descriptor, _):
            data += read_range(descriptor, LENGTH_BYTES + len(data), length - len(data), shown)
    if len(data) < length:
        message = f"{shown} became shorter while it was read"
        raise FileFault(FileProblem("truncated", shown, message, "wait until it is written, run again", True))
    return RawHeader(data, peek.size)


def announced_length(first: bytes, size: int, shown: str) -> int:
    """The length of the header in bytes, from the ``first`` bytes of a file. Raises FileFault."""

    def refuse(kind: str, message: str, help: str = "download the file again") -> FileFault:
        return FileFault(
            FileProblem(kind, shown, f"{shown} {message}", help, True, "bytes 0-7", first[:8].hex(" "))
        )

    if first.startswith(LFS):
        raise FileFault(pointer(shown, size))
    if len(first) < LENGTH_BYTES:
        raise refuse("truncated", f"has {size} bytes; a safetensors file has at least 8 and a header")
    for magic, name in _OTHER_FORMATS.items():
        if first.startswith(magic):
            raise refuse(
                "malformed",
                f"is {name}, not a safetensors file",
                "give the file its own suffix, or convert it",
            )
    length = int.from_bytes(first[:LENGTH_BYTES], "little")
    after = size - LENGTH_BYTES
    if length > FORMAT_HEADER_BYTES:
        raise refuse(
            "malformed", f"announces a header of {length:,} bytes; the format allows {FORMAT_HEADER_BYTES:,}"
        )
    if length > after:
        raise refuse("truncated", f"announces a header of {length:,} bytes, but {after:,} bytes follow")
    if length < 2:
        raise refuse("malformed", f"announces a header of {length} bytes; the shortest has 2")
    if length > MAX_HEADER_BYTES:
        message = f"has a header of {length:,} bytes; at most {MAX_HEADER_BYTES:,} are read"
        raise refuse("not-supported", message, "split the checkpoint into more shards")
    return length


_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive (PyTorch .bin files are)",
    b"\x80\x02\x8a\nl\xfc": "a PyTorch pickle",
    b"GGUF": "a GGUF file",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
}
