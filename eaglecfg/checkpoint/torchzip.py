"""The directory of a zip archive as torch writes it: members are stored, not compressed."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import FileFault, legible
from eaglecfg.checkpoint.limits import MAX_ZIP_DIRECTORY_BYTES
from eaglecfg.checkpoint.regular import LFS, pointer, read_range

LOCAL, ENTRY, END, END64, LOCATOR64 = (
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
)
END_BYTES, LOCATOR_BYTES, END64_BYTES, ENTRY_BYTES, LOCAL_BYTES = 22, 20, 56, 46, 30
IN_EXTRA = 0xFFFFFFFF
"""A 32-bit field of this value stands in the zip64 extra field instead."""
SIZES_FOLLOW = 0x08
"""Flag of members whose local header leaves the sizes to a record after the data, as torch does."""


@dataclass(frozen=True, slots=True)
class Member:
    """One stored file of the archive: its size in bytes and where its local header begins."""

    name: str
    size: int
    stored: bool
    header: int


class Archive:
    """Members by name. Directory and local headers must agree, since readers differ in which they believe."""

    def __init__(self, descriptor: int, size: int, path: str, shown: str) -> None:
        """Read the directory. Raises FileFault, of kind ``not-supported`` for what is not a zip archive."""
        self.descriptor, self.size = descriptor, size
        self.path, self.shown = path, shown
        first = read_range(descriptor, 0, len(LFS), shown)
        if first.startswith(LFS):
            raise FileFault(pointer(shown, size))
        if not first:
            raise self.fault("truncated", "is empty", "download the file again")
        if not first.startswith(LOCAL):
            message = "is not a zip archive as torch has written since 1.6, so its tensors are not read"
            raise self.fault("not-supported", message, "convert it to safetensors")
        self.members = {member.name: member for member in self._directory()}

    def fault(
        self, kind: str, message: str, help: str = "download the file again, or convert it"
    ) -> FileFault:
        return FileFault(FileProblem(kind, self.shown, f"{self.shown} {message}", help, True))

    def start(self, member: Member) -> int:
        """First byte of the member's data. Raises FileFault where its local header tells another story."""
        local = read_range(self.descriptor, member.header, LOCAL_BYTES, self.shown)
        if len(local) < LOCAL_BYTES or not local.startswith(LOCAL):
            raise self.fault("malformed", f"has no member at byte {member.header:,}, as its directory says")
        flags, method = struct.unpack_from("<HH", local, 6)
        packed, plain, name_bytes, extra_bytes = struct.unpack_from("<IIHH", local, 18)
        name = read_range(self.descriptor, member.header + LOCAL_BYTES, name_bytes, self.shown)
        sizes_agree = flags & SIZES_FOLLOW or plain == IN_EXTRA or (packed == plain == member.size)
        if name != member.name.encode() or method or not sizes_agree:
            raise self.fault("malformed", f"describes {legible(member.name)} in two ways")
        start: int = member.header + LOCAL_BYTES + name_bytes + extra_bytes
        if start + member.size > self.size:
            raise self.fault("truncated", f"ends inside {legible(member.name)}")
        return start

    def read(self, member: Member, limit: int) -> bytes:
        """The whole member. Raises FileFault where it is compressed, longer than ``limit`` or cut off."""
        if not member.stored or member.size > limit:
            raise self.fault(
                "not-supported", f"holds {legible(member.name)} compressed or in {member.size:,} bytes"
            )
        return read_range(self.descriptor, self.start(member), member.size, self.shown)

    def _directory(self) -> list[Member]:
        offset, length = self._where()
        if length > MAX_ZIP_DIRECTORY_BYTES:
            raise self.fault(
                "not-supported", f"has a directory of {length:,} bytes", "convert it to safetensors"
            )
        data = read_range(self.descriptor, offset, length, self.shown)
        members: list[Member] = []
        at = 0
        while at < length:
            if data[at : at + 4] != ENTRY or at + ENTRY_BYTES > len(data):
                raise self.fault("malformed", f"has a broken directory at byte {offset + at:,}")
            member, at = self._entry(data, at)
            members.append(member)
        if len({member.name for member in members}) != len(members):
            raise self.fault("malformed", "names a member twice in its directory")
        return members

    def _entry(self, data: bytes, at: int) -> tuple[Member, int]:
        (method,) = struct.unpack_from("<H", data, at + 10)
        packed, plain, name_bytes, extra_bytes, comment_bytes = struct.unpack_from("<IIHHH", data, at + 20)
        (header,) = struct.unpack_from("<I", data, at + 42)
        begin = at + ENTRY_BYTES
        name = data[begin : begin + name_bytes].decode("utf-8", "replace")
        extra = data[begin + name_bytes : begin + name_bytes + extra_bytes]
        plain, packed, header = _widened(extra, plain, packed, header)
        member = Member(name, plain, method == 0 and packed == plain, header)
        return member, begin + name_bytes + extra_bytes + comment_bytes

    def _where(self) -> tuple[int, int]:
        """Offset and length of the directory."""
        tail_at = max(0, self.size - END_BYTES - LOCATOR_BYTES)
        tail = read_range(self.descriptor, tail_at, END_BYTES + LOCATOR_BYTES, self.shown)
        if tail[-END_BYTES:][:4] != END:  # torch writes no archive comment
            raise self.fault("truncated", "does not end like a zip archive")
        length, offset = struct.unpack_from("<II", tail[-END_BYTES:], 12)
        if tail[:4] == LOCATOR64 and len(tail) == END_BYTES + LOCATOR_BYTES:
            (end_at,) = struct.unpack_from("<Q", tail, 8)
            end = read_range(self.descriptor, min(end_at, self.size), END64_BYTES, self.shown)
            if len(end) < END64_BYTES or end[:4] != END64:
                raise self.fault("malformed", "points to a directory that is not there")
            length, offset = struct.unpack_from("<QQ", end, 40)
        if offset + length > self.size:
            raise self.fault("malformed", "points to a directory beyond its end")
        return offset, length


def _widened(extra: bytes, *fields: int) -> tuple[int, ...]:
    """``fields`` with those that do not fit into 32 bits taken from the zip64 extra field, in order."""
    at = 0
    wide: list[int] = []
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            wide = [value for (value,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8])]
        at += 4 + length
    return tuple(wide.pop(0) if field == IN_EXTRA and wide else field for field in fields)
