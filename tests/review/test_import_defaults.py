"""What import makes of defaults, of versions that a launch installs, and of what a manifest has beside it."""

from __future__ import annotations

import json

import pytest

from eaglecfg.engines.table import load_facts
from eaglecfg.review.render.form import FORMS, Form, render
from eaglecfg.schema.deployment import Engine
from tests.review.imported import imported, only, told

RUN = "python3 -m sglang.launch_server --model-path org/m "


def compose(command: str, **service: object) -> str:
    return json.dumps({"services": {"s": {"image": "x", "command": command, **service}}})


def pod(command: list[str], **container: object) -> str:
    held = {"name": "c", "image": "x", "command": command, **container}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [held]}})


@pytest.mark.parametrize("default", ["${%s:-}", "${%s-}", "${%s:=}", "${%s=}"])
@pytest.mark.parametrize("name", ["HF_TOKEN", "WANDB_API_KEY", "NCCL_IB_HCA", "SOMETHING"])
def test_an_empty_default_is_handed_on_and_told(default: str, name: str) -> None:
    word = default % name
    texts = [
        f'docker run -e {name}="{word}" img {RUN}',
        f"docker run --env {name}={word} img {RUN}",
        f'export {name}="{word}"; {RUN}',
        f": {word}; export {name}; {RUN}" if "=" in default else f"{name}={word} {RUN}",
        pod(["sh", "-c", f"export {name}={word}; exec {RUN}"]),
    ]
    if "=" not in default:
        texts += [
            compose(RUN, environment={name: word}),
            compose(RUN, environment=[f"{name}={word}"]),
        ]
    for text in texts:
        one = only(text)
        found = one["nccl"]["ib_hca"] if name.startswith("NCCL_") else one["env"][name]
        assert found == f"${{{name}}}", text
        assert any(f"${name} has an empty default" in line for line in told(text)), text


@pytest.mark.parametrize("word", ["${API_KEY:-}", "${API_KEY-}", "${SGLANG_API_KEY:-}", "${K:=}"])
@pytest.mark.parametrize("flag", ["--api-key", "--admin-api-key"])
def test_a_server_is_never_left_without_its_key(flag: str, word: str) -> None:
    variable = "SGLANG_" + flag.removeprefix("--").replace("-", "_").upper()
    texts = [f'{RUN}{flag} "{word}"', f"{RUN}{flag}={word}", pod(["sh", "-c", f'{RUN}{flag} "{word}"'])]
    texts += [] if "=" in word else [compose(f"{RUN}{flag} {word}"), compose(f"{RUN}{flag}={word}")]
    for text in texts:
        _, config = imported(text)
        (one,) = config.deployments
        assert one.model.server == {flag.removeprefix("--").replace("-", "_"): f"${{{variable}}}"}, text
        for form in FORMS:
            engine = Engine(name="sglang", version="0.5.14")
            out = render("m", one.model, engine, load_facts("sglang", "0.5.14"), form)
            assert variable in out


@pytest.mark.parametrize("form", FORMS)
def test_a_token_with_an_empty_default_is_rendered_by_name(form: Form) -> None:
    _, config = imported(compose(RUN, environment={"HF_TOKEN": "${HF_TOKEN:-}"}))
    engine = Engine(name="sglang", version="0.5.14")
    out = render("s", config.deployments[0].model, engine, load_facts("sglang", "0.5.14"), form)
    assert "HF_TOKEN" in out
    assert "HF_TOKEN=''" not in out
    assert 'HF_TOKEN: ""' not in out


@pytest.mark.parametrize(
    "script",
    [
        RUN + "--port ${PORT:-}",
        RUN + "${EXTRA:-}",
        "export LD_LIBRARY_PATH=/opt/lib:${LD_LIBRARY_PATH:-}; " + RUN,
        compose(RUN + "--port ${PORT:-}"),
    ],
)
def test_an_empty_default_of_another_value_is_a_todo(script: str) -> None:
    assert imported(script)[0].left_open > 0


def test_what_is_empty_for_certain_stays_empty() -> None:
    assert only(f"unset A; export A=${{A:-}}; {RUN}")["env"] == {"A": ""}
    assert only(f"A=; export A=${{A:-}}; {RUN}")["env"] == {"A": ""}
    assert only(f"export A=; {RUN}")["env"] == {"A": ""}
    assert only(compose(RUN, environment={"A": ""}))["env"] == {"A": ""}


