"""One dialect: every server that is present is asked the same questions; the tuner asks no others."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from launcher import EAGLE, LIMITS, PLAN, STANDIN

from eaglecfg.machine.ports import free_port
from eaglecfg.tune.counters import read_request
from eaglecfg.tune.trial import Prompt, ServerCommand

if TYPE_CHECKING:
    from launcher import Launcher

PROMPT = list(range(3, 23))


def standin(folder: Path) -> tuple[str, ...]:
    return STANDIN


def reference(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "eaglecfg.reference.serve", *random_pair(folder))


def sglang(folder: Path) -> tuple[str, ...]:
    memory = ("--mem-fraction-static", "0.3")
    return (sys.executable, "-m", "sglang.launch_server", *random_pair(folder), *memory)


def random_pair(folder: Path) -> tuple[str, ...]:
    from eaglecfg.reference.pair import PairShape, write_random_pair

    shape = PairShape(4, 64, 1, 1, 64, 128, 512, 128, 256, (0, 1, 2), 512)
    target, draft = write_random_pair(folder, shape)
    flags = ("--model-path", str(target), "--speculative-draft-model-path", str(draft))
    return (*flags, "--skip-tokenizer-init")


def present(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


SERVERS: dict[str, Callable[[Path], tuple[str, ...]]] = {"standin": standin}
if present("torch", "transformers", "safetensors", "eaglecfg.reference.serve"):
    SERVERS["reference"] = reference
if present("sglang", "torch") and shutil.which("nvidia-smi"):
    SERVERS["sglang"] = sglang


class Server:
    """A running server and its two shapes of request."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"

    def get(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        request = urllib.request.Request(self.base + path, method=method)
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read()

    def post(self, body: dict[str, Any]) -> tuple[int, bytes]:
        data = json.dumps(body).encode()
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + "/generate", data, head)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def generate(self, tokens: int = 24, **more: Any) -> dict[str, Any]:
        sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
        status, body = self.post({"input_ids": PROMPT, "sampling_params": sampling, **more})
        assert status == 200, body
        return dict(json.loads(body))

    def stream(self, tokens: int = 24) -> list[dict[str, Any]]:
        sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
        status, body = self.post({"input_ids": PROMPT, "sampling_params": sampling, "stream": True})
        assert status == 200, body
        events = [event.removeprefix(b"data:").strip() for event in body.split(b"\n\n") if event.strip()]
        assert events[-1] == b"[DONE]"
        return [json.loads(event) for event in events[:-1]]


@pytest.fixture(scope="module", params=SERVERS)
def prefix(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """How a server is launched; asked for alone where none has to run already."""
    return SERVERS[request.param](tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module")
def server(prefix: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("dialect")
    port = free_port()
    with (folder / "log").open("wb") as log:
        command = [*prefix, *EAGLE, "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        found = Server(port)
        deadline = time.monotonic() + (180 if "sglang.launch_server" in prefix else 40)
        while time.monotonic() < deadline:
            assert process.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(OSError):
                if found.get("/health")[0] == 200:
                    break
            time.sleep(0.05)
        yield found
    finally:
        process.terminate()
        process.wait(20)


def test_health_says_yes_with_status_200(server: Server) -> None:
    assert server.get("/health")[0] == 200


def test_an_answer_has_ids_and_meta_info(server: Server) -> None:
    answer = server.generate()
    meta = answer["meta_info"]
    assert len(answer["output_ids"]) == meta["completion_tokens"] == 24
    assert meta["prompt_tokens"] == len(PROMPT)
    assert meta["finish_reason"]["type"] == "length"
    assert isinstance(meta["id"], str)


def test_streamed_chunks_hold_everything_so_far_and_the_last_one_the_whole(server: Server) -> None:
    whole = server.generate()
    chunks = server.stream()
    assert len(chunks) > 2
    counts = [chunk["meta_info"]["completion_tokens"] for chunk in chunks]
    assert counts == sorted(counts)
    assert counts[-1] == 24
    for chunk in chunks:
        ids = chunk["output_ids"]
        assert ids == whole["output_ids"][: len(ids)]
        assert len(ids) == chunk["meta_info"]["completion_tokens"]
    assert [chunk["meta_info"]["finish_reason"] is None for chunk in chunks[:-1]] == [True] * (
        len(chunks) - 1
    )
    assert chunks[-1]["meta_info"]["finish_reason"]["type"] == "length"


def test_greedy_answers_repeat(server: Server) -> None:
    assert server.generate()["output_ids"] == server.generate()["output_ids"]


def test_accept_counters_add_up_to_the_tokens(server: Server) -> None:
    meta = server.generate(60)["meta_info"]
    acceptance = read_request(meta, 2)
    assert acceptance is not None
    assert acceptance.source == "spec_num_correct_drafts"
    assert 1 <= acceptance.accept_length <= 3
    # One token comes from the prefill; the last step may have been cut by the limit.
    generated = 1 + acceptance.verify_steps + acceptance.correct
    assert 60 <= generated <= 62
    assert acceptance.histogram is not None
    assert sum(acceptance.histogram) == acceptance.verify_steps
    assert sum(place * count for place, count in enumerate(acceptance.histogram)) == acceptance.correct


def test_server_info_says_what_runs(server: Server) -> None:
    info = json.loads(server.get("/server_info")[1])
    assert info["speculative_algorithm"].upper() == "EAGLE3"
    assert info["speculative_num_steps"] == 2
    assert info["speculative_eagle_topk"] == 1
    assert info["speculative_num_draft_tokens"] == 3
    assert isinstance(info["version"], str)


def test_the_prefix_cache_can_be_flushed(server: Server) -> None:
    assert server.get("/flush_cache", "POST")[0] == 200


def test_a_request_without_input_is_refused_with_status_400(server: Server) -> None:
    status, _ = server.post({"sampling_params": {"max_new_tokens": 4}})
    assert status == 400


def test_a_launch_measures_it(prefix: tuple[str, ...], launch: Launcher) -> None:
    plan = replace(PLAN, concurrency=(2,), blocks=1, requests_per_block=4, output_tokens=16, warmup_limit=2)
    prompts = [Prompt(str(n), tuple(PROMPT[n:])) for n in range(4)]
    limits = replace(LIMITS, startup_s=180, hang_floor_s=15)
    result = launch(plan=plan, prompts=prompts, limits=limits, command=ServerCommand((*prefix, *EAGLE)))
    assert result.outcome == "ok", (result.message, result.lines)
    assert result.cleanup.proven
    block = result.blocks[0]
    assert block.tokens_per_s > 0
    assert block.accept_length is not None
    assert 1 <= block.accept_length <= 3
    assert block.flushed
    plain = launch(plan=plan, prompts=prompts, limits=limits, command=ServerCommand(prefix))
    assert plain.outcome == "ok", (plain.message, plain.lines)
    assert plain.blocks[0].accept_length is None
    assert {len(ids) for ids in plain.answers.values()} == {16}
    assert len(plain.answers) == 4
