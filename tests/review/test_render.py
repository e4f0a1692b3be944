"""``eaglecfg render``: its forms as golden files, what it refuses, and its streams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize

GOLDEN = Path(__file__).parent / "golden"
SUFFIXES = {"shell": "sh", "env": "env", "compose": "compose.yaml", "kubernetes": "kubernetes.yaml"}


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["render", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("name", ["full", "plain"])
@pytest.mark.parametrize("form", SUFFIXES)
def test_each_form_is_as_it_was(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """After a wanted change, write the output of the same command into the file."""
    code, out, _ = lines(capsys, str(GOLDEN / "eaglecfg.yaml"), "-d", name, "--as", form)
    assert code == 0
    assert out == (GOLDEN / f"{name}.{SUFFIXES[form]}").read_text(encoding="utf-8")
    assert "not-for-your-eyes" not in out
    assert ("speculative" in out) == (name == "full")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small pair and a good eaglecfg.yaml; the current folder of the test."""
    materialize({"title": "good"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_text_depends_on_nothing_but_the_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first, _ = lines(capsys, "--as", "compose")
    text = (folder / "eaglecfg.yaml").read_text()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "other.yaml").write_text(text)
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HF_HOME", "/nowhere")
    assert lines(capsys, "other.yaml", "--as", "compose")[1].replace("other.yaml", "eaglecfg.yaml") == first


@pytest.mark.parametrize(
    ("deployment", "says"),
    [
        ("target: {checkpoint: TODO}", "target.checkpoint is 'TODO'"),
        ("target: {checkpoint: 'TODO fill in'}", "target.checkpoint is 'TODO fill in'"),
        ("target: {checkpoint: '${ARGS}'}", "target.checkpoint is '${ARGS}'"),
        ("target: {checkpoint: '/models/${NAME}'}", "target.checkpoint is"),
        ("target: {checkpoint: '/models/$NAME'}", "target.checkpoint is"),
        ("target: {checkpoint: '$(cat m)'}", "target.checkpoint is"),
        ("target: {checkpoint: '<your-model>'}", "target.checkpoint is"),
        ("target: {checkpoint: '{{ .Values.model }}'}", "target.checkpoint is"),
        ("target: {checkpoint: '~/models/t'}", "nothing expands ~"),
        ("target: {checkpoint: m/t}, draft: {checkpoint: '${DRAFT}'}", "draft.checkpoint is"),
        ("target: {checkpoint: m/t}, server: {chat_template: TODO}", "server.chat_template is 'TODO'"),
        ("target: {checkpoint: m/t}, server: {host: '${HOST}'}", "server.host is"),
        ("target: {checkpoint: m/t}, server: {lora_paths: ['${A}']}", "server.lora_paths is"),
        ("target: {checkpoint: m/t}, env: {A: '${B}'}", "env.A is"),
        ("target: {checkpoint: m/t}, nccl: {proto: TODO}", "nccl.proto is"),
        ("target: {checkpoint: m/t}, server: {host: '$(hostname)'}", "server.host is"),
        ("target: {checkpoint: m/t}, server: {host: '`hostname`'}", "server.host is"),
        ("target: {checkpoint: m/t}, server: {served_model_name: $NAME}", "server.served_model_name is"),
        ("target: {checkpoint: m/t}, server: {served-model-name: '${N:-x}'}", "server.served-model-name is"),
        ("target: {checkpoint: m/t}, server: {chat_template: ~/t.jinja}", "nothing expands ~"),
        ("target: {checkpoint: m/t}, server: {dist_init_addr: '${A:-b}:50'}", "in place of ${A:-b}"),
        ("target: {checkpoint: m/t}, server: {dist_init_addr: '<host>:50'}", "server.dist_init_addr is"),
        ("target: {checkpoint: m/t}, server: {lora_paths: [a, 'x=$HOME/b']}", "in place of $HOME"),
        ("target: {checkpoint: m/t}, server: {made_up: {a: [{b: '$(x)'}]}}", "server.made_up is"),
        ("target: {checkpoint: m/t, revision: '${REV}'}", "target.revision is"),
        (
            "target: {checkpoint: m/t}, speculative: {algorithm: $ALGO}, draft: {checkpoint: d}",
            "algorithm is",
        ),
        ("target: {checkpoint: m/t}, env: {X: '$(hostname)'}", "env.X is"),
        ("target: {checkpoint: m/t}, env: {X: '`hostname`'}", "env.X is"),
        ("target: {checkpoint: m/t}, env: {Y: '${Y:-1}'}", "env.Y is"),
        ("target: {checkpoint: m/t}, env: {P: '/lib:$LD_LIBRARY_PATH'}", "in place of $LD_LIBRARY_PATH"),
        ("target: {checkpoint: m/t}, nccl: {ib_hca: '${HCA-mlx5}'}", "nccl.ib_hca is"),
        ("target: {checkpoint: m/t}, env: {HF_TOKEN: '${TOKEN:-hf_abc}'}", "env.HF_TOKEN is '***'"),
    ],
)
def test_what_is_still_to_be_filled_in_is_never_rendered(
    deployment: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"version: 1\nengine: {{version: 0.5.14}}\ndeployments: {{a: {{{deployment}}}}}\n")
    for form in ("shell", "env", "compose", "kubernetes"):
        code, out, err = lines(capsys, str(path), "--as", form, "--force")
        assert (code, out) == (2, "")
        assert says in err


def test_a_value_that_whoever_launches_has_is_no_placeholder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "version: 1\nengine: {version: 0.5.14}\ndeployments: {a: {target: {checkpoint: m/t}, "
        "env: {A: '${A}'}, nccl: {proto: '${NCCL_PROTO}'}, server: {api_key: '${SGLANG_API_KEY}'}}}\n"
    )
    assert lines(capsys, str(path), "--force")[0] == 0


