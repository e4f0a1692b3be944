"""The reference server over a real process and real HTTP, on the trained pair."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.tune.failure import classify

ROOT = Path(__file__).resolve().parents[2]
PAIR = ROOT / "examples" / "tiny"
FLAGS = (
    *("--model-path", str(PAIR / "target"), "--speculative-draft-model-path", str(PAIR / "draft")),
    *("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3", "--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "4", "--max-running-requests", "3"),
)
GREEDY = {"temperature": 0, "max_new_tokens": 24, "ignore_eos": True}
PROMPT = json.loads((PAIR / "prompts.jsonl").read_text(encoding="utf-8").split("\n", 1)[0])["input_ids"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Running:
    """One server process."""

    def __init__(self, *flags: str) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "eaglecfg.reference.serve", *FLAGS, *flags, "--port", str(self.port)]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True)

    def call(self, path: str, body: Any = None, method: str | None = None) -> tuple[int, bytes]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def generate(self, **body: Any) -> Any:
        status, answer = self.call("/generate", {"sampling_params": GREEDY, **body})
        assert status == 200, answer
        return json.loads(answer)

    def wait(self) -> None:
        """Until it answers 200, seeing 503 on the way."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.call("/health")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        pytest.fail(f"the server did not get ready: {self.stop()!r}")

    def stop(self) -> bytes:
        """SIGTERM; returns what it logged."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.communicate(timeout=20)[1]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    running = Running("--attention-backend", "triton")
    running.wait()
    yield running
    log = running.stop()
    assert b"ignored by the reference decoder: --attention-backend triton" in log
    assert running.process.returncode == 0


def test_health_and_information(server: Running) -> None:
    assert server.call("/health") == (200, b"")
    assert server.call("/health_generate")[0] == 200
    info = json.loads(server.call("/server_info")[1])
    assert json.loads(server.call("/get_server_info")[1]).keys() == info.keys()
    assert info["speculative_algorithm"] == "EAGLE3"
    assert info["speculative_num_steps"] == 3
    assert info["speculative_num_draft_tokens"] == 4
    assert info["dtype"] == "bfloat16"
    assert info["attention_backend"] == "triton"
    assert info["version"] == "0.5.14"
    assert info["reference"]["boundaries"] == [2, 4, 6]
    assert info["reference"]["threads"] == 1
    assert len(info["internal_states"]) == 1
    assert json.loads(server.call("/model_info")[1])["is_generation"] is True


def test_one_prompt_is_answered_with_its_counters(server: Running) -> None:
    answer = server.generate(input_ids=PROMPT, rid="mine")
    meta = answer["meta_info"]
    assert len(answer["output_ids"]) == meta["completion_tokens"] == 24
    assert meta["id"] == "mine"
    assert meta["prompt_tokens"] == len(PROMPT)
    assert meta["finish_reason"] == {"type": "length", "length": 24}
    assert meta["e2e_latency"] > 0
    steps, correct = meta["spec_verify_ct"], meta["spec_num_correct_drafts"]
    assert meta["spec_num_proposed_drafts"] == 3 * steps
    assert sum(meta["spec_correct_drafts_histogram"]) == steps
    assert meta["spec_accept_length"] == pytest.approx(24 / steps)
    assert 24 <= 1 + steps + correct <= 24 + 3


def test_text_in_and_text_out(server: Running) -> None:
    answer = server.generate(text="import os\n")
    again = server.generate(input_ids=json.loads(json.dumps(answer["output_ids"])))
    assert isinstance(answer["text"], str)
    assert answer["text"]
    assert answer["meta_info"]["prompt_tokens"] > 0
    assert again["meta_info"]["prompt_tokens"] == 24


def test_a_stream_repeats_all_tokens_so_far_and_ends_with_done(server: Running) -> None:
    whole = server.generate(input_ids=PROMPT)
    _, stream = server.call("/generate", {"input_ids": PROMPT, "sampling_params": GREEDY, "stream": True})
    *events, last, rest = stream.decode().split("\n\n")
    assert (last, rest) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert len(chunks) == whole["meta_info"]["spec_verify_ct"] + 1
    for shorter, longer in pairwise(chunks):
        assert longer["output_ids"][: len(shorter["output_ids"])] == shorter["output_ids"]
        assert shorter["meta_info"]["finish_reason"] is None
    assert chunks[-1]["output_ids"] == whole["output_ids"]
    assert chunks[-1]["meta_info"]["spec_verify_ct"] == whole["meta_info"]["spec_verify_ct"]


def test_a_batch_is_answered_in_its_order(server: Running) -> None:
    prompts = [PROMPT, PROMPT[:9], PROMPT[4:]]
    answers = server.generate(input_ids=prompts)
    assert [answer["meta_info"]["prompt_tokens"] for answer in answers] == [len(p) for p in prompts]
    assert answers[1]["output_ids"] == server.generate(input_ids=PROMPT[:9])["output_ids"]


def test_more_requests_than_places_queue_and_none_mixes_with_another(server: Running) -> None:
    prompts = [PROMPT[i : i + 12] for i in range(8)]
    alone = [server.generate(input_ids=prompt)["output_ids"] for prompt in prompts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda prompt: server.generate(input_ids=prompt)["output_ids"], prompts))
    assert together == alone


def test_flush_waits_for_silence_and_resets_the_mean(server: Running) -> None:
    server.generate(input_ids=PROMPT)
    states = json.loads(server.call("/server_info")[1])["internal_states"]
    assert 1 <= states[0]["avg_spec_accept_length"] <= 4
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(
            server.generate, input_ids=PROMPT, sampling_params={**GREEDY, "max_new_tokens": 600}
        )
        time.sleep(0.3)
        assert server.call("/flush_cache", method="POST")[0] == 400
        assert len(long.result()["output_ids"]) == 600
    assert server.call("/flush_cache", method="POST")[0] == 200
    assert server.call("/flush_cache")[0] == 200
    assert "avg_spec_accept_length" not in json.loads(server.call("/server_info")[1])["internal_states"][0]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"input_ids": [99999]}, "expected ids within"),
        ({"input_ids": PROMPT, "sampling_params": {"temperature": 1}}, "expected 0, got 1"),
        ("no object", "expected a JSON object"),
    ],
)
def test_a_bad_request_gets_400_and_a_sentence(server: Running, body: Any, said: str) -> None:
    status, answer = server.call("/generate", body)
    assert status == 400
    assert said in json.loads(answer)["error"]["message"]
    assert server.call("/nowhere")[0] == 404


def test_a_client_that_leaves_makes_room_for_others(server: Running) -> None:
    body = json.dumps(
        {"input_ids": PROMPT, "stream": True, "sampling_params": {**GREEDY, "max_new_tokens": 900}}
    )
    head = f"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port)) as left:
            left.sendall((head + body).encode())
            left.recv(100)
    begun = time.monotonic()
    server.generate(input_ids=PROMPT)
    assert time.monotonic() - begun < 3


def test_sigterm_ends_it_in_the_middle_of_a_request_and_leaves_nothing() -> None:
    running = Running()
    running.wait()
    with ThreadPoolExecutor(1) as pool:
        body = {"input_ids": PROMPT, "sampling_params": {**GREEDY, "max_new_tokens": 900}}
        cut = pool.submit(running.call, "/generate", body)
        time.sleep(0.3)
        begun = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        running.process.wait(timeout=10)
        assert time.monotonic() - begun < 5
        with pytest.raises((OSError, urllib.error.URLError)):
            cut.result()
    running.stop()
    assert running.process.returncode == 0
    with pytest.raises(ProcessLookupError):  # its process group is empty
        os.killpg(running.process.pid, 0)


def test_without_torch_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; from eaglecfg.reference.serve import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *FLAGS, "--port", str(free_port())],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'eaglecfg[reference]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert classify(done.stderr.splitlines(), default="crash", starting=True)[0] == "import"


@pytest.mark.parametrize("moment", [0.4, 0.8, 1.6])
def test_sigterm_while_loading_ends_it_too(moment: float) -> None:
    running = Running()
    time.sleep(moment)
    log = running.stop()
    # Python itself may still be starting on a busy machine: then the signal's own action ends it.
    assert running.process.returncode in (0, -signal.SIGTERM), log
    assert b"Traceback" not in log


def test_a_taken_port_and_a_missing_checkpoint_are_said_in_a_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "eaglecfg.reference.serve", *FLAGS, "--port", port]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr
