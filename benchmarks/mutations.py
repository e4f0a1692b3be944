"""Small changes to known files: what breaks readers is nearly always a proper file with one thing wrong."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

LONGEST = 4096
"""Bytes of one input. Readers are held to large files by ``benchmarks.hostile``."""

_NUMBERS = b"""0 1 -1 255 256 65536 2147483647 4294967296 9223372036854775807 9223372036854775808
18446744073709551616 1e999 -0 0.5 0x 0o17 2.30 1_0 .5"""
_TEXT = b"""NaN Infinity null true ~ off .inf { } [ ] : , " ' & * ! | > % @ ` # - ? << --- ... \\ \\u0000
\\ud83d \\x00 / .. ../ // . !!str !!int !!python/object:os.system &a *a {a: [[[[ ]]]] {}
dtype shape data_offsets __metadata__ F32 BF16 I64 BOOL F4 U8 d2t t2d fc.weight weight_map metadata total_size
model-00001-of-00002.safetensors config.json version deployments target draft checkpoint speculative env nccl
server defaults refs/main snapshots/ blobs/ /dev/zero ../../../secret.json"""
_RAW = (
    *(
        b"\n",
        b"\r\n",
        b"\t",
        b"\0",
        b"  ",
        b"\xef\xbb\xbf",
        b"\xc3\xa9",
        b"\xf0\x9f\xa6\x85",
        b"\xff",
        b"\xc2\x85",
    ),
    *(
        b"\xe2\x80\xa8",
        b"\xed\xa0\x80",
        b"PK\x03\x04",
        b"PK\x01\x02",
        b"PK\x05\x06",
        b"PK\x06\x06",
        b"\x80\x02",
    ),
    *(
        b"\x8a\x0a",
        b"q\0",
        b"r\xff\xff\xff\x7f",
        b"h\0",
        b"R",
        b"\x85",
        b"\x86",
        b"}",
        b")",
        b"(",
        b"Q",
        b"s",
        b"u",
    ),
    *(
        b"ccollections\nOrderedDict\n",
        b"file ",
        b"link ",
        b"pipe ",
        b"hole ",
        b"folder ",
        b"header ",
        b"ask ",
    ),
)
NUMBERS = _NUMBERS.split()
TOKENS = [*NUMBERS, *_TEXT.split(), *_RAW]


def mutated(random: Random, corpus: Sequence[bytes]) -> bytes:
    """One file of the corpus after one to six changes."""
    data = bytearray(random.choice(corpus))
    for _ in range(random.choice((1, 1, 2, 2, 3, 4, 6))):
        random.choice(CHANGES)(random, data, corpus)
    return bytes(data[:LONGEST])


def _flip(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _byte(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice((0, 1, 9, 10, 32, 34, 127, 128, 255))


def _token(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    at = random.randint(0, len(data))
    data[at : at + random.choice((0, 0, 1, 4))] = random.choice(TOKENS)


def _number(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    """Another number in place of one that is there."""
    digits = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    if not digits:
        return
    first = last = random.choice(digits)
    while last < len(data) and 48 <= data[last] <= 57:
        last += 1
    data[first:last] = random.choice(NUMBERS)


def _cut(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    first = random.randint(0, len(data))
    del data[first : first + random.choice((1, 2, 8, 64, 4096))]


def _repeat(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    first = random.randint(0, len(data))
    part = data[first : first + random.choice((1, 3, 10, 60))]
    data[first:first] = part * random.choice((1, 1, 2, 30))


def _swap(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    """A piece moves to another place."""
    first = random.randint(0, len(data))
    part = data[first : first + random.randint(1, 40)]
    del data[first : first + len(part)]
    at = random.randint(0, len(data))
    data[at:at] = part


def _splice(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    """The rest comes from another file."""
    other = random.choice(corpus)
    data[random.randint(0, len(data)) :] = other[random.randint(0, len(other)) :]


CHANGES = (_flip, _byte, _token, _token, _number, _number, _cut, _repeat, _swap, _splice)
