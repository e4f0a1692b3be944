"""What in a log shows that a variable acts: one reader per kind of variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from eaglecfg.nccl.lists import Allowed
from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.nccl.log.model import Choice, NcclLog
from eaglecfg.nccl.parsed import Parsed


@dataclass(frozen=True, slots=True)
class Shown:
    """``holds``: True where the log shows the variable's effect, False where it shows the opposite, None
    where it shows neither. ``why`` is one clause. ``needs``: tokens of NCCL_DEBUG_SUBSYS that would show
    it."""

    holds: bool | None
    why: str
    needs: tuple[str, ...] = ()


def size(count: int) -> str:
    """Bytes for people: exact multiples in KiB and MiB, else all digits."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale and count * 10 % scale == 0:
            value = count / scale
            return f"{value:.0f} {unit}" if count % scale == 0 else f"{value:.1f} {unit}"
    return f"{count} bytes"


def evidence(parsed: Parsed, log: NcclLog) -> Shown:
    """What the log shows about the variable with the value that NCCL takes it as."""
    row = log_facts()["shown_by"].get(parsed.name)
    if row is None:
        return Shown(None, "nothing in NCCL's log shows what this variable does")
    reader, token = row
    shown = _READERS[reader](parsed, log)
    if shown.holds is None and not shown.needs and token not in log.subsystems:
        return Shown(None, shown.why, (token,))
    return shown


def _number(parsed: Parsed) -> int | None:
    return parsed.taken if isinstance(parsed.taken, int) else None


def _described(choice: Choice) -> str:
    times = "once" if choice.count == 1 else f"{choice.count} times"
    return f"{choice.function or 'a collective'} of {size(choice.bytes)} ran {choice.shown} {times}"


def _listed(parsed: Parsed, log: NcclLog, part: Callable[[Choice], str]) -> Shown:
    """A list of names by collective against what was chosen."""
    allowed = parsed.taken
    if not isinstance(allowed, Allowed):
        return Shown(None, "the value cannot be read as a list")
    agreeing: list[Choice] = []
    for choice in log.choices:
        name = part(choice)
        wanted = allowed.of(choice.function) if choice.function else allowed.of("AllReduce")
        if not name or wanted is None:
            continue
        if name not in wanted:
            return Shown(False, _described(choice))
        agreeing.append(choice)
    if not agreeing:
        if any(choice.kernel or choice.engine for choice in log.choices):
            return Shown(None, "only symmetric kernels and copy engines ran, to which it does not apply")
        return Shown(None, "no collective that it applies to is in the log")
    most = max(agreeing, key=lambda choice: choice.count)
    return Shown(True, _described(most) + _others(len(agreeing) - 1))


def _others(count: int) -> str:
    return "" if count < 1 else f", and {count} other kind{'s' if count > 1 else ''} of call as it asks"


def _protocols(parsed: Parsed, log: NcclLog) -> Shown:
    return _listed(parsed, log, lambda choice: choice.protocol)


def _algorithms(parsed: Parsed, log: NcclLog) -> Shown:
    return _listed(parsed, log, lambda choice: choice.algorithm)


def _threads(parsed: Parsed, log: NcclLog) -> Shown:
    number = _number(parsed)
    protocols = ("LL128",) if parsed.name == "NCCL_LL128_NTHREADS" else ("LL", "Simple")
    rows = [one for one in log.threads if one.algorithm == "Ring" and one.protocol in protocols]
    if number is None or not rows:
        return Shown(None, "the log has no row Max NThreads", ("TUNING",))
    off = [one for one in rows if one.threads != number]
    if off:
        one = off[0]
        return Shown(False, f"Max NThreads is {one.threads} for {one.algorithm} {one.protocol}, not {number}")
    return Shown(True, f"Max NThreads is {number} for Ring {' and '.join(protocols)}")


def _thresholds(parsed: Parsed, log: NcclLog) -> Shown:
    rows = [one.thresholds for one in log.communicators if one.thresholds]
    if not rows:
        return Shown(None, "the log has no line threadThresholds", ("INIT",))
    asked = parsed.text.split()[:6]
    for row in rows:
        if row.replace("|", " ").replace("/", " ").split()[: len(asked)] != asked:
            return Shown(False, f"threadThresholds are {row}")
    return Shown(True, f"threadThresholds are {rows[0]}")


