"""No command shows a secret of a config, in any format, on any stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.source.read import parse_document
from eaglecfg.source.secret_places import line_without, secrets_of

CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  d:
    target: {checkpoint: "https://me:hunter2pw@host.example/model"}
    draft: {checkpoint: nowhere}
    speculative: {algorithm: EAGLE3, num_steps: 2, eagle_topk: 1, num_draft_tokens: eight}
    server: {api_key: hunter2 with space, no_such_flag: 3, admin_api_key: 42424242}
    env: {HF_TOKEN: hunter2a, NCCL_PROT0: x, DB_PWD: hunter2b, UP: "u:hunter2c@h:1"}
    parallel: {tp_size: eight, api_key: hunter2d}
    nccl:
      auth_cookie: >
        hunter2e
        hunter2f
    api_key: [hunter2g, &a hunter2h]
    password: {a: *a}
"""
FORMATS = ["text", "concise", "json", "sarif", "github", "gitlab", "markdown"]
COMMANDS = [
    *(["validate", "--format", form] for form in FORMATS),
    ["validate", "--verbose"],
    ["validate", "--engine-version", "0.5.12,0.5.14"],
    ["validate", "--engine-version", "0.5.12,0.5.14", "--format", "json"],
    ["trace"],
    ["trace", "--format", "json"],
]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "eaglecfg.yaml"
    path.write_text(CONFIG)
    return path


def refuse_secrets(text: str) -> None:
    assert "hunter" not in text
    assert "42424242" not in text


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_report_shows_a_secret(
    command: list[str], config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*command, config.name])
    out, err = capsys.readouterr()
    assert "d" in out + err
    refuse_secrets(out + err)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_comparison_tells_that_secrets_differ_and_not_how(
    form: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.yaml").write_text(CONFIG.replace("hunter2", "hunter3").replace("42424242", "42424243"))
    run(["diff", "--format", form, config.name, "other.yaml"])
    out, err = capsys.readouterr()
    assert "HF_TOKEN" in out
    refuse_secrets((out + err).replace("42424243", "42424242"))


@pytest.mark.parametrize("form", ["shell", "env", "compose", "kubernetes"])
def test_no_launch_holds_a_secret(form: str, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(
        "version: 1\nengine: {name: sglang, version: 0.5.14}\ndeployments:\n  d:\n"
        "    target: {checkpoint: /m}\n    server: {api_key: hunter2}\n"
        "    env: {DB_PWD: hunter2b, WANDB_KEY: hunter2c, UP: 'u:hunter2d@h:1'}\n"
    )
    run(["render", "--force", "--as", form, config.name])
    out, err = capsys.readouterr()
    assert "DB_PWD" in out
    refuse_secrets(out + err)


def test_no_secret_of_a_launch_is_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "launch.sh"
    script.write_text(
        "export MY_DB_PASS=hunter2a WANDB_KEY=hunter2b AUTH_COOKIE=hunter2c AZURE_STORAGE_SAS=hunter2d\n"
        "export EP='https://h/?sig=hunter2e' UP=u:hunter2f@h:1 CACHE_KEY=plain\n"
        "python3 -m sglang.launch_server --model-path m --api-key hunter2g --max-total-tokens 99\n"
    )
    run(["import", str(script)])
    out, err = capsys.readouterr()
    refuse_secrets(out + err)
    assert "max_total_tokens: 99" in out
    assert "CACHE_KEY: plain" in out


def test_an_excerpt_keeps_its_columns() -> None:
    document = parse_document(CONFIG, "eaglecfg.yaml", ".")
    for number, text in enumerate(document.lines, 1):
        shown = line_without(document, number)
        assert len(shown) == len(text)
        assert shown.partition(":")[0] == text.partition(":")[0] or "hunter" in text
        refuse_secrets(shown)


def test_a_file_that_is_no_yaml_shows_no_secret_either() -> None:
    document = parse_document("a: [1\napi_key: hunter2 x\nHF_TOKEN: 'hunter2\n", "eaglecfg.yaml", ".")
    refuse_secrets("".join(line_without(document, number) for number in range(5)))


def test_references_are_no_secrets() -> None:
    document = parse_document("env: {HF_TOKEN: '${HF_TOKEN}', api_key: true, TOKEN: ''}\n", "e", ".")
    assert secrets_of(document).texts == ()
    assert line_without(document, 1) == document.lines[0]
