"""Reading headers from a hub: a real server on the loopback interface, well-behaved and otherwise."""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.fault import FileFault
from eaglecfg.checkpoint.hubid import hub_access, hub_id
from eaglecfg.checkpoint.limits import FIRST_READ
from eaglecfg.checkpoint.load import read_checkpoint
from eaglecfg.checkpoint.online import fetch
from tests.checkpoint.files import CONFIG, entry, kinds, packed
from tests.checkpoint.hub_server import COMMIT, Handler, Hub, serving

TOKEN = "hf_aVeryPrivateToken"
D2T, T2D = struct.pack("<3q", 5, 6, 7), bytes([0, 1, 1, 0])
HEADER = {
    "fc.weight": entry("F32", [2, 2], 0, 16),
    "d2t": entry("I64", [3], 16, 40),
    "t2d": entry("BOOL", [4], 40, 44),
    "big.weight": entry("U8", [500_000], 44, 500_044),
}
DRAFT = packed(HEADER) + bytes(16) + D2T + T2D + bytes(500_000)


def target_files() -> dict[str, bytes]:
    """Four shards, of which two hold something that rules look at; the others are large."""
    tensors = {
        "model-1.safetensors": "model.embed_tokens.weight",
        "model-2.safetensors": "model.layers.0.mlp.up_proj.weight",
        "model-3.safetensors": "model.layers.1.mlp.up_proj.weight",
        "model-4.safetensors": "lm_head.weight",
    }
    files = {name: packed({tensor: entry("U8", [9], 0, 9)}, 9) for name, tensor in tensors.items()}
    weight_map = {tensor: name for name, tensor in tensors.items()}
    index = {"metadata": {"total_size": 36}, "weight_map": weight_map}
    return files | {
        "config.json": json.dumps(CONFIG).encode(),
        "model.safetensors.index.json": json.dumps(index).encode(),
        "README.md": b"a model",
    }


@pytest.fixture
def hub() -> Iterator[Hub]:
    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": DRAFT, "model.py": b"pass"}
    with serving(Hub(files)) as served:
        yield served


def read(
    hub: Hub,
    folder: Path,
    spelled: str = "lab/model",
    *,
    role: Literal["target", "draft"] = "draft",
    deep: bool = False,
    **environment: str,
) -> CheckpointFacts:
    settings = {"HOME": str(folder / "home"), "HF_ENDPOINT": hub.address, **environment}
    access = hub_access(settings, online=True)
    (folder / "config").mkdir(exist_ok=True)
    return read_checkpoint(folder / "config", spelled, role=role, deep=deep, hub=lambda: access)


def only_problem(facts: CheckpointFacts) -> str:
    """The message and help of what keeps the checkpoint from being read."""
    assert kinds(facts) == ["not-local"]
    problem = facts.problems[0]
    assert problem.incomplete
    assert facts.config is None
    said = f"{problem.message} {problem.help}"
    assert said.isprintable()
    return said


def test_facts_are_those_of_the_files(hub: Hub, tmp_path: Path) -> None:
    facts = read(hub, tmp_path)
    assert facts.problems == ()
    assert facts.config is not None
    assert facts.config.raw == CONFIG
    assert facts.names == HEADER.keys()
    assert facts.vocabulary.d2t == (5, 6, 7)
    assert facts.vocabulary.t2d == T2D
    assert facts.hub is not None
    assert facts.hub.commit == COMMIT
    assert facts.tensors["fc.weight"].file == "lab/model/model.safetensors"


def test_only_headers_and_maps_are_fetched(hub: Hub, tmp_path: Path) -> None:
    read(hub, tmp_path)
    sent = sum(asked.sent for asked in hub.asked)
    assert sent < FIRST_READ + 5000 < len(DRAFT)
    assert not any("model.py" in path for path in hub.paths)


def test_a_long_header_takes_a_second_request(hub: Hub, tmp_path: Path) -> None:
    names = [f"{'x' * 60}.{number}" for number in range(3000)]
    header = {name: entry("U8", [1], at, at + 1) for at, name in enumerate(names)}
    hub.files["model.safetensors"] = packed(header, 3000)
    facts = read(hub, tmp_path)
    assert facts.problems == ()
    assert len(facts.tensors) == 3000
    ranges = [asked.headers["range"] for asked in hub.asked if "range" in asked.headers]
    assert len(ranges) == 2


