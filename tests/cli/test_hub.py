"""Hub ids on the command line: offline unless asked, and the same verdict wherever the files lie."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eaglecfg.engines.arguments import arguments
from eaglecfg.rules.examples import materialize
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import parse_document
from tests.checkpoint.hub_server import COMMIT, Hub, serving

from .conftest import RunLine

VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "HF_ENDPOINT", "HF_TOKEN", "XDG_CACHE_HOME")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config whose draft is ``lab/model``; the draft's files lie in ``draft``, and there is a home."""
    materialize({"deployment": {"draft": {"checkpoint": "lab/model"}}}, tmp_path)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def hub(pair: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    files = {path.name: path.read_bytes() for path in (pair / "draft").iterdir()}
    with serving(Hub(files)) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.address)
        yield served


def cached(folder: Path) -> None:
    """Move the draft's files into the hub cache of the home below ``folder``."""
    repo = folder / "home/.cache/huggingface/hub/models--lab--model"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs/main").write_text(COMMIT)
    shutil.copytree(folder / "draft", repo / "snapshots" / COMMIT)


def draft(folder: Path, **keys: str) -> None:
    """Change what the config says about the draft."""
    path = folder / "eaglecfg.yaml"
    config = yaml.safe_load(path.read_text())
    config["deployments"]["chat"]["draft"] = keys
    path.write_text(yaml.safe_dump(config))


def report(out: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(out)
    return parsed


def about_files(out: str) -> list[str]:
    """Ids of the rules about files that have findings."""
    return [found["rule"] for found in report(out)["findings"] if found["rule"].startswith("EC8")]


def test_no_socket_is_opened_unless_asked(
    run_line: RunLine, pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    code, out, err = run_line("validate")
    assert (code, err) == (3, "")
    assert "the hub cache does not have it" in " ".join(out.split())
    assert "--online" in out
    cached(pair)
    assert run_line("validate")[0] == 0
    assert run_line("trace")[0] == 0


def test_the_cache_gives_the_verdict_of_the_files(run_line: RunLine, pair: Path) -> None:
    cached(pair)
    code, out, _ = run_line("validate", "--format", "json")
    assert code == 0
    assert about_files(out) == ["EC811"]
    assert COMMIT in out
    by_id = report(out)
    draft(pair, checkpoint="draft")
    _, out, _ = run_line("validate", "--format", "json")
    assert about_files(out) == []
    assert len(report(out)["findings"]) == len(by_id["findings"]) - 1
    assert report(out)["summary"]["not_checked"] == by_id["summary"]["not_checked"]


def test_online_reads_headers_and_gives_the_same_verdict(run_line: RunLine, pair: Path, hub: Hub) -> None:
    code, out, err = run_line("validate", "--online", "--format", "json")
    assert (code, err) == (0, "")
    assert about_files(out) == ["EC811"]
    assert hub.asked != []
    hub.asked.clear()
    draft(pair, checkpoint=f"lab/model@{COMMIT}")
    code, out, _ = run_line("validate", "--online", "--format", "json")
    assert (code, about_files(out)) == (0, [])


def test_a_wrong_draft_on_the_hub_is_found(run_line: RunLine, pair: Path, hub: Hub) -> None:
    config = json.loads(hub.files["config.json"])
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [1, 5, 8]
    hub.files["config.json"] = json.dumps(config).encode()
    code, out, _ = run_line("validate", "--online", "--format", "json")
    assert code == 1
    assert "error" in {found["severity"] for found in report(out)["findings"]}


def test_a_hub_without_access_is_incomplete(
    run_line: RunLine, pair: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.token = "hf_right"
    monkeypatch.setenv("HF_TOKEN", "hf_wrongToken")
    code, out, err = run_line("validate", "--online")
    assert (code, err) == (3, "")
    assert "status 401" in out
    assert "hf_" not in out


def test_two_revisions_are_an_error(run_line: RunLine, pair: Path) -> None:
    cached(pair)
    draft(pair, checkpoint="lab/model@v1", revision="main")
    code, out, _ = run_line("validate", "--format", "json")
    assert code == 1
    errors = [found["rule"] for found in report(out)["findings"] if found["severity"] == "error"]
    assert errors == ["EC815"]
    draft(pair, checkpoint="lab/model@main", revision="main")
    assert run_line("validate")[0] == 0


@pytest.mark.parametrize(
    ("checkpoint", "revision", "path", "given"),
    [
        ("lab/model@v1", "", "lab/model", "v1"),
        ("lab/model@v1", "main", "lab/model", "main"),
        ("lab/model", "", "lab/model", None),
        ("./lab/model@v1", "", "./lab/model@v1", None),
    ],
)
def test_the_engine_gets_the_revision_apart(
    checkpoint: str, revision: str, path: str, given: str | None
) -> None:
    key = f", revision: {revision}" if revision else ""
    text = f"version: 1\ndeployments: {{a: {{target: {{checkpoint: {checkpoint}{key}}}}}}}\n"
    config = load_config(parse_document(text, "eaglecfg.yaml", "."))
    flags = arguments(config.deployments[0].model)
    assert flags["model_path"].value == path
    assert (flags["revision"].value if "revision" in flags else None) == given


def test_an_ordinary_check_loads_nothing_of_it(good: Path) -> None:
    code = (
        "import sys; from eaglecfg.cli.main import run; code = run(['validate']); "
        "names = {'urllib.request', 'ssl', 'http.client', 'eaglecfg.checkpoint.hubid', "
        "'eaglecfg.checkpoint.online', 'huggingface_hub'}; sys.exit(code or len(names & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=good, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