INNER = "exec " + RUN + "--tp ${TP:-4}"
FROM = [{"configMapRef": {"name": "cfg"}}]


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        (pod(["sh", "-c", INNER], envFrom=FROM), "envFrom"),
        (compose(f"sh -c '{INNER.replace('$', '$$')}'", env_file="a.env"), "s.env_file"),
        (f"docker run --env-file prod.env img sh -c '{INNER}'", "prod.env"),
        (f"docker run --env-file a.env --env-file b.env img bash -lc '{INNER}'", "a.env, b.env"),
        (f"docker run --env-file=p.env --entrypoint /bin/bash img -c '{INNER}'", "p.env"),
        (f"docker exec c sh -c '{INNER}'", "the container c"),
        (f"source env.sh; {INNER}", "env.sh"),
        (f"unset TP; . ./env.sh; {INNER}", "./env.sh"),
        (f"set -a; . env.sh; bash -c '{INNER}'", "env.sh"),
        (f"[Service]\nEnvironmentFile=-/etc/x.env\nExecStart=/bin/sh -c '{INNER}'\n", "/etc/x.env"),
    ],
)
def test_a_default_that_an_unread_file_may_replace_is_a_todo(text: str, unread: str) -> None:
    result, config = imported(text)
    line = f"$TP is taken as '4', its default{{}}; {unread}, which is not read, may set it"
    expected = {line.format(""), line.format(" in the script")}
    assert expected & {note.text for note in result.notes if note.todo}, result.notes
    assert any(f"# TODO: {text}" in result.text for text in expected)
    assert result.left_open >= 1
    assert config.deployments[0].model.parallel.tp_size == 4


@pytest.mark.parametrize(
    "text",
    [
        pod(["sh", "-c", INNER]),
        pod(["sh", "-c", INNER], env=[{"name": "A", "value": "1"}]),
        f"bash -c '{INNER}'",
        f"docker run img sh -c '{INNER}'",
        f"ssh host '{INNER}'",
        f"{INNER}",
        f"{INNER}; source env.sh",
        f"[Service]\nExecStart=/bin/sh -c '{INNER}'\n",
        f"FROM x\nCMD {INNER}\n",
        compose(RUN + "--tp ${TP:-4}"),
    ],
)
def test_every_default_is_told(text: str) -> None:
    assert any(line.startswith("$TP is taken as '4', its default") for line in told(text)), told(text)


def test_a_variable_that_the_launch_sets_itself_is_no_default() -> None:
    text = pod(["sh", "-c", INNER], env=[{"name": "TP", "value": "2"}], envFrom=FROM)
    assert only(text)["parallel"] == {"tp_size": 2}
    assert not any("$TP" in line for line in told(text))


@pytest.mark.parametrize(
    "install",
    [
        'pip install "sglang[all]==0.5.12.post1"',
        "pip install sglang[all]==0.5.12.post1",
        "pip3 install -q --upgrade sglang==0.5.12.post1 --find-links x",
        "/opt/v/bin/pip install --no-deps sglang==0.5.12.post1",
        "python3 -m pip install 'sglang[all]==0.5.12.post1' torch==2.9.1",
        "uv pip install 'sglang == 0.5.12.post1' sglang==0.5.12.post1",
        "V=0.5.12.post1; uv pip install --system sglang==$V",
        "sudo pip install sglang==0.5.12.post1",
        "pip install 'sglang==0.5.12.post1; python_version > \"3.9\"'",
        "uv add sglang==0.5.12.post1",
        "set -e; pip install x; pip install sglang==0.5.12.post1",
    ],
)
def test_the_one_version_that_is_installed_runs(install: str) -> None:
    one_line = install.replace("'", '"')
    texts = [
        f"{install} && {RUN}",
        f"set -ex\n{install}\n{RUN}",
        pod(["bash", "-c", f"{install}\n{RUN}"]),
        f"FROM nvidia/cuda:13\nRUN {install}\nENTRYPOINT {RUN}",
    ]
    texts += (
        [f"docker run img bash -c '{one_line} && {RUN}'"]
        if '\\"' not in one_line and ">" not in one_line
        else []
    )
    for text in texts:
        result, config = imported(text, None)
        assert config.engine is not None
        assert config.engine.version == "0.5.12.post1", text
        assert "# from " in result.text
        assert not any("which version runs" in note.text for note in result.notes)