def test_of_a_target_only_wanted_shards_are_fetched(hub: Hub, tmp_path: Path) -> None:
    hub.files = target_files()
    facts = read(hub, tmp_path, role="target")
    assert facts.problems == ()
    assert facts.tensors.keys() == {"model.embed_tokens.weight", "lm_head.weight"}
    assert facts.names is not None
    assert len(facts.names) == 4
    fetched = {path.rpartition("/")[2] for path in hub.paths if path.endswith(".safetensors")}
    assert fetched == {"model-1.safetensors", "model-4.safetensors"}
    deep = read(hub, tmp_path, role="target", deep=True)
    assert deep.problems == ()
    assert len(deep.tensors) == 4


def test_a_shard_that_the_hub_lacks_is_a_fault_of_the_model(hub: Hub, tmp_path: Path) -> None:
    hub.files = target_files()
    del hub.files["model-3.safetensors"]
    assert kinds(read(hub, tmp_path, role="target")) == ["missing-shard"]


def test_a_hub_that_lists_no_sizes(hub: Hub, tmp_path: Path) -> None:
    hub.files, hub.sizes_listed = target_files(), False
    facts = read(hub, tmp_path, role="target")
    assert facts.problems == ()
    assert facts.tensors.keys() == {"model.embed_tokens.weight", "lm_head.weight"}


def test_a_second_look_asks_only_whether_the_branch_moved(hub: Hub, tmp_path: Path) -> None:
    first = read(hub, tmp_path)
    hub.asked.clear()
    assert read(hub, tmp_path) == first
    assert [(asked.status, asked.sent) for asked in hub.asked] == [(304, 0)]


def test_a_commit_is_asked_for_once(hub: Hub, tmp_path: Path) -> None:
    first = read(hub, tmp_path, f"lab/model@{COMMIT}")
    assert first.problems == ()
    hub.asked.clear()
    assert read(hub, tmp_path, f"lab/model@{COMMIT}") == first
    assert hub.asked == []


def test_a_branch_that_moves_is_followed_and_same_files_are_kept(hub: Hub, tmp_path: Path) -> None:
    read(hub, tmp_path)
    hub.asked.clear()
    hub.revisions["main"] = COMMIT[::-1]
    hub.files["config.json"] = b'{"hidden_size": 99}'
    facts = read(hub, tmp_path)
    assert facts.config is not None
    assert facts.config.raw == {"hidden_size": 99}
    assert facts.hub is not None
    assert facts.hub.commit == COMMIT[::-1]
    assert [path.rpartition("/")[2].partition("?")[0] for path in hub.paths] == ["main", "config.json"]


def test_a_commit_in_the_hub_cache_needs_no_hub(hub: Hub, tmp_path: Path) -> None:
    snapshot = tmp_path / "home/.cache/huggingface/hub/models--lab--model/snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for name, content in hub.files.items():
        (snapshot / name).write_bytes(content)
    assert read(hub, tmp_path, f"lab/model@{COMMIT}").problems == ()
    assert hub.asked == []
    (snapshot / "model.safetensors").unlink()
    assert read(hub, tmp_path, f"lab/model@{COMMIT}").problems == ()
    assert hub.asked != []


def test_pickled_weights_are_left_to_a_download(hub: Hub, tmp_path: Path) -> None:
    del hub.files["model.safetensors"]
    hub.files["pytorch_model.bin"] = b"PK"
    facts = read(hub, tmp_path)
    assert kinds(facts) == ["not-supported"]
    assert "pytorch_model.bin" in facts.problems[0].message
    assert facts.config is not None


def test_the_token_goes_to_the_hub_and_not_to_where_it_sends_on(hub: Hub, tmp_path: Path) -> None:
    hub.token = TOKEN
    with serving(Hub(hub.files)) as storage:
        hub.storage = storage.address
        assert read(hub, tmp_path, HF_TOKEN=TOKEN).problems == ()
        assert storage.asked != []
        assert all("authorization" not in asked.headers for asked in storage.asked)
    assert all(asked.headers["authorization"] == f"Bearer {TOKEN}" for asked in hub.asked)


def test_the_token_of_a_login_is_used(hub: Hub, tmp_path: Path) -> None:
    hub.token = TOKEN
    path = tmp_path / "home/.cache/huggingface/token"
    path.parent.mkdir(parents=True)
    path.write_text(f"{TOKEN}\n")
    assert read(hub, tmp_path).problems == ()
    other, fresh = tmp_path / "other", tmp_path / "fresh"
    other.mkdir()
    fresh.mkdir()
    assert read(hub, other, HF_TOKEN_PATH=str(path)).problems == ()
    said = only_problem(read(hub, fresh, HF_TOKEN_PATH=str(path), HF_HUB_DISABLE_IMPLICIT_TOKEN="1"))
    assert "status 401" in said


