"""NVML, asked one question at a time: whatever a GPU or a driver does not answer is None and no more."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from eaglecfg.record import record


@record
class NoNvml:
    """Why NVML cannot be asked, and what to do about it."""

    why: str
    help: str


class Nvml:
    """An open NVML. ``library`` is the module ``pynvml``, or whatever has its functions."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def ask(self, function: str, *given: Any) -> Any:
        """The answer of ``nvml<function>``, None where there is none. Never raises."""
        try:
            answer = getattr(self._library, f"nvml{function}")(*given)
        except Exception:  # not supported, not permitted, no such function: NVML has many words for no answer
            return None
        return answer.decode(errors="replace") if isinstance(answer, bytes) else answer

    def constant(self, name: str) -> Any:
        """A constant or type of the library by its whole name, None where it has none."""
        return getattr(self._library, name, None)

    def devices(self) -> Iterator[tuple[int, str, Any]]:
        """(index, UUID, handle) of each GPU that can be reached."""
        for index in range(self.ask("DeviceGetCount") or 0):
            handle = self.ask("DeviceGetHandleByIndex", index)
            if handle is not None:
                yield index, str(self.ask("DeviceGetUUID", handle) or ""), handle


def open_nvml() -> Nvml | NoNvml:
    """NVML, where this machine and this Python have it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old package of the same name warns at import
            import pynvml
    except ImportError:
        return NoNvml(
            "the package nvidia-ml-py is not installed beside eaglecfg", "pip install 'eaglecfg[tune]'"
        )
    except Exception as error:  # another package of that name, or a broken one
        return NoNvml(f"the module pynvml does not load: {error}", "pip install nvidia-ml-py")
    try:
        pynvml.nvmlInit()
    except Exception as error:
        return _closed(type(error).__name__, str(error))
    return Nvml(pynvml)


def _closed(kind: str, text: str) -> NoNvml:
    if kind == "NVMLError_LibraryNotFound":
        return NoNvml(
            "libnvidia-ml.so.1, which comes with NVIDIA's driver, is not there",
            "install the driver, or start the container with --gpus all",
        )
    if kind == "NVMLError_DriverNotLoaded":
        return NoNvml("NVIDIA's kernel driver is not loaded", "load it: modprobe nvidia")
    if kind == "NVMLError_LibRmVersionMismatch":
        return NoNvml(
            "the driver's library and its kernel module are of different versions",
            "reboot, or reload the kernel module, after an update of the driver",
        )
    return NoNvml(f"NVML does not start: {text}", "run nvidia-smi, which says more")


def visible_indices(devices: Sequence[tuple[int, str]], visible: str | None) -> frozenset[int]:
    """The indices that CUDA_VISIBLE_DEVICES (``visible``; None: not set) leaves of (index, UUID) pairs.

    CUDA stops at the first word that names no GPU: what follows is hidden as well.
    """
    if visible is None:
        return frozenset(index for index, _ in devices)
    chosen = set()
    for word in words_of(visible):
        found = device_of(word, devices)
        if found is None:
            break
        chosen.add(found)
    return frozenset(chosen)


def words_of(visible: str) -> list[str]:
    """The words of CUDA_VISIBLE_DEVICES."""
    return [word.strip() for word in visible.split(",") if word.strip()]


def device_of(word: str, devices: Sequence[tuple[int, str]]) -> int | None:
    """The index of the GPU that a word names: by its index, or by the beginning of its UUID."""
    return next(
        (
            index
            for index, uuid in devices
            if (word.isdecimal() and int(word) == index) or (not word.isdecimal() and uuid.startswith(word))
        ),
        None,
    )
