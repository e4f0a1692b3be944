"""``python -m benchmarks.hostile``: files made to be dear to read must end in a finding, in bounds."""

from __future__ import annotations

import io
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.process import eaglecfg, run, table
from eaglecfg.checkpoint.limits import MAX_CONFIG_BYTES, MAX_HEADER_BYTES, MAX_INDEX_BYTES, MAX_PICKLE_BYTES
from eaglecfg.rules.examples import materialize

BAR_SECONDS, BAR_MIB = 5.0, 512
HEADER, INDEX, PICKLE = (
    "draft/model.safetensors",
    "draft/model.safetensors.index.json",
    "draft/pytorch_model.bin",
)
ASTRAL = "\N{EAGLE}"
"""One such character makes Python store a whole text in four bytes per character."""


def filled(unit: str, size: int, before: str, after: str) -> bytes:
    """``unit`` repeated to ``size`` bytes between ``before`` and ``after``."""
    frame = len((before + after).encode())
    return f"{before}{unit * ((size - frame) // len(unit.encode()))}{after}".encode()


def header(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def tensors(count: int, name: Callable[[int], str], tail: str = "") -> bytes:
    """A proper header of ``count`` one-byte tensors."""
    entries = (
        f'"{name(i)}":{{"dtype":"U8","shape":[1],"data_offsets":[{i},{i + 1}]{tail}}}' for i in range(count)
    )
    return ("{" + ",".join(entries) + "}").encode()


def archive(data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as out:
        out.writestr("model/data.pkl", data)
    return stream.getvalue()


def files() -> Iterator[tuple[str, str, bytes]]:
    """What it is, where it goes, its content."""
    yield "header of empty lists", HEADER, header(filled("[],", MAX_HEADER_BYTES, '{"a":[', "0]}"))
    yield "header of empty texts", HEADER, header(filled('"",', MAX_HEADER_BYTES, '{"a":[', "0]}"))
    yield (
        "header of wide texts",
        HEADER,
        header(filled('"āāāā",', MAX_HEADER_BYTES, f'{{"{ASTRAL}":[', "0]}")),
    )
    yield "header of numbers", HEADER, header(filled("1e1,", MAX_HEADER_BYTES, f'{{"{ASTRAL}":[', "0]}"))
    yield (
        "header of long numbers",
        HEADER,
        header(filled("9" * 4000 + ",", MAX_HEADER_BYTES, '{"a":[', "0]}")),
    )
    yield "header of nesting", HEADER, header(filled("[", MAX_HEADER_BYTES, '{"a":', ""))
    yield "header of one name", HEADER, header(filled('"a":0,', MAX_HEADER_BYTES, "{", '"b":0}'))
    for count in (49_000, 350_000):
        yield f"header of {count:,} tensors", HEADER, header(tensors(count, "{:x}".format)) + b"\0" * count
    yield "header of escaped names", HEADER, header(tensors(250_000, "\\u00e9{:x}".format)) + b"\0" * 250_000
    yield (
        "header of unknown fields",
        HEADER,
        header(tensors(250_000, "{:x}".format, ',"x":[]')) + b"\0" * 250_000,
    )
    yield "header of holes", HEADER, header(tensors(300_000, "{:x}".format)[:-2] + b'],"x":0}}')
    yield "index of empty texts", INDEX, filled('"":"",', MAX_INDEX_BYTES, '{"weight_map":{', '"a":"b"}}')
    yield (
        "index of wide texts",
        INDEX,
        filled(f'"{"ā" * 30}":"b",', MAX_INDEX_BYTES, f'{{"{ASTRAL}":{{', "}}"),
    )
    names = ",".join(f'"{i:070d}":"model-{i % 4000:05d}.safetensors"' for i in range(350_000))
    yield "index of 4,000 files", INDEX, f'{{"weight_map":{{{names}}}}}'.encode()
    yield "index of lists", INDEX, filled("[],", MAX_INDEX_BYTES, '{"weight_map":[', "0]}")
    yield "config of empty lists", "draft/config.json", filled("[],", MAX_CONFIG_BYTES, '{"a":[', "0]}")
    yield "config of nesting", "draft/config.json", filled("[", MAX_CONFIG_BYTES, '{"a":', "")
    yield "config of one key", "draft/config.json", filled('"a":0,', MAX_CONFIG_BYTES, "{", '"b":0}')
    yield (
        "config of wide texts",
        "draft/config.json",
        filled('"ā",', MAX_CONFIG_BYTES, f'{{"{ASTRAL}":[', "0]}"),
    )
    yield "pickle of dictionaries", PICKLE, archive(b"\x80\x02" + b"}" * (MAX_PICKLE_BYTES - 3))
    yield "pickle of a far memo", PICKLE, archive(b"\x80\x02}r\0\0\0\x04.")
    yield "pickle of nested tuples", PICKLE, archive(b"\x80\x02}" + b"\x85" * (MAX_PICKLE_BYTES - 4))
    yield (
        "pickle of one text",
        PICKLE,
        archive(b"\x80\x02X" + struct.pack("<I", 2**25 - 60) + b"a" * (2**25 - 60)),
    )
    yield "pickle of doubling", PICKLE, archive(b"\x80\x02)" + b"q\0h\0\x86" * 5_000_000 + b".")


def main() -> int:
    """Run every file through ``eaglecfg validate``; 0 when all bars hold, else 1."""
    rows = [["file", "MB", "s", "bar s", "peak MiB", "bar MiB", "exit", ""]]
    held = True
    for label, path, content in files():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            materialize({}, folder)
            if path == PICKLE:
                (folder / HEADER).unlink()
            (folder / path).write_bytes(content)
            one = run(eaglecfg("validate", "eaglecfg.yaml"), folder)
        good = one.seconds <= BAR_SECONDS and one.peak_mib <= BAR_MIB
        good = good and one.code in (0, 1, 3) and "Traceback" not in one.output
        held = held and good
        numbers = [
            f"{len(content) / 1e6:.1f}",
            f"{one.seconds:.2f}",
            f"{BAR_SECONDS:.0f}",
            f"{one.peak_mib:.0f}",
        ]
        rows.append([label, *numbers, str(BAR_MIB), str(one.code), "ok" if good else "MISSED"])
        if one.code not in (0, 1, 3):
            print(one.output)
    print(table(rows))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