def test_missing_credentials_say_what_to_set(hub: Hub, tmp_path: Path) -> None:
    hub.token = TOKEN
    said = only_problem(read(hub, tmp_path))
    assert "refuses access (status 401)" in said
    assert "HF_TOKEN" in said


@pytest.mark.parametrize("wrong", ["hf_wrongSecret", "hf_two\nlines", "hf_\x00", "hf_é", "hf with space"])
def test_no_credential_is_ever_shown(wrong: str, hub: Hub, tmp_path: Path) -> None:
    hub.token = TOKEN
    said = only_problem(read(hub, tmp_path, HF_TOKEN=wrong))
    assert "status 401" in said
    assert "hf_" not in said


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path) -> None:
    from eaglecfg.checkpoint.web import Web

    assert Web({"HF_ENDPOINT": "http://hub.example", "HF_TOKEN": TOKEN}).token == ""
    assert Web({"HF_ENDPOINT": "https://hub.example", "HF_TOKEN": TOKEN}).token == TOKEN


@pytest.mark.parametrize(
    ("spelled", "status"), [("lab/other", 404), ("lab/model@v9", 404), (f"lab/model@{'0' * 40}", 404)]
)
def test_what_the_hub_lacks(spelled: str, status: int, hub: Hub, tmp_path: Path) -> None:
    assert f"status {status}" in only_problem(read(hub, tmp_path, spelled))


def misbehaves(how: str, on: str) -> Any:
    """An answer to requests whose path contains ``on``."""

    def answer(handler: Handler, path: str) -> bool:
        if on not in path:
            return False
        body, status, headers = b"x" * 1000, 200, {}
        if how.isdecimal():
            status = int(how)
        elif how == "whole file":
            body = DRAFT
        elif how == "no range":
            status = 206
        elif how == "other range":
            status, headers = 206, {"Content-Range": "bytes 5-1004/5000"}
        elif how == "long range":
            status, body = 206, b"x" * (FIRST_READ + 5)
            headers = {"Content-Range": f"bytes 0-{FIRST_READ - 1}/{FIRST_READ + 5}"}
            headers["Content-Length"] = str(FIRST_READ + 5)
        elif how == "huge":
            status, headers = 206, {"Content-Range": f"bytes 0-999/{2**62}"}
        elif how == "loop":
            status, headers = 302, {"Location": handler.path}
        elif how == "file address":
            status, headers = 302, {"Location": "file:///etc/passwd"}
        elif how == "gzip":
            headers = {"Content-Encoding": "gzip"}
        elif how == "cut":
            headers = {"Content-Length": "2000"}
        elif how == "no http":
            handler.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")
            return True
        elif how == "silent":
            return True
        elif how == "no json":
            body = b"<html>"
        elif how == "wrong json":
            body = b'{"sha": "main", "siblings": 5}'
        elif how == "deep json":
            body = b'{"sha":' + b"[" * 100_000
        handler.answer(status, body, headers)
        return True

    return answer


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("whole file", "status 200, the whole file"),
        ("no range", "without saying which"),
        ("other range", "another range"),
        ("long range", "more than the"),
        ("huge", "a size of"),
        ("loop", "sends on and on"),
        ("file address", "status 302"),
        ("gzip", "status 200"),
        ("500", "status 500"),
        ("403", "refuses access"),
        ("429", "fewer requests"),
        ("no http", "no HTTP answer"),
        ("silent", "no HTTP answer"),
    ],
)
def test_hubs_that_misbehave_about_weights(how: str, says: str, hub: Hub, tmp_path: Path) -> None:
    hub.misbehave = misbehaves(how, "model.safetensors")
    assert says in only_problem(read(hub, tmp_path))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("no json", "not JSON"),
        ("wrong json", "without a commit"),
        ("deep json", "nested too deeply"),
        ("gzip", "encoding"),
        ("cut", "dropped the connection"),
        ("503", "status 503"),
    ],
)
def test_hubs_that_misbehave_about_the_model(how: str, says: str, hub: Hub, tmp_path: Path) -> None:
    hub.misbehave = misbehaves(how, "/api/")
    assert says in only_problem(read(hub, tmp_path))


