"""Whatever a server does, a live check ends in time, with a sentence, and gives no secret away."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from live_servers import Answer, Handler, generation, info, scripted

from eaglecfg.cli.main import run
from eaglecfg.errors import UsageError
from eaglecfg.live.http import parse_address
from eaglecfg.rules.examples import BASE_SERVER

GOOD = info(**BASE_SERVER, version="0.5.14")
RunLine = Callable[..., tuple[int, str, str]]


@pytest.fixture
def live(config: Path, capsys: pytest.CaptureFixture[str]) -> RunLine:
    """Check against a URL: exit code, stdout, stderr."""

    def _run(url: str, *options: str) -> tuple[int, str, str]:
        code = run(["validate", "--live", url, *options])
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err

    return _run


def deep(handler: Handler) -> None:
    handler.send(200, b"[" * 200_000)


def huge(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 40))
    handler.end_headers()
    for _ in range(400):
        handler.wfile.write(b"x" * 65536)


def cut(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"{")
    handler.close_connection = True


def vanish(handler: Handler) -> None:
    """As a server that is killed while it answers."""
    handler.close_connection = True


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda h: h.send(401, b""), "wants a key (HTTP 401)"),
        (lambda h: h.send(403, b""), "--live-key"),
        (lambda h: h.send(503, b""), "not ready (HTTP 503)"),
        (lambda h: h.send(500, b"boom"), "answers with HTTP 500"),
        (lambda h: h.send(302, b"", Location="http://example.org/"), "sends us somewhere else (HTTP 302)"),
        (
            lambda h: h.send(200, b"<html>hello</html>", "text/html"),
            "something else than a server's settings",
        ),
        (lambda h: h.send(200, b"[]"), "something else than a server's settings"),
        (lambda h: h.send(200, b'{"a": 1}'), "something else than a server's settings"),
        (lambda h: h.send(200, b"\xff\xfe"), "something else than a server's settings"),
        (deep, "something else than a server's settings"),
        (huge, "answers with more than 8 MiB"),
        (cut, "does not say what it runs"),
        (vanish, "closed the connection without a whole answer"),
    ],
)
def test_an_answer_that_is_none_is_incomplete(answer: Answer, words: str, live: RunLine) -> None:
    with scripted({"/server_info": answer}) as server:
        code, out, _ = live(server.url)
    assert code == 3
    assert "warning[EC851 live-unanswered]" in out
    assert words in out


def test_nothing_listens(live: RunLine) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        code, out, _ = live(f"http://127.0.0.1:{probe.getsockname()[1]}")
    assert code == 3
    assert "connection refused" in out


def test_a_name_that_nobody_has(live: RunLine) -> None:
    assert live("http://nowhere.invalid:1")[0] == 3


@pytest.mark.parametrize(
    "first", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"]
)
def test_who_sends_a_byte_now_and_then_does_not_outwait_the_check(first: bytes, live: RunLine) -> None:
    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.sendall(first)
                while True:
                    connection.sendall(b"a")
                    time.sleep(0.05)
            except OSError:
                return

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        threading.Thread(target=drip, args=(listener,), daemon=True).start()
        begun = time.monotonic()
        code, out, _ = live(f"http://127.0.0.1:{listener.getsockname()[1]}", "--live-seconds", "0.3")
    assert code == 3
    assert "time for this check is over" in out or "speak HTTP" in out
    assert time.monotonic() - begun < 3


def test_generations_that_take_too_long_are_failures(live: RunLine) -> None:
    def slow(handler: Handler) -> None:
        time.sleep(1)

    with scripted({"/server_info": GOOD, "/generate": slow}) as server:
        begun = time.monotonic()
        code, out, _ = live(server.url, "--live-seconds", "0.3")
        assert time.monotonic() - begun < 1.5
    assert code == 1
    assert "EC857" in out


def test_the_key_is_sent_and_never_shown(live: RunLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_KEY", "open-sesame")

    def guarded(handler: Handler) -> None:
        if handler.headers.get("Authorization") == "Bearer open-sesame":
            info(**BASE_SERVER, version="0.5.14", api_key="open-sesame", hf_token="hf_x")(handler)
        else:
            handler.send(401, b"open-sesame")

    with scripted({"/server_info": guarded, "/generate": generation()}) as server:
        code, out, err = live(server.url, "--live-key", "SERVER_KEY", "--verbose")
        assert code == 0
        assert "open-sesame" not in out + err
        assert live(server.url)[0] == 3
        monkeypatch.setenv("SERVER_KEY", "close-sesame")
        code, out, err = live(server.url, "--live-key", "SERVER_KEY")
        assert code == 3
        assert "refuses the key that was sent (HTTP 401)" in out
        assert "sesame" not in out + err
    monkeypatch.setenv("SERVER_KEY", "two\nlines")
    code, out, err = live("http://127.0.0.1:1", "--live-key", "SERVER_KEY")
    assert code == 2
    assert "two" not in out + err
    monkeypatch.delenv("SERVER_KEY")
    code, _, err = live("http://127.0.0.1:1", "--live-key", "SERVER_KEY")
    assert code == 2
    assert "SERVER_KEY, which is not set" in err


def test_nothing_but_reading_and_generating_is_asked(live: RunLine) -> None:
    with scripted({"/server_info": GOOD, "/generate": generation()}) as server:
        live(server.url)
        assert {(method, path) for method, path, _ in server.seen} == {
            ("GET", "/server_info"),
            ("POST", "/generate"),
        }
        assert len(server.seen) == 25


@pytest.mark.parametrize(
    "url",
    ["", "ftp://host", "http://", "http://user:secret@host", "http://host:99999", "http://host:x", "http://h/?a=b",
     "http://h/#x", "http://[::1", "http://h\n/x", "http://ü.example", "http://a b/"],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("127.0.0.1:30000", "http://127.0.0.1:30000"),
        ("https://host", "https://host:443"),
        ("http://host/a/", "http://host:80/a"),
        ("http://[::1]:5", "http://[::1]:5"),
    ],
)
def test_addresses(url: str, shown: str) -> None:
    assert str(parse_address(url)) == shown


def test_one_server_is_compared_with_one_deployment(
    live: RunLine, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = config.read_text(encoding="utf-8")
    config.write_text(text + "  more:\n" + text.split("  chat:\n")[1], encoding="utf-8")
    code, _, err = live("http://127.0.0.1:1")
    assert code == 2
    assert "name the one that it runs with -d (chat, more)" in err
    assert live("http://127.0.0.1:1", "-d", "chat")[0] == 3
    assert run(["validate", "--live-requests", "3"]) == 2
    assert "give --live URL" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "no json\n", "[]\n", '{"input_ids": []}\n', '{"x": 1}\n', "\x00", '{"messages": []}\n']
)
def test_a_file_of_prompts_that_is_none(text: str, live: RunLine, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(text, encoding="utf-8")
    with scripted({"/server_info": GOOD, "/generate": generation()}) as server:
        code, _, err = live(server.url, "--live-prompts", str(tmp_path / "p.jsonl"))
        assert code == 2
        assert "p.jsonl" in err or "messages" in err
        assert live(server.url, "--live-prompts", str(tmp_path / "gone.jsonl"))[0] == 2


@pytest.mark.parametrize(
    "meta",
    [
        {"spec_verify_ct": "many"},
        {"spec_verify_ct": -1},
        {"spec_verify_ct": 10**400},
        {"spec_num_correct_drafts": float("nan")},
        {"spec_num_correct_drafts": -5},
        {"spec_num_correct_drafts": 10**400},
        {"spec_correct_drafts_histogram": 7},
        {"spec_correct_drafts_histogram": ["a"]},
        {"completion_tokens": "x", "spec_num_correct_drafts": None},
        {"spec_num_correct_drafts": None, "spec_accept_rate": "x"},
    ],
)
def test_counters_that_no_server_has_crash_nothing(meta: dict[str, object], live: RunLine) -> None:
    with scripted({"/server_info": GOOD, "/generate": generation(**meta)}) as server:
        code, out, err = live(server.url)
    assert code in (0, 1)
    assert "internal error" not in out + err


@pytest.mark.parametrize("value", [None, [], {}, "x", 10**400, {"a": {"b": [1]}}, True, -1])
def test_settings_of_any_type_crash_nothing(value: object, live: RunLine) -> None:
    names = [*BASE_SERVER, "version", "reference", "skip_tokenizer_init", "attention_backend", "\x1b[31m"]
    for name in names:
        settings = {**BASE_SERVER, "version": "0.5.14", name: value}
        with scripted({"/server_info": info(**settings)}) as server:
            code, out, err = live(server.url, "--live-requests", "0")
        assert code in (0, 1, 3), (name, out)
        assert "internal error" not in out + err
        assert "\x1b" not in out + err


def test_what_a_server_says_does_not_drive_the_terminal(live: RunLine) -> None:
    version = "0.5.14\x1b]0;owned\x07\x1b[2J"
    with scripted(
        {"/server_info": info(**BASE_SERVER, version=version), "/generate": generation()}
    ) as server:
        _, out, err = live(server.url, "--live-requests", "1")
    assert not set("\x1b\x07") & set(out + err)
    assert "0.5.14\\x1b]0;owned\\x07" in err
    assert "over 1 prompt of eaglecfg's own" in err


@pytest.mark.parametrize("key", ["sk-abc", "ABCDEF123", "my-key", "AKIAABCDEFGHIJKLMNOP", ""])
def test_a_key_given_for_its_variable_is_not_repeated(key: str, live: RunLine) -> None:
    code, out, err = live("http://127.0.0.1:1", "--live-key", key)
    assert code == 2
    assert "takes the name of an environment variable" in err
    assert not key or key not in out + err


def test_a_variable_that_is_not_set_is_named(live: RunLine) -> None:
    assert "SGLANG_API_KEY, which is not set" in live("http://127.0.0.1:1", "--live-key", "SGLANG_API_KEY")[2]


def test_one_name_in_two_files_is_told_apart_by_file(config: Path, live: RunLine) -> None:
    (config.parent / "other.yaml").write_text(config.read_text())
    err = live("http://127.0.0.1:1", config.name, "other.yaml")[2]
    assert "name one file" in err
    assert "of other.yaml" in err