def _collective_channels(log: NcclLog) -> list[int]:
    groups = (one for one in log.communicators if one.channels is not None and one.ranks_total > 1)
    return [one.channels.collective for one in groups if one.channels is not None]


def _least_channels(parsed: Parsed, log: NcclLog) -> Shown:
    return _channels(parsed, log, lambda have, asked: have >= asked, "at least")


def _most_channels(parsed: Parsed, log: NcclLog) -> Shown:
    return _channels(parsed, log, lambda have, asked: have <= asked, "at most")


def _channels(parsed: Parsed, log: NcclLog, fits: Callable[[int, int], bool], words: str) -> Shown:
    number, counts = _number(parsed), _collective_channels(log)
    if number is None or not counts:
        return Shown(None, "the log does not say how many channels there are", ("INIT",))
    off = [count for count in counts if not fits(count, number)]
    if off:
        return Shown(False, f"a communicator has {off[0]} channels, not {words} {number}")
    return Shown(True, f"communicators have {_numbers(counts)} channels, {words} {number}")


def _numbers(values: Iterable[int]) -> str:
    return " and ".join(map(str, sorted(set(values))))


def _nvls_counts(log: NcclLog) -> list[int]:
    return [one.channels.nvls for one in log.communicators if one.channels is not None]


def _nvls(parsed: Parsed, log: NcclLog) -> Shown:
    number, counts = _number(parsed), _nvls_counts(log)
    used = [choice for choice in log.choices if choice.algorithm in ("NVLS", "NVLSTree")]
    if number is None or not (counts or used):
        return Shown(None, "the log does not say how many NVLS channels there are", ("INIT",))
    if number == 0:
        if used:
            return Shown(False, _described(used[0]))
        if any(counts):
            return Shown(False, f"a communicator has {max(counts)} NVLS channels")
        return Shown(True, "no communicator has NVLS channels")
    if used:
        return Shown(True, _described(used[0]))
    if any(counts):
        return Shown(True, f"a communicator has {max(counts)} NVLS channels")
    if number == 2:
        return Shown(None, "2 leaves it to NCCL, and no communicator has NVLS channels")
    without = ": the devices report no multicast" if log.multicast is False else ""
    return Shown(False, f"no communicator has NVLS channels{without}")


def _nvls_channels(parsed: Parsed, log: NcclLog) -> Shown:
    number, counts = _number(parsed), [count for count in _nvls_counts(log) if count]
    if not _nvls_counts(log):
        return Shown(None, "the log does not say how many NVLS channels there are", ("INIT",))
    if not counts:
        return Shown(False, "no communicator has NVLS channels")
    if number not in counts:
        return Shown(False, f"communicators have {_numbers(counts)} NVLS channels")
    return Shown(True, f"communicators have {_numbers(counts)} NVLS channels")


def _kinds(log: NcclLog, start: str) -> list[str]:
    return sorted({edge.kind for edge in log.edges if edge.kind.startswith(start)})


def _no_edges() -> Shown:
    return Shown(None, "the log shows no transport between ranks", ("INIT",))


def _p2p(parsed: Parsed, log: NcclLog) -> Shown:
    if not log.edges:
        return _no_edges()
    direct, others = _kinds(log, "P2P/"), sorted({edge.kind for edge in log.edges} - set(_kinds(log, "P2P/")))
    off = parsed.taken == "LOC" or (parsed.name == "NCCL_P2P_DISABLE" and _number(parsed) == 1)
    if off:
        if direct:
            return Shown(False, f"ranks talk over {direct[0]}")
        return Shown(True, f"no ranks talk over P2P; they use {' and '.join(others)}")
    if direct:
        return Shown(True, f"ranks talk over {' and '.join(direct)}")
    return Shown(None, f"ranks talk over {' and '.join(others)}, not over P2P")