def test_names_that_lead_out_of_the_folder_are_left_out(hub: Hub, tmp_path: Path) -> None:
    for name in ("../../../../evil.json", "/evil.json", "a/evil.json", "evil\n.json", "..", "a\\evil"):
        hub.files[name] = b"{}"
    assert read(hub, tmp_path).problems == ()
    assert not list(tmp_path.rglob("*evil*"))


def test_one_failure_in_passing_is_tried_again(hub: Hub, tmp_path: Path) -> None:
    failed: list[str] = []

    def once(handler: Handler, path: str) -> bool:
        if failed:
            return False
        failed.append(path)
        handler.answer(503, b"")
        return True

    hub.misbehave = once
    assert read(hub, tmp_path).problems == ()


def test_a_hub_that_drips_is_given_up(hub: Hub, tmp_path: Path) -> None:
    def drip(handler: Handler, path: str) -> bool:
        handler.drip(20)
        return True

    hub.misbehave = drip
    model = hub_id("lab/model")
    assert model is not None
    access = hub_access({"HOME": str(tmp_path), "HF_ENDPOINT": hub.address}, online=True)
    started = time.monotonic()
    with pytest.raises(FileFault) as fault:
        fetch(model, "lab/model", access, everything=True, seconds=0.3)
    assert time.monotonic() - started < 5
    assert "took" in fault.value.problem.message


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    said = only_problem(read(Hub(address=f"http://127.0.0.1:{port}"), tmp_path))
    assert "connection refused" in said
    assert "127.0.0.1" in said


@pytest.mark.parametrize(
    "address", ["ftp://hub", "hub", "https://user:secret@hub", "https://", "file:///etc"]
)
def test_an_address_that_cannot_be_one(address: str, tmp_path: Path) -> None:
    said = only_problem(read(Hub(address=address), tmp_path))
    assert "HF_ENDPOINT" in said
    assert "secret" not in said


def test_switches_of_the_hub_library_hold(hub: Hub, tmp_path: Path) -> None:
    assert "HF_HUB_OFFLINE" in only_problem(read(hub, tmp_path, HF_HUB_OFFLINE="1"))
    assert hub.asked == []


def test_a_cache_that_cannot_be_written(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    said = only_problem(read(hub, tmp_path, XDG_CACHE_HOME=str(tmp_path / "taken"), HF_HOME="/nowhere"))
    assert "XDG_CACHE_HOME" in said
    assert "XDG_CACHE_HOME" in only_problem(read(hub, tmp_path, HOME="", HF_HOME="/nowhere"))


def test_what_somebody_put_into_our_cache_is_not_followed(hub: Hub, tmp_path: Path) -> None:
    read(hub, tmp_path)
    repo = next((tmp_path / "home/.cache/eaglecfg/hub").glob("*/models--lab--model"))
    link = repo / "snapshots" / COMMIT / "config.json"
    link.unlink()
    link.symlink_to("/etc/hostname")
    facts = read(hub, tmp_path)
    assert kinds(facts) == ["hub-link"]
    link.unlink()
    for kept in (repo / "listings").iterdir():
        kept.write_text('["x", 5]')
    for blob in (repo / "blobs").iterdir():
        blob.unlink()
        os.mkfifo(blob)
    assert read(hub, tmp_path).problems == ()


def test_what_the_hubs_own_library_downloads_is_read(hub: Hub, tmp_path: Path) -> None:
    """Its client takes our server for a hub, and we take its cache for one."""
    library = pytest.importorskip("huggingface_hub")
    cache = tmp_path / "home/.cache/huggingface/hub"
    for name in hub.files:
        library.hf_hub_download("lab/model", name, endpoint=hub.address, cache_dir=cache, token=False)
    hub.asked.clear()
    environment = {"HOME": str(tmp_path / "home")}
    facts = read_checkpoint(tmp_path, "lab/model", role="draft", hub=lambda: hub_access(environment))
    assert facts.problems == ()
    assert facts.hub is not None
    assert facts.hub.commit == COMMIT
    assert facts.vocabulary.d2t == (5, 6, 7)
    assert (cache / "models--lab--model/snapshots" / COMMIT / "config.json").is_symlink()
    fetched = read(hub, tmp_path / "home", role="draft")
    assert (fetched.names, fetched.vocabulary) == (facts.names, facts.vocabulary)
