"""The live check against real processes: the reference decoder, wired rightly or not, and the stand-in."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from live_servers import ROOT, Process

from eaglecfg.cli.main import run

PAIR = ROOT / "examples" / "tiny"
SHAPE = (
    *("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "2", "--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "3", "--max-running-requests", "16"),
)
MEASURED = 2.46
"""Accept length of the tiny pair with two steps, as the study on an H200 and on a CPU has it."""


def reference(target: Path, draft: Path) -> Process:
    models = ("--model-path", str(target), "--speculative-draft-model-path", str(draft))
    return Process("eaglecfg.reference.serve", *models, *SHAPE)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config of the trained pair, and beside it the same draft with other capture ids in its config."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "target").symlink_to(PAIR / "target")
    shutil.copytree(PAIR / "draft", folder / "draft")
    shutil.copytree(PAIR / "draft", folder / "moved" / "draft")
    path = folder / "moved" / "draft" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [4, 5, 6]
    path.write_text(json.dumps(config), encoding="utf-8")
    (folder / "eaglecfg.yaml").write_text(
        "version: 1\n"
        "engine: {name: sglang, version: 0.5.14}\n"
        "deployments:\n"
        "  tiny:\n"
        "    target: {checkpoint: target}\n"
        "    draft: {checkpoint: draft}\n"
        "    speculative: {algorithm: EAGLE3, num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}\n"
        "    server: {max_running_requests: 16}\n"
        f"    expected_accept_length: {MEASURED}\n",
        encoding="utf-8",
    )
    return folder


@pytest.fixture(scope="module")
def servers(pair: Path) -> Iterator[tuple[Process, Process]]:
    """The reference decoder on both drafts, started together."""
    both = reference(pair / "target", pair / "draft"), reference(pair / "target", pair / "moved" / "draft")
    try:
        for each in both:
            each.wait()
        yield both
    finally:
        for each in both:
            each.stop()


class Checks:
    """What the check of each server printed: exit code, stderr and stdout. Asked once: it takes seconds."""

    def __init__(self, folder: Path, right: Process, wrong: Process) -> None:
        with ThreadPoolExecutor(2) as pool:  # each waits for its server, and they do not share a thing
            self.right, self.wrong = pool.map(lambda server: self._run(folder, server), (right, wrong))

    def _run(self, folder: Path, server: Process) -> tuple[int, str]:
        command = [
            sys.executable,
            "-m",
            "eaglecfg",
            "validate",
            "-d",
            "tiny",
            "--live",
            server.url,
            "--quiet",
        ]
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stderr + done.stdout


@pytest.fixture(scope="module")
def checks(pair: Path, servers: tuple[Process, Process]) -> Checks:
    shutil.copytree(ROOT / "studies", pair / "studies")
    (pair / "examples" / "tiny").mkdir(parents=True)
    shutil.copy(PAIR / "prompts.jsonl", pair / "examples" / "tiny")
    return Checks(pair, *servers)


def test_a_server_of_the_config_passes_without_a_finding(checks: Checks) -> None:
    code, told = checks.right
    assert code == 0
    assert "version 0.5.14 · speculation EAGLE3 · accept length 2.4" in told
    assert "over 24 prompts of studies/quickstart.yaml" in told
    assert "[EC8" not in told


def test_a_server_with_other_ids_than_its_config_is_caught(checks: Checks) -> None:
    code, told = checks.wrong
    said = " ".join(told.split())
    assert code == 1
    assert set(re.findall(r"\[(EC\d+)", told)) == {"EC853", "EC856", "EC858"}
    assert "captures boundaries [5, 6, 7], the draft was trained on [2, 4, 6]" in said
    assert "silent loss" in said
    assert "whose config.json differs from that of draft.checkpoint draft in eagle_config" in said


def test_the_stand_in_is_checked_like_any_server(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from eaglecfg.tune.standin.model import expected_accept_length

    models = ("--model-path", "target", "--speculative-draft-model-path", "draft")
    server = Process("eaglecfg.tune.standin", *models, *SHAPE, "--time-scale", "0")
    path = pair / "standin.yaml"
    text = (pair / "eaglecfg.yaml").read_text(encoding="utf-8")
    try:
        server.wait()
        for expected, rules in ((expected_accept_length(2), set()), (2.9, {"EC858"})):
            path.write_text(text.replace(str(MEASURED), f"{expected:.3f}"), encoding="utf-8")
            code = run(["validate", str(path), "--live", server.url, "--format", "json"])
            report = json.loads(capsys.readouterr().out)
            assert {each["rule"] for each in report["findings"]} == rules
            assert code == bool(rules)
    finally:
        server.stop()
