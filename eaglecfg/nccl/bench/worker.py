"""One rank of a timed all-reduce. Runs as a process of its own in the Python that has torch.

Standard library and torch only, Python 3.9 and later. The coordinator writes one line of JSON (the order) to
standard input, then ``go``, ``measure`` and ``exit`` when it is time for each; the rank answers with one line
of JSON per step on the descriptor that ``EAGLECFG_BENCH_EVENTS`` names. Without that variable, by hand or by
torchrun, it takes the order from the file that its first argument names, waits for nobody and prints.

Every timed call is ``neg`` into the message and then the all-reduce of it: a small kernel that the collective
depends on, as in a decode step, so that calls cannot run into each other and every sum starts from known
values. A second chain holds ``neg`` alone; the difference is what one all-reduce adds.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

DTYPES = ("bfloat16", "float16", "float32")
PR_SET_PDEATHSIG = 1
CLOSED = 4
"""Exit status after the coordinator has gone."""

LONGEST_CHAIN_S = 0.05
"""How long one replay may take; slow transports get fewer calls per replay."""


class WrongSum(Exception):
    """A rank holds another sum than the ranks' inputs have."""


class Channel:
    """Words to the coordinator and from it."""

    def __init__(self) -> None:
        name = os.environ.get("EAGLECFG_BENCH_EVENTS", "")
        self.descriptor = int(name) if name else None
        self.fault = os.environ.get("EAGLECFG_BENCH_FAULT", "").split(":")
        self.rank = int(os.environ.get("RANK", "0"))
        self.words: queue.Queue[dict[str, Any]] = queue.Queue()
        if self.descriptor is not None:
            os.set_inheritable(self.descriptor, False)  # its end is how the coordinator learns of a death
            threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """Take in what the coordinator says. Its end ends the rank, even in the midst of a collective."""
        rest = b""
        while True:
            piece = os.read(0, 65536)
            if not piece:
                os._exit(CLOSED)
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.words.put(json.loads(line))

    def tell(self, event: str, **fields: Any) -> None:
        """One event. A coordinator that has gone ends the rank."""
        line = (json.dumps(dict(event=event, rank=self.rank, **fields)) + "\n").encode()
        if self.descriptor is None:
            sys.stdout.write(line.decode())
            return
        try:
            while line:
                line = line[os.write(self.descriptor, line) :]
        except OSError:
            os._exit(CLOSED)
        self._break_down(event)

    def wait(self, word: str) -> dict[str, Any]:
        """Sleep until the coordinator says ``word``; what it says with it."""
        if self.descriptor is None:
            return {}
        said = self.words.get()
        if said.get("word") != word:
            os._exit(CLOSED)
        return said

    def order(self) -> dict[str, Any]:
        """What is to be done."""
        if self.descriptor is None:
            with open(sys.argv[1], encoding="utf-8") as stream:  # noqa: PTH123
                return dict(json.load(stream))
        return self.words.get()

    def _break_down(self, event: str) -> None:
        """For tests: ``hang:1:checked`` makes rank 1 hang once it has told of ``checked``."""
        if len(self.fault) != 3 or self.fault[1:] != [str(self.rank), event]:
            return
        if self.fault[0] == "hang":
            while True:
                time.sleep(3600)
        if self.fault[0] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault[0] == "raise":
            raise RuntimeError("NCCL WARN a fault that was asked for")
        if self.fault[0] == "wrong":
            Ranks.planted = 1


def die_with_parent() -> None:
    """Have the kernel end this rank when the coordinator ends, however that happens."""
    parent = os.getppid()
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    except (OSError, AttributeError):
        return  # standard input ends as well
    if os.getppid() != parent:
        os._exit(CLOSED)


def versions(torch: Any) -> dict[str, Any]:
    """Which libraries this rank has loaded."""
    return {
        "python": sys.version.split()[0],
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda or "",
        "glibc": libc(),
    }


def libc() -> str:
    """The version of glibc, empty where there is another library."""
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")[2]
    except (AttributeError, OSError, ValueError):
        return ""