SIGNS = {
    "env": {
        "PRICE": "5$",
        "REGEX": "^(a|b)$",
        "SALT": "pa$sword",
        "PID": "$$X",
        "HF_HOME": "~/hf",
        "T": "use `x` ",
    },
    "server": {"served_model_name": "<think> $5 {a}", "chat_template": "^a$"},
}


@pytest.mark.parametrize("form", SUFFIXES)
def test_a_sign_that_is_no_placeholder_is_rendered(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deployment = {"target": {"checkpoint": "m/t"}, **SIGNS}
    path = tmp_path / "x.yaml"
    path.write_text(
        json.dumps({"version": 1, "engine": {"version": "0.5.14"}, "deployments": {"a": deployment}})
    )
    code, out, _ = lines(capsys, str(path), "--as", form)
    assert code == 0
    for value in (value for block in SIGNS.values() for value in block.values()):
        escaped = value.replace("$", "$$") if form in ("compose", "kubernetes") else value
        assert escaped in out


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ("server", "host", "$(hostname)"),
        ("server", "served-model-name", "${NAME:-x}"),
        ("server", "chat_template", "~/t.jinja"),
        ("env", "A", "a $HOME"),
        ("nccl", "proto", "$PROTO"),
    ],
)
@pytest.mark.parametrize("inherited", [False, True])
def test_letters_that_are_meant_are_accepted_beside_them(
    block: str, key: str, value: str, inherited: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = f"{block}:\n      {key}: {json.dumps(value)}"
    own, above = ("", f"defaults:\n    {held}\n") if inherited else (f"    {held}\n", "")
    text = f"version: 1\nengine: {{version: 0.5.14}}\n{above}"
    text += f"deployments:\n  a:\n    target: {{checkpoint: m/t}}\n{own}"
    path = tmp_path / "x.yaml"
    path.write_text(text)
    code, _, err = lines(capsys, str(path))
    assert code == 2
    assert "say so beside it: # eaglecfg: ignore[EC640] why" in err
    path.write_text(text.replace(json.dumps(value), f"{json.dumps(value)}  # eaglecfg: ignore[EC640] meant"))
    code, out, err = lines(capsys, str(path), "--force")
    assert (code, "EC640" in err) == (0, False), err
    assert value in out


def test_a_secret_is_not_repeated_in_the_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    for env in ("API_KEY: '${K:-hunter2}'", "URL: 'http://me:hunter2@$HOST/x'"):
        deployments = f"{{a: {{target: {{checkpoint: m}}, env: {{{env}}}}}}}"
        path.write_text(f"version: 1\nengine: {{version: 0.5.14}}\ndeployments: {deployments}\n")
        code, out, err = lines(capsys, str(path))
        assert code == 2
        assert "hunter2" not in out + err


def test_a_password_may_hold_any_sign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "version: 1\nengine: {version: 0.5.14}\ndeployments: {a: {target: {checkpoint: m/t}, "
        "env: {HF_TOKEN: 'a$(b)$CDE'}, server: {api_key: 'x$WORD~`a`'}}}\n"
    )
    code, out, err = lines(capsys, str(path))
    assert (code, err) == (0, "")
    assert "WORD" not in out


def test_the_options_change_what_they_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = lines(capsys, "--port", "8123", "--python", "/opt/a b/python")
    assert "exec '/opt/a b/python' -m sglang.launch_server" in out
    assert "--port 8123" in out
    assert err == ""
    _, out, err = lines(capsys, "--as", "kubernetes", "--port", "8123", "--image", "registry/x:1")
    assert "image: registry/x:1" in out
    assert "containerPort: 8123" in out
    assert err == ""
    _, out, err = lines(capsys, "--as", "compose")
    assert "image: lmsysorg/sglang:v" in out
    assert "--image names another" in err


def test_errors_of_validate_refuse_and_force_overrides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({"title": "shifted", "deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, out, err = lines(capsys)
    assert (code, out) == (1, "")
    assert "error[EC201]" in err
    assert "1 error in chat; not rendered (--force overrides)" in err
    code, out, err = lines(capsys, "--force")
    assert code == 0
    assert out.startswith("#!/bin/sh\n")
    assert "error[EC201]" in err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere.yaml"], 2, "nowhere.yaml"),
        (["-d", "caht"], 2, "it has chat"),
        (["--image", "x"], 2, "starts no container"),
        (["--port", "0"], 2, "--port"),
        (["--as", "helm"], 2, "--as"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: list[str], code: int, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = lines(capsys, *arguments)
    assert (found, out) == (code, "")
    assert says in err
    assert "Traceback" not in err


def test_of_several_deployments_one_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = lines(capsys, str(GOLDEN / "eaglecfg.yaml"))
    assert (code, out) == (2, "")
    assert "name one with -d: full, plain" in err


@pytest.mark.parametrize(
    "text", ["", "[]", "version: 1\n", "deployments: {a: 1}\n", "\tx: [", "a: &a [*a]\n"]
)
def test_files_without_a_deployment(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    code, out, err = lines(capsys, str(path))
    assert (code, out) == (2, "")
    assert "no deployment to render" in err


def test_an_engine_that_is_not_sglang_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "version: 1\nengine: {name: vllm, version: 1.0.0}\ndeployments: {a: {target: {checkpoint: m}}}\n"
    )
    code, out, err = lines(capsys, str(path), "--force")
    assert (code, out) == (2, "")
    assert "sglang" in err
