"""A rank that only speaks the protocol: no torch, deterministic times, faults on request.

``STANDIN_FAULT`` is ``kind:rank:event``: what rank does once it has told of the event (``start``: before
any). ``STANDIN_US`` is the time of a call, ``STANDIN_IMPORT_S`` how long importing takes, ``STANDIN_DIARY`` a
file that gets a line for the begin and end of importing and of timing.
"""

import json
import os
import signal
import sys
import time

EVENTS = int(os.environ["EAGLECFG_BENCH_EVENTS"])
RANK = int(os.environ["RANK"])
FAULT = os.environ.get("STANDIN_FAULT", "").split(":")
US = float(os.environ.get("STANDIN_US", "10"))
DIARY = os.environ.get("STANDIN_DIARY")


def note(what: str) -> None:
    if DIARY:
        with open(DIARY, "a", encoding="utf-8") as stream:  # noqa: PTH123 - pathlib takes time to import
            stream.write(f"{time.monotonic():.6f} {os.getpid()} {what}\n")


def break_down(event: str) -> None:
    if len(FAULT) != 3 or FAULT[1:] != [str(RANK), event]:
        return
    if FAULT[0] == "hang":
        signal.pause()
    if FAULT[0] == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if FAULT[0] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT[0] == "exit":
        sys.stderr.write("ncclInvalidUsage: NCCL_ALGO has no such algorithm\n")
        sys.stderr.flush()
        os._exit(3)
    if FAULT[0] == "child":
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        signal.pause()
    if FAULT[0] == "wrong":
        tell("wrong", size=4, dtype="bfloat16", mode="eager", count=1, of=2, first=1, got=3.0, expected=4.0)
        os._exit(1)
    if FAULT[0] == "error":
        tell("error", kind="RuntimeError", message="it broke\nsecond line")
        os._exit(1)


def tell(event: str, **fields: object) -> None:
    os.write(EVENTS, (json.dumps({"event": event, "rank": RANK, **fields}) + "\n").encode())
    break_down(event)


def wait(word: str) -> dict:
    line = sys.stdin.readline()
    if not line:
        os._exit(4)
    said = json.loads(line)
    assert said["word"] == word, said
    return said


def log(sizes: list) -> None:
    lines = [
        "host:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0",
        *(
            f"host:{os.getpid()}:{os.getpid()} [0] NCCL INFO AllReduce: {size} Bytes -> Algo RING proto LL "
            "channel{Lo..Hi}={0..1}"
            for size in sizes
        ),
    ]
    with open(os.environ["NCCL_DEBUG_FILE"], "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write("\n".join(lines) + "\n")


def main() -> None:
    order = json.loads(sys.stdin.readline())
    note("import")
    break_down("start")
    time.sleep(float(os.environ.get("STANDIN_IMPORT_S", "0")))
    note("imported")
    tell("imported", seconds=0.1, python="3.12.3", torch="2.11.0", cuda="13.0", glibc="2.36")
    port = int(wait("go")["environment"]["MASTER_PORT"])
    assert 0 < port < 65536
    assert os.environ["MASTER_ADDR"] == "127.0.0.1"
    tell("device", gpu="H200", uuid=f"GPU-{RANK}", driver="580.1", nccl="2.28.9")
    tell("joined")
    tell("connected")
    if order["kind"] == "check":
        if RANK == 0 and os.environ["NCCL_DEBUG"] == "INFO":
            log(order["sizes"])
        for size in order["sizes"]:
            tell("checked", size=size, dtype="bfloat16", rounds=order["check_rounds"])
    else:
        assert os.environ["NCCL_DEBUG"] == "WARN"
        for size in order["sizes"]:
            tell("captured", size=size, calls=order["calls"], replays=order["replays"])
        tell("ready")
        wait("measure")
        note("measure")
        time.sleep(0.02)
        for size in order["sizes"]:
            tell("timed", size=size, turn=0, us=[US + RANK, US], around_us=1.0)
        note("measured")
    tell("done")
    wait("exit")


if __name__ == "__main__":
    main()
