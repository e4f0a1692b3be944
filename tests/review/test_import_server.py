"""A running server's own word, and the command line around every import."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.engines.flags import UNREADABLE
from eaglecfg.engines.table import load_facts
from eaglecfg.review.imports import server_info
from tests.review.imported import imported, only

Answer = Callable[[BaseHTTPRequestHandler], None]


def info(version: str = "0.5.14", **changes: Any) -> dict[str, Any]:
    """What a server of ``version`` answers that was given nothing but ``changes``."""
    facts = load_facts("sglang", version)
    assert facts is not None
    defaults = {name: flag.default for name, flag in facts.flags.items()}
    known = {name: None if value == UNREADABLE else value for name, value in defaults.items()}
    state = {"version": version, "internal_states": [{"last_gen_throughput": 1.5}], "max_total_num_tokens": 9}
    return {**known, "model_path": "org/m", **state, **changes}


def ok(data: Any) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def status(code: int, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()

    return answer


class Quiet(ThreadingHTTPServer):
    """Says nothing about a client that hangs up, and waits for nobody."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[str, list[str]]]]:
    """Start a server with an answer per path: its address, and the requests that it gets."""
    servers: list[ThreadingHTTPServer] = []

    def start(**answers: Answer) -> tuple[str, list[str]]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(f"{self.command} {self.path}")
                answers.get(self.path.strip("/"), status(404))(self)

            def log_message(self, *_: object) -> None:
                pass

        server = Quiet(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_only_what_is_not_a_default_is_taken() -> None:
    answer = info(
        tp_size=8,
        speculative_algorithm="EAGLE3",
        speculative_draft_model_path="org/d",
        speculative_num_steps=3,
        served_model_name="org/m",
        tokenizer_path="org/m",
        random_seed=4711,
        mem_fraction_static=0.82,
        trust_remote_code=True,
        api_key="hunter2",
        cuda_graph_bs=[1, 2],
        allowed_local_media_path="",
    )
    result, _ = imported(json.dumps(answer), None)
    found = only(json.dumps(answer), None)
    found["server"].pop("allowed_local_media_path", None)
    assert found == {
        "target": {"checkpoint": "org/m"},
        "draft": {"checkpoint": "org/d"},
        "parallel": {"tp_size": 8},
        "speculative": {"algorithm": "EAGLE3", "num_steps": 3},
        "server": {
            "mem_fraction_static": 0.82,
            "trust_remote_code": True,
            "api_key": "${SGLANG_API_KEY}",
            "cuda_graph_bs": [1, 2],
        },
    }
    assert "hunter2" not in result.text
    assert "version: 0.5.14  # as the server says" in result.text
    texts = " ".join(note.text for note in result.notes)
    assert "random_seed" in texts
    assert "env and nccl are left out" in texts


RECORDED = Path(__file__).parents[1] / "live" / "data"
ASKED = {
    "target": {"checkpoint": "/models/target"},
    "draft": {"checkpoint": "/models/draft"},
    "speculative": {"algorithm": "EAGLE3", "num_steps": 2, "eagle_topk": 1, "num_draft_tokens": 3},
    "server": {
        "device": "cpu",
        "attention_backend": "torch_native",
        "max_running_requests": 16,
        "max_total_tokens": 32768,
        "skip_tokenizer_init": True,
        "disable_cuda_graph": True,
        "disable_overlap_schedule": True,
        "port": 31010,
    },
}
"""What the recorded servers were started with."""


def test_a_server_that_tells_its_flags_is_imported_as_it_was_started() -> None:
    text = (RECORDED / "sglang-0.5.23-server-info.json").read_text(encoding="utf-8")
    assert only(text, None) == ASKED
    result, _ = imported(text, None)
    assert any("says it was started with" in note.text for note in result.notes)


def test_flags_of_a_file_are_not_told_so_that_settings_are_taken_as_they_run() -> None:
    text = (RECORDED / "sglang-0.5.23-server-info.json").read_text(encoding="utf-8")
    known = json.loads(text)
    known["launch_command"] = "--config server.yaml --port 31010"
    result, _ = imported(json.dumps(known), None)
    assert any("settings are as they run" in note.text for note in result.notes)
    assert only(json.dumps(known), None)["server"]["max_running_requests"] == 16


@pytest.mark.parametrize("version", ["0.5.13", "0.5.17"])
def test_what_the_engine_fills_in_is_not_taken_for_given(version: str) -> None:
    found = only((RECORDED / f"sglang-{version}-server-info.json").read_text(encoding="utf-8"), None)
    assert "revision" not in found["draft"]
    assert not {"custom_weight_loader", "mm_process_config"} & found["server"].keys()
    port = {"port": found["server"]["port"]}
    assert {**ASKED, "server": {**found["server"], **ASKED["server"], **port}} == found


@pytest.mark.parametrize("version", ["0.5.4.post1", "0.5.14", "0.5.23"])
def test_a_server_with_defaults_alone_is_its_model(version: str) -> None:
    assert only(json.dumps(info(version)), None) == {"target": {"checkpoint": "org/m"}}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("models/big/target", True),
        ("./target", True),
        ("/models/target", False),
        ("org/m", False),
        ("gpt2", False),
    ],
)
def test_a_path_that_counts_from_the_servers_own_folder_is_told(path: str, told: bool) -> None:
    result, _ = imported(json.dumps(info() | {"model_path": path}), None)
    said = [note.text for note in result.notes if "the server was started in" in note.text]
    assert said == (["model_path is relative to the folder that the server was started in"] if told else [])


def test_a_version_that_is_not_known_is_kept() -> None:
    _, config = imported(json.dumps(info(version="0.5.14") | {"version": "0.0.0.dev1+g123"}), None)
    assert config.engine is not None
    assert config.engine.version == "0.0.0.dev1+g123"