def driver() -> str:
    """The version of the GPU driver, empty where the kernel does not tell."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as stream:  # noqa: PTH123
            words = stream.readline().split()
    except OSError:
        return ""
    return next((word for word in words if word[:1].isdigit() and "." in word), "")


class Ranks:
    """The group as this rank sees it: inputs, sums, chains of calls."""

    planted = 0
    """For tests: added to a sum, so that the check has something to find."""

    def __init__(self, torch: Any, order: dict[str, Any], channel: Channel) -> None:
        self.torch, self.order, self.channel = torch, order, channel
        self.rank, self.world = channel.rank, int(os.environ["WORLD_SIZE"])
        self.gpu = order["backend"] == "nccl"
        self.device = torch.device("cpu")
        # Sums of up to 256 are whole in bfloat16, whatever the order in which they are added.
        self.most = max(1, min(8, 256 // self.world))

    def join(self) -> None:
        """Take the GPU, form the group, make the first call."""
        import datetime
        import inspect

        torch, told = self.torch, {}
        import torch.distributed as dist

        extra = {}
        if self.gpu:
            local = int(os.environ.get("LOCAL_RANK", self.rank))
            seen = torch.cuda.device_count()
            if seen <= local:
                raise RuntimeError(f"{self.world} ranks need {self.world} GPUs, torch sees {seen}")
            torch.cuda.set_device(local)
            self.device = torch.device("cuda", local)
            torch.zeros(1, device=self.device)
            about = torch.cuda.get_device_properties(local)
            told = {"gpu": about.name, "uuid": str(getattr(about, "uuid", "")), "driver": driver()}
            told["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        self.channel.tell("device", **told)
        self.dist = dist
        if self.gpu and "device_id" in inspect.signature(dist.init_process_group).parameters:
            extra["device_id"] = self.device  # the communicator is then made here, not at the first call
        dist.init_process_group(self.order["backend"], timeout=datetime.timedelta(seconds=600), **extra)
        self.channel.tell("joined")
        self.agree(0.0)
        self.channel.tell("connected")

    def agree(self, value: float) -> float:
        """The largest ``value`` of all ranks. In whole billionths: every algorithm has their maximum."""
        shared = self.torch.tensor([round(value * 1e9)], dtype=self.torch.int64, device=self.device)
        self.dist.all_reduce(shared, op=self.dist.ReduceOp.MAX)
        return int(shared.item()) / 1e9

    def input_of(self, rank: int, count: int, dtype: Any, seed: int) -> Any:
        """The message of ``rank``: small whole numbers without a pattern that shifts or swaps would keep."""
        torch = self.torch
        at = torch.arange(count, dtype=torch.int64, device=self.device)
        mixed = (at * 2654435761 + (rank + 1) * 40503 + seed * 9973 + (at >> 7) * 97) & 0x7FFFFFFF
        values = ((mixed ^ (mixed >> 13)) * 1103515245 >> 9) % (2 * self.most + 1)
        return (values - self.most).to(dtype)

    def sum_of(self, count: int, dtype: Any, seed: int) -> Any:
        """What all ranks must hold: the negated inputs, summed. Every partial sum is exact."""
        total = self.torch.zeros(count, dtype=self.torch.float32, device=self.device)
        for rank in range(self.world):
            total -= self.input_of(rank, count, self.torch.float32, seed)
        return total.to(dtype)

    def renew(self, message: Message) -> None:
        """Put this rank's part into the message again."""
        self.torch.neg(message.given, out=message.held)

    def call(self, message: Message) -> None:
        """One timed unit: the message anew, then its sum."""
        self.renew(message)
        self.dist.all_reduce(message.held)

    def synchronize(self) -> None:
        if self.gpu:
            self.torch.cuda.synchronize()

    def compare(self, message: Message, mode: str) -> None:
        """Raise WrongSum where this rank's message is not the sum."""
        wanted = self.sum_of(message.count, message.dtype, message.seed)
        if Ranks.planted:
            message.held[-1] += Ranks.planted
        if self.torch.equal(message.held, wanted):
            return
        wrong = (message.held != wanted).nonzero().flatten()
        first = int(wrong[0])
        got, expected = float(message.held[first]), float(wanted[first])
        name = str(message.dtype).replace("torch.", "")
        fields = {"size": message.size, "dtype": name, "mode": mode, "count": len(wrong)}
        self.channel.tell("wrong", first=first, got=got, expected=expected, of=message.count, **fields)
        raise WrongSum(f"{len(wrong)} of {message.count} {name} values wrong")

    def capture(self, body: Callable[[], None]) -> Callable[[], None]:
        """``body`` as a CUDA graph, or as it is where there are none."""
        if not self.order["graph"]:
            return body
        graph = self.torch.cuda.CUDAGraph()
        self.synchronize()
        # The process group's watchdog thread asks about events meanwhile; only this thread is being captured.
        with self.torch.cuda.graph(graph, capture_error_mode="thread_local"):
            body()
        self.synchronize()
        return graph.replay  # type: ignore[no-any-return]

    def chain(self, run: Callable[[], None], replays: int) -> list[float]:
        """Seconds of each of ``replays`` runs, one behind the other after one that is not timed.

        On a GPU the whole chain is queued at once and events lie between the runs, so that neither launching
        nor the ranks' unequal start is in the times.
        """
        if not self.gpu:
            run()
            marks = [time.perf_counter()]
            for _ in range(replays):
                run()
                marks.append(time.perf_counter())
            return [later - earlier for earlier, later in zip(marks, marks[1:])]  # noqa: B905, RUF007
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(replays + 1)]
        run()
        events[0].record()
        for index in range(replays):
            run()
            events[index + 1].record()
        self.synchronize()
        return [a.elapsed_time(b) / 1000 for a, b in zip(events, events[1:])]  # noqa: B905, RUF007


