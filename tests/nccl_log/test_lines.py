"""NCCL's messages are found whatever wraps, cuts or mixes them."""

from __future__ import annotations

import io
import json
import time

import pytest

from eaglecfg.nccl.log.lines import LONGEST, Message, messages, plain_text, raw_lines
from tests.nccl_log.conftest import read, said, written

PLAIN = "box:123:456 [1] NCCL INFO NCCL_PROTO set by environment to LL"
MESSAGE = Message("box", 123, 456, 1, "INFO", "", "NCCL_PROTO set by environment to LL")


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[rank0]: ",
        "[rank0]:",
        "[default1]:",
        "worker-0  | ",
        "[1,0]<stdout>:",
        "[2026-11-30 01:02:03] ",
        "[2026-11-30 01:02:03]",
        "01:02:03.123 ",
        "2026-11-30T01:02:03.123456789Z ",
        "Nov 30 01:02:03 node python[77]: ",
        "[2026-11-30 01:02:03 TP0] ",
        "(TP1 pid=9) ",
        "[pod/sglang-0/server] ",
        "\x1b[36m(Worker pid=1)\x1b[0m ",
        "\x1b[2m[rank1]:\x1b[0m ",
        "日本 ",
    ],
)
def test_a_prefix_does_not_matter(prefix: str) -> None:
    assert list(messages(plain_text((prefix + PLAIN).encode()))) == [MESSAGE]


@pytest.mark.parametrize("end", ["\r\n", "\n", "\x1b[0m\r\n", " \n"])
def test_an_end_does_not_matter(end: str) -> None:
    assert list(messages(plain_text((PLAIN + end).encode()))) == [MESSAGE]


def test_docker_json_is_unwrapped_and_other_json_passed_over() -> None:
    docker = json.dumps({"log": PLAIN + "\n", "stream": "stdout", "time": "2026-11-30T00:00:00Z"})
    assert list(messages(plain_text(docker.encode()))) == [MESSAGE]
    cut = docker[:-9].encode()
    assert next(iter(messages(plain_text(cut)))).pid == 123


@pytest.mark.parametrize(
    ("head", "where"),
    [
        ("box:1:2 [0] enqueue.cc:1234 NCCL WARN ", "enqueue.cc:1234"),
        ("box:1:2 [0] plugin/tuner.cc:7 (ncclTunerInit) NCCL WARN ", "plugin/tuner.cc:7"),
        ("[2026-11-30 01:02:03] box:1:2 [0] src/init.cc:9 NCCL WARN ", "src/init.cc:9"),
    ],
)
def test_warnings_keep_their_place(head: str, where: str) -> None:
    (message,) = messages(head + "Something is odd")
    assert (message.level, message.where, message.text) == ("WARN", where, "Something is odd")


def test_two_processes_in_one_line_are_two_messages() -> None:
    line = PLAIN + "other:9:9 [0] NCCL INFO NCCL_ALGO set by environment to Ring"
    first, second = messages(line)
    assert first.pid == 123
    assert second.text == "NCCL_ALGO set by environment to Ring"


def test_a_line_glued_to_the_middle_of_another_belongs_to_its_own_process() -> None:
    whole = said("NCCL_ALGO set by environment to Ring", pid=9)[0]
    log = read([whole, "box:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CU" + whole])
    assert {(one.host, one.pid) for one in log.processes} == {("box", 9), ("box", 7)}


@pytest.mark.parametrize(
    "line",
    [
        "INFO: NCCL INFO is a level",
        "NCCL INFO",
        "ProcessGroupNCCL.cpp:12 NCCL WARN nothing",
        "see NCCL_DEBUG=INFO",
        ":1:2 [0] NCCL INFO x",
        "box:a:b [0] NCCL INFO x",
    ],
)
def test_what_only_looks_like_a_message_is_none(line: str) -> None:
    assert list(messages(line)) == []


def test_long_lines_are_cut_and_the_next_is_read() -> None:
    stream = io.BytesIO(b"a" * (3 * LONGEST) + b"\n" + PLAIN.encode() + b"\nlast")
    lines = list(raw_lines(stream))
    assert [len(line) for line in lines] == [LONGEST, len(PLAIN), 4]


@pytest.mark.parametrize(
    "hostile",
    [
        b"NCCL INFO " * 6000,
        b"a:1:2 [0] NCCL INFO " * 3000,
        b"a" * 60000 + b" NCCL INFO x",
        b":1" * 30000 + b" NCCL INFO x",
        b"box:1:1 [0] NCCL INFO " + b"NCCL_" * 10000 + b" is greater than the maximum allowed",
        b"box:1:1 [0] NCCL INFO " + b"9" * 60000 + b" Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
        b'{"log":' + b"[" * 60000,
        b"\x1b[" * 30000 + b"NCCL",
        bytes(range(256)) * 200 + b"NCCL INFO ",
    ],
)
def test_hostile_lines_are_read_in_time(hostile: bytes) -> None:
    begun = time.perf_counter()
    read(hostile)
    assert time.perf_counter() - begun < 2


def test_a_long_log_is_read_in_little_memory() -> None:
    import tracemalloc

    lines = [line for line in written() if "Bytes ->" in line or "opCount" in line]
    raw = ("\n".join(lines) + "\n").encode()
    stream = io.BytesIO(raw * (3_000_000 // len(raw)))
    from eaglecfg.nccl.log.summary import read_log

    tracemalloc.start()
    log = read_log([("log", stream)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert log.messages > 10_000
    assert peak < 1_500_000