def test_what_is_installed_in_an_image_wins_over_its_tag() -> None:
    text = f"docker run lmsysorg/sglang:v0.5.10 bash -c 'pip install sglang==0.5.12 && {RUN}'"
    assert "version: 0.5.12  # from pip install sglang==0.5.12" in imported(text, None)[0].text
    text = f"pip install sglang==0.5.9; docker run lmsysorg/sglang:v0.5.10 {RUN}"
    assert "version: 0.5.10  # from the image" in imported(text, None)[0].text


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (f"pip install sglang==0.5.12\npip install sglang==0.5.13\n{RUN}", "0.5.12 or pip install"),
        (f"if x; then pip install sglang==0.5.12; fi\n{RUN}", "under a condition decides"),
        (f"x || pip install sglang==0.5.12\n{RUN}", "under a condition decides"),
        (f"{RUN} &\npip install sglang==0.5.12", "nothing says"),
        (f"echo pip install sglang==0.5.12; {RUN}", "nothing says"),
        (f"pip install 'sglang>=0.5.12'; {RUN}", "pip install sglang>=0.5.12 decides"),
        (f"pip install sglang==0.5.*; {RUN}", "pip install sglang==0.5.* decides"),
        (f"pip install sglang==$V; {RUN}", "pip install sglang==${V} decides"),
        (f"pip install sglang-router==0.5.12 sgl-kernel==0.3.1; {RUN}", "nothing says"),
        (f"pip uninstall -y sglang==0.5.12; {RUN}", "pip uninstall -y sglang==0.5.12 decides"),
    ],
)
def test_a_version_that_is_not_certain_is_a_todo(script: str, says: str) -> None:
    result, _ = imported(script, None)
    assert any(note.todo and says in note.text and "which version runs" in note.text for note in result.notes)
    assert "  # TODO: " in result.text.split("version: 0.5.")[1].split("\n")[0]


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "chat", "labels": {"a": "b"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "chat"}},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": {"app": "chat"}},
            "spec": {
                "hostNetwork": True,
                "nodeSelector": {"gpu": "h200"},
                "tolerations": [{"key": "gpu"}],
                "runtimeClassName": "nvidia",
                "volumes": [{"name": "m", "hostPath": {"path": "/d"}}],
                "initContainers": [{"name": "get", "image": "x", "command": ["fetch"]}],
                "containers": [
                    {"name": "c", "image": "x", "command": ["sglang", "serve", "org/m"]},
                    {"name": "metrics", "image": "y"},
                ],
            },
        },
    },
}


@pytest.mark.parametrize("listed", [False, True])
def test_everything_around_a_container_is_told_once(listed: bool) -> None:
    held = {"apiVersion": "v1", "kind": "List", "items": [DEPLOYMENT]} if listed else DEPLOYMENT
    lines = [line for line in told(json.dumps(held)) if line.startswith("left out: ")]
    inside = "spec.template.spec"
    assert sorted(lines) == sorted(
        f"left out: {each}"
        for each in (
            "spec.replicas: 3",
            "spec.strategy",
            f"{inside}.hostNetwork: true",
            f"{inside}.nodeSelector",
            f"{inside}.tolerations",
            f"{inside}.runtimeClassName: nvidia",
            f"{inside}.volumes",
            f"{inside}.initContainers",
            "the container metrics, which launches no server",
        )
    )


def test_one_replica_and_the_size_of_a_group_are_no_loss() -> None:
    spec = {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "c", "command": ["sglang", "serve", "m"]}]}},
    }
    text = json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec})
    assert not [line for line in told(text) if line.startswith("left out")]


def test_settings_of_a_unit_are_told() -> None:
    unit = (
        "[Unit]\nDescription=x\n[Service]\nType=simple\nUser=me\nLimitMEMLOCK=infinity\nRestart=always\n"
        f"ExecStartPre=/bin/mkdir x\nExecStart=/usr/bin/{RUN}\nEnvironment=HF_TOKEN_PATH=x\n"
    )
    lines = [line for line in told(unit) if line.startswith("left out: ")]
    assert lines == [
        "left out: User=me of the unit",
        "left out: LimitMEMLOCK=infinity of the unit",
        "left out: ExecStartPre=/bin/mkdir x of the unit",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pod(["python3", "-m", "sglang.launch_server", "--model-path", "m", "--tp", "${TP:-4}"]),
        f"{RUN}--served-model-name '$(hostname)'",
        f"export A='$(hostname)'; {RUN}",
        compose(RUN, environment={"A": "$$B"}),
    ],
)
def test_letters_that_no_shell_expands_are_told(text: str) -> None:
    assert any("which no shell expands there: it is kept as these letters" in line for line in told(text))