class Message:
    """One size: what this rank gives, what it holds, and its chains once they are captured."""

    def __init__(self, ranks: Ranks, size: int, dtype: str) -> None:
        torch = ranks.torch
        self.ranks, self.size, self.dtype = ranks, size, getattr(torch, dtype)
        self.count = max(1, size // torch.tensor([], dtype=self.dtype).element_size())
        self.seed = 0
        self.given = torch.empty(self.count, dtype=self.dtype, device=ranks.device)
        self.held = torch.empty_like(self.given)
        self.calls, self.replays, self.warm = 1, 1, 1
        self.with_sum: Callable[[], None] | None = None
        self.without: Callable[[], None] | None = None
        self.fill(1)

    def fill(self, seed: int) -> None:
        """Give other values."""
        self.seed = seed
        self.given.copy_(self.ranks.input_of(self.ranks.rank, self.count, self.dtype, seed))

    def prepare(self) -> None:
        """Connect, choose how many calls fit, capture both chains. The same on every rank."""
        ranks, order = self.ranks, self.ranks.order
        for _ in range(3):
            ranks.call(self)
        ranks.synchronize()
        begun = time.perf_counter()
        for _ in range(5):
            ranks.call(self)
        ranks.synchronize()
        each = ranks.agree((time.perf_counter() - begun) / 5)
        ranks.compare(self, "eager")
        self.calls = max(1, min(order["calls"], int(LONGEST_CHAIN_S / each)))
        self.replays = max(3, min(order["replays"], int(order["size_s"] / (each * self.calls))))
        self.warm = max(2, min(50, int(0.02 / (each * self.calls))))
        self.with_sum = ranks.capture(lambda: self._calls(ranks.call))
        self.without = ranks.capture(lambda: self._calls(ranks.renew))

    def _calls(self, one: Callable[..., None]) -> None:
        for _ in range(self.calls):
            one(self)


def check(ranks: Ranks) -> None:
    """Every size and dtype, eager and replayed, with other values each time."""
    order = ranks.order
    names = [order["dtype"], *(name for name in DTYPES if name != order["dtype"])]
    for dtype in names:
        for size in order["sizes"]:
            message = Message(ranks, size, dtype)
            rounds = order["check_rounds"]
            for seed in range(rounds):
                message.fill(seed)
                ranks.call(message)
                ranks.synchronize()
                ranks.compare(message, "eager")
            if order["graph"]:
                replay = ranks.capture(lambda: ranks.call(message))  # noqa: B023
                for seed in range(rounds, 2 * rounds):
                    message.fill(seed)
                    replay()
                    ranks.synchronize()
                    ranks.compare(message, "graph")
            ranks.channel.tell("checked", size=size, dtype=dtype, rounds=rounds)


def measure(ranks: Ranks) -> None:
    """Time every size, in several passes, and check the sums that the timed calls left."""
    order, channel = ranks.order, ranks.channel
    messages = []
    for size in order["sizes"]:
        message = Message(ranks, size, order["dtype"])
        message.prepare()
        messages.append(message)
        channel.tell("captured", size=size, calls=message.calls, replays=message.replays)
    channel.tell("ready")
    channel.wait("measure")
    _settle(ranks, messages[0])
    for turn in range(order["passes"]):
        for message in messages if turn % 2 == 0 else messages[::-1]:
            assert message.with_sum is not None
            assert message.without is not None
            message.fill(100 + turn)
            ranks.synchronize()
            ranks.agree(0.0)
            for _ in range(message.warm):
                message.with_sum()
            times = ranks.chain(message.with_sum, message.replays)
            ranks.compare(message, "graph, timed" if order["graph"] else "timed")
            alone = sorted(ranks.chain(message.without, message.replays))
            rest = alone[len(alone) // 2]
            each = [round((value - rest) / message.calls * 1e6, 4) for value in times]
            around = round(rest / message.calls * 1e6, 4)
            channel.tell("timed", size=message.size, turn=turn, us=each, around_us=around)


def _settle(ranks: Ranks, message: Message) -> None:
    """Keep the GPUs busy until their clocks are up."""
    assert message.with_sum is not None
    begun = time.perf_counter()
    while ranks.agree(time.perf_counter() - begun) < ranks.order["warm_s"]:
        for _ in range(message.warm):
            message.with_sum()
        ranks.synchronize()
    ranks.channel.tell("settled")


def main() -> None:
    """Be a rank, and say how it went."""
    channel = Channel()
    order = channel.order()
    if channel.descriptor is not None:
        die_with_parent()
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - before anything is imported
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]  # noqa: PTH100
    status = 0
    try:
        begun = time.perf_counter()
        import torch

        torch.set_num_threads(1)
        seconds = round(time.perf_counter() - begun, 2)
        channel.tell("imported", seconds=seconds, **versions(torch))
        os.environ.update(channel.wait("go").get("environment", {}))
        ranks = Ranks(torch, order, channel)
        ranks.join()
        if order["kind"] == "check":
            check(ranks)
        else:
            measure(ranks)
        # Nobody may leave while another rank still reads from its memory.
        ranks.agree(0.0)
        ranks.synchronize()
        channel.tell("done")
        channel.wait("exit")
    except WrongSum:
        status = 1
    except BaseException as error:
        import traceback

        traceback.print_exc()
        channel.tell("error", kind=type(error).__name__, message=str(error)[:2000])
        status = 1
    # Taking a group down can wait for ever for graphs that still hold it; the kernel frees all of it at once.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