def test_the_newer_path_is_asked_first_and_nothing_is_changed(
    serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    url, asked = serve(server_info=ok(info()))
    assert run(["import", url]) == 0
    assert "checkpoint: org/m" in capsys.readouterr().out
    assert asked == ["GET /server_info"]
    url, asked = serve(get_server_info=ok(info()))
    assert run(["import", f"{url}/"]) == 0
    assert asked == ["GET /server_info", "GET /get_server_info"]
    url, asked = serve(get_server_info=ok(info()))
    assert run(["import", f"{url}/get_server_info"]) == 0
    assert asked == ["GET /get_server_info"]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({}, "has no /server_info and no /get_server_info"),
        ({"server_info": status(401)}, "wants an API key"),
        ({"server_info": status(500)}, "status 500"),
        ({"server_info": status(302, Location="http://127.0.0.1:1/")}, "status 302"),
        ({"server_info": ok(b"<html>")}, "JSON is expected"),
        ({"server_info": ok([1])}, "names no model_path"),
        ({"server_info": ok({"model_path": 5})}, "names no model_path"),
        ({"server_info": ok(b"[" * 100_000)}, "JSON is expected"),
        ({"server_info": ok(b" " * (9 * 1024 * 1024))}, "longer than 8 MiB"),
        ({"server_info": ok(b"")}, "JSON is expected"),
    ],
)
def test_an_answer_of_no_use_is_said_in_a_line(
    answers: dict[str, Answer], says: str, serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    url, _ = serve(**answers)
    assert run(["import", url]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_server_that_answers_slowly_is_given_up(
    serve: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        for _ in range(40):
            request.wfile.write(b" ")
            request.wfile.flush()
            time.sleep(0.05)

    monkeypatch.setattr(server_info, "SECONDS", 0.3)
    url, _ = serve(server_info=drip)
    began = time.monotonic()
    assert run(["import", url]) == 2
    assert time.monotonic() - began < 1.5
    assert "no whole answer" in capsys.readouterr().err


def test_headers_that_drip_are_given_up_too(
    serve: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.flush_headers()
        for number in range(20):
            request.wfile.write(f"X-{number}: y\r\n".encode())
            request.wfile.flush()
            time.sleep(0.05)

    monkeypatch.setattr(server_info, "SECONDS", 0.3)
    url, _ = serve(server_info=drip)
    began = time.monotonic()
    assert run(["import", url]) == 2
    assert time.monotonic() - began < 0.9
    assert "no whole answer" in capsys.readouterr().err


def test_nothing_that_a_server_says_drives_the_terminal(
    serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def garbage(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"\x1b[31mHTTP \x1b]0;title\x07\r\n\r\n")

    hostile = "a\x1b[2Jb\x07"
    for answer in (
        garbage,
        ok({**info(), "served_model_name": hostile, "version": hostile}),
        ok({"model_path": hostile}),
    ):
        url, _ = serve(server_info=answer)
        run(["import", url])
        captured = capsys.readouterr()
        assert "\x1b" not in captured.err
        assert "\x07" not in captured.err
        assert "\x1b" not in captured.out


COMMAND = "python3 -m sglang.launch_server --model-path org/m --tp $TP"


def test_streams_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "docker run lmsysorg/sglang:v0.5.14 sglang serve org/m"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("# yaml-language-server: $schema=schemas/eaglecfg.schema.json\n")
    assert err == ""
    assert run(["import", COMMAND, "--engine-version", "0.5.14", "--schema", "https://host/s.json"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("# yaml-language-server: $schema=https://host/s.json\n# Imported")
    assert err == "the command: TODO: --tp-size is not known: TP\n"


def test_files_and_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "serve.sh"
    path.write_bytes(b"\xef\xbb\xbf# start\r\nsource x.sh\r\nsglang serve org/m \\\r\n --tp 2\r\n")
    assert run(["import", str(path), "--engine-version", "0.5.14"]) == 3
    out, err = capsys.readouterr()
    assert "tp_size: 2" in out
    assert f"# Imported by eaglecfg from {path}." in out
    assert f"{path}:2: TODO: x.sh is not read" in err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert run(["import", "-"]) == 3
    assert "tp_size: 2" in capsys.readouterr().out
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("sglang serve org/m"))
    writer.start()
    assert run(["import", str(pipe), "--engine-version", "0.5.14"]) == 0
    writer.join()


def test_a_file_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "eaglecfg.yaml"
    command = "sglang serve org/m"
    assert run(["import", command, "--engine-version", "0.5.14", "-o", str(path)]) == 0
    text = path.read_text()
    assert capsys.readouterr().out == ""
    assert "checkpoint: org/m" in text
    for other in (path, tmp_path / "link"):
        if other != path:
            other.symlink_to("nowhere")
        assert run(["import", command, "-o", str(other)]) == 2
        assert "is not overwritten" in capsys.readouterr().err
    assert path.read_text() == text
    assert run(["import", command, "-o", str(tmp_path / "no" / "x")]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "got nothing"),
        ("nowhere.sh", "there is no such file"),
        (".", "this is a folder"),
        ("http://", "http://host:port"),
        ("http://me:secret@host/", "http://host:port"),
        ("http://host:99999/", "http://host:port"),
        ("http://127.0.0.1:1", "no answer"),
        ("ls -l", "expected to launch a server"),
        ("x" * 100_000, "there is no such file"),
        ("\0", "there is no such file"),
    ],
)
def test_sources_that_are_none(source: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", source]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err


@pytest.mark.parametrize("raw", [b"\xff\xfes\0", b"\x80abc", b"x" * (1024 * 1024 + 1)])
def test_files_that_are_no_text(raw: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(raw)
    assert run(["import", str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
