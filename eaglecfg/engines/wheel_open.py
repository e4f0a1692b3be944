"""Opens a wheel of the engine: a ``.whl`` file, an unpacked folder, or the package folder itself."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from eaglecfg.errors import UsageError

MOST_BYTES = 256 << 20
"""Unpacked source text of one wheel; the engine's own is below 64 MiB."""


@contextmanager
def opened(path: Path, package: str = "sglang") -> Iterator[Path]:
    """The folder of ``package`` inside ``path``; its ``.dist-info`` lies beside it.

    A ``.whl`` file is unpacked to a temporary folder, source text and metadata alone. Raises UsageError where
    there is no such package.
    """
    if path.is_dir():
        yield _folder(path, package)
        return
    if not path.is_file():
        raise UsageError(f"there is no wheel {path}; name a .whl file or the folder it was unpacked to")
    with TemporaryDirectory(prefix="eaglecfg-wheel-") as space:
        try:
            _unpack(path, Path(space), package)
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError) as error:
            raise UsageError(f"{path} cannot be read as a wheel: {error}") from error
        yield _folder(Path(space), package, path)


def _folder(path: Path, package: str, shown: Path | None = None) -> Path:
    for folder in (path, path / package):
        if (folder / "srt" / "server_args.py").is_file():
            return folder
    raise UsageError(
        f"{shown or path} holds no {package} package with srt/server_args.py; name a wheel of {package}"
    )


def _unpack(path: Path, space: Path, package: str) -> None:
    with zipfile.ZipFile(path) as wheel:
        wanted = [item for item in wheel.infolist() if _wanted(item.filename, package)]
        total = sum(item.file_size for item in wanted)
        if total > MOST_BYTES:
            raise UsageError(
                f"{path} holds {total >> 20} MiB of source text, more than any wheel of {package}"
            )
        for item in wanted:
            wheel.extract(item, space)


def _wanted(name: str, package: str) -> bool:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts:
        return False
    if parts[0].endswith(".dist-info"):
        return parts[1:] == ("METADATA",)
    return parts[0] == package and name.endswith(".py") and (parts[1] == "srt" or len(parts) == 2)