def _shm(parsed: Parsed, log: NcclLog) -> Shown:
    if not log.edges:
        return _no_edges()
    used = _kinds(log, "SHM/")
    if _number(parsed) != 1:
        return Shown(True if used else None, f"ranks talk over {used[0] if used else log.edges[0].kind}")
    if used:
        return Shown(False, f"ranks talk over {used[0]}")
    return Shown(True, f"no ranks talk over SHM; they use {log.edges[0].kind}")


def _cumem(parsed: Parsed, log: NcclLog) -> Shown:
    direct = [kind for kind in _kinds(log, "P2P/") if kind.startswith(("P2P/CUMEM", "P2P/IPC"))]
    if not direct:
        return Shown(None, "the log shows no P2P transport between processes", ("INIT",))
    if _number(parsed) == -2:
        return Shown(None, f"-2 leaves it to NCCL, and ranks talk over {direct[0]}")
    want = "P2P/IPC" if _number(parsed) in (0, -1) else "P2P/CUMEM"
    off = [kind for kind in direct if not kind.startswith(want)]
    return Shown(not off, f"ranks talk over {(off or direct)[0]}")


def _network(parsed: Parsed, log: NcclLog) -> Shown:
    if not log.networks:
        return Shown(None, "the log does not name the network", ("INIT",))
    same = all(name.lower() == str(parsed.taken).lower() for name in log.networks)
    return Shown(same, f"NCCL uses network {' and '.join(log.networks)}")


def _infiniband(parsed: Parsed, log: NcclLog) -> Shown:
    if not log.networks:
        return Shown(None, "the log does not name the network", ("INIT",))
    on = any(name.startswith("IB") for name in log.networks)
    return Shown(
        on is (_number(parsed) == 0) if on or _number(parsed) else None,
        f"NCCL uses network {' and '.join(log.networks)}",
    )


def _cluster(parsed: Parsed, log: NcclLog) -> Shown:
    sizes = {choice.cluster for choice in log.choices if choice.cluster is not None}
    if not sizes:
        return Shown(None, "NCCL names cluster sizes of calls from 2.31 on")
    if sizes == {_number(parsed)}:
        return Shown(True, f"calls ran with cluster size {_number(parsed)}")
    shown = _numbers(value for value in sizes if value is not None)
    return Shown(None if _number(parsed) in sizes else False, f"calls ran with cluster sizes {shown}")


def _kernel(parsed: Parsed, log: NcclLog) -> Shown:
    kernels = sorted({choice.kernel for choice in log.choices if choice.kernel})
    if not kernels:
        return Shown(None, "no symmetric kernel is in the log")
    asked = parsed.text
    wrong = [one for one in kernels if (one == asked[1:] if asked.startswith("^") else one != asked)]
    return Shown(not wrong, f"symmetric kernel {(wrong or kernels)[0]} ran")


def _symmetric(parsed: Parsed, log: NcclLog) -> Shown:
    kernels = sorted({choice.kernel for choice in log.choices if choice.kernel})
    if not log.choices:
        return Shown(None, "no collective is in the log", ("TUNING",))
    if _number(parsed):
        return Shown(bool(kernels), f"symmetric kernel {kernels[0]} ran" if kernels else "none ran")
    return Shown(None, "symmetric kernels without windows are off unless it is 1")


def _tuner(parsed: Parsed, log: NcclLog) -> Shown:
    if not log.tuners:
        return Shown(None, "the log names no tuner plug-in")
    return Shown(True, f"NCCL uses tuner plug-in {log.tuners[0]}")


_READERS: Mapping[str, Callable[[Parsed, NcclLog], Shown]] = {
    "protocols": _protocols,
    "algorithms": _algorithms,
    "threads": _threads,
    "thresholds": _thresholds,
    "least_channels": _least_channels,
    "most_channels": _most_channels,
    "nvls": _nvls,
    "nvls_channels": _nvls_channels,
    "p2p": _p2p,
    "shm": _shm,
    "cumem": _cumem,
    "network": _network,
    "infiniband": _infiniband,
    "cluster": _cluster,
    "kernel": _kernel,
    "symmetric": _symmetric,
    "tuner": _tuner,
}
