"""Other forms of launches: systemd units, extended services, several versions, templates, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text
from tests.review.imported import imported, only

UNIT = r"""[Unit]
Description=python3 -m sglang.launch_server --model-path no/no
[Service]
# Environment=COMMENT=1
WorkingDirectory=/srv
Environment=OLD=1
Environment=
Environment=NCCL_PROTO=LL "NCCL_ALGO=Ring,Tree" A='b c' PCT=5%%
PassEnvironment=HANDED
UnsetEnvironment=A
ExecStartPre=/bin/mkdir -p /var/log
ExecStart=-/usr/bin/python3 -m sglang.launch_server \
    --model-path org/m \
    --served-model-name "$$5 ${NCCL_PROTO}" --tp 8
Restart=always
[Install]
WantedBy=multi-user.target
"""


def test_a_systemd_unit_is_read_in_its_own_dialect() -> None:
    found = only(UNIT)
    assert found["target"] == {"checkpoint": "org/m"}
    assert found["parallel"] == {"tp_size": 8}
    assert found["server"] == {"served_model_name": "$5 LL"}
    assert found["nccl"] == {"proto": "LL", "algo": "Ring,Tree"}
    assert found["env"] == {"HANDED": "${HANDED}", "PCT": "5%"}
    assert imported(UNIT)[0].left_open == 0


@pytest.mark.parametrize(
    ("line", "todo"),
    [
        ("EnvironmentFile=-/etc/x.env\nExecStart=sglang serve org/m", "/etc/x.env is not read"),
        ("ExecStart=sglang serve org/m --tp ${TP}", "TP is not known"),
        ("ExecStart=sglang serve org/m --served-model-name %i", "%i is not known"),
        ("Environment=A=%h/x\nExecStart=sglang serve org/m", "%h is not known"),
        ("ExecStart=sglang serve org/m $ARGS", "it may hold flags"),
    ],
)
def test_what_a_unit_does_not_tell_is_a_todo(line: str, todo: str) -> None:
    result, _ = imported(f"[Service]\n{line}\n")
    assert result.left_open > 0
    assert todo in result.text


def test_a_container_that_a_unit_starts_keeps_its_image() -> None:
    text = import_text(
        "[Service]\nExecStart=docker run --name %n -e B=1 lmsysorg/sglang:v0.5.14 sglang serve m", "x"
    ).text
    assert "version: 0.5.14  # from the image" in text
    assert '"n"' not in text


def test_a_service_has_what_it_extends() -> None:
    text = """
services:
  root: {image: "lmsysorg/sglang:v0.5.12", environment: {A: "1", B: "1"}}
  base: {extends: root, command: sglang serve org/base, environment: [B=2], env_file: x.env}
  own: {extends: {service: base}, command: sglang serve org/own, environment: {C: "3"}}
"""
    result, config = imported(text, None)
    base, own = config.deployments
    assert config.engine is not None
    assert config.engine.version == "0.5.12"
    assert (base.model.env, own.model.env) == ({"A": "1", "B": "2"}, {"A": "1", "B": "2", "C": "3"})
    assert own.model.target.checkpoint == "org/own"
    assert result.text.count("TODO: services.base.env_file is not read") == 2


@pytest.mark.parametrize(
    ("services", "todo"),
    [
        ("a: {extends: {file: o.yaml, service: b}, command: sglang serve m}", "of o.yaml, which is not read"),
        ("a: {extends: b, command: sglang serve m}", "b, which this file does not have"),
        ("a: {env_file: [x], command: sglang serve m}", "services.a.env_file is not read"),
        ("a: {command: 'sglang serve m ${X:+--tp 2}'}", "X:+--tp 2"),
        ("a: {command: 'sglang serve m ${X}'}", "it may hold flags"),
    ],
)
def test_what_a_compose_file_does_not_tell_is_a_todo(services: str, todo: str) -> None:
    result, _ = imported(f"services:\n  {services}\n")
    assert result.left_open > 0
    assert todo in result.text


def test_services_that_extend_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="extends itself"):
        import_text("services:\n  a: {extends: b, command: sglang serve m}\n  b: {extends: a}\n", "x")


VERSIONS = {
    "compose": "services:\n"
    + "".join(
        f'  {name}: {{image: "lmsysorg/sglang:v{version}", command: sglang serve org/{name}}}\n'
        for name, version in (("old", "0.5.12"), ("new", "0.5.14"))
    ),
    "script": "docker run --name old lmsysorg/sglang:v0.5.12 sglang serve org/old\n"
    "docker run --name new lmsysorg/sglang:v0.5.14 sglang serve org/new\n",
    "manifest": "---\n".join(
        f"kind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{image: 'x/sglang:v{version}', "
        f"command: [sglang, serve, org/{name}]}}]}}\n"
        for name, version in (("old", "0.5.12"), ("new", "0.5.14"))
    ),
}


@pytest.mark.parametrize("form", VERSIONS)
def test_several_engine_versions_are_refused_by_name_and_one_can_be_chosen(form: str) -> None:
    with pytest.raises(UsageError) as caught:
        import_text(VERSIONS[form], "launch")
    assert "0.5.12: old; 0.5.14: new" in str(caught.value)
    assert "--only NAME" in str(caught.value)
    for name, version in (("old", "0.5.12"), ("new", "0.5.14")):
        result = import_text(VERSIONS[form], "launch", only=name)
        assert result.deployments == (name,)
        assert f"version: {version}  # from" in result.text
        assert f"org/{name}" in result.text
    assert import_text(VERSIONS[form], "launch", engine_version="0.5.14").deployments == ("old", "new")
    with pytest.raises(UsageError, match=r"--only names one of its deployments \(old, new\), got 'x'"):
        import_text(VERSIONS[form], "launch", only="x")


def test_a_launch_whose_image_tells_no_version_is_marked_beside_one_that_does() -> None:
    text = VERSIONS["compose"].replace("v0.5.12", "latest")
    result, _ = imported(text, None)
    assert "# TODO: its image lmsysorg/sglang:latest does not tell the engine's version" in result.text
    assert result.left_open == 1


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("ARG TAG=v0.5.12-cu126\nFROM lmsysorg/sglang:${TAG}\nCMD sglang serve m", "0.5.12"),
        (
            "ARG TAG=v0.5.12\nFROM --platform=x x/sglang:$TAG AS a\nENV A=1\nFROM a\nCMD sglang serve m",
            "0.5.12",
        ),
        ("kubectl run s --image=lmsysorg/sglang:v0.5.12 --env=A=1 -- sglang serve m", "0.5.12"),
        ("kubectl run s --image lmsysorg/sglang:v0.5.12 --env A=1 -- sglang serve m", "0.5.12"),
        ("docker run $(x) ${Y} -e A=1 lmsysorg/sglang:v0.5.12 sglang serve m", "0.5.12"),
        ("docker run -eA=1 -it lmsysorg/sglang:v0.5.12 sglang serve m", "0.5.12"),
        ("srun --container-image=lmsysorg/sglang:v0.5.12 env A=1 sglang serve m", "0.5.12"),
        ("A=1 singularity exec docker://lmsysorg/sglang:v0.5.12 sglang serve m", "0.5.12"),
    ],
)
def test_the_version_is_found_where_the_image_is_named(text: str, version: str) -> None:
    result, config = imported(text, None)
    assert config.engine is not None
    assert config.engine.version == version, result.text
    if "A=1" in text:
        assert config.deployments[0].model.env == {"A": "1"}


def test_instructions_of_a_dockerfile_end_where_docker_ends_them() -> None:
    text = (
        "FROM x\nENV A=1 \\\n  # a comment\n  B=2\nCMD sglang serve org/m --tp 2\n"
        "HEALTHCHECK --interval=5s \\\n  CMD curl http://h\nRUN x \\\n  && CMD y\n"
    )
    found = only(text)
    assert found["env"] == {"A": "1", "B": "2"}
    assert found["parallel"] == {"tp_size": 2}


def test_an_image_that_is_not_known_leaves_the_version_open() -> None:
    result, _ = imported("docker run $IMAGE sglang serve m", None)
    assert "TODO: nothing says which version" in result.text
    assert result.left_open == 1


GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: big}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec: {containers: [{command: [sglang, serve, org/m, --tp, "16", --host, 0.0.0.0, --nnodes, "2"]}]}
    workerTemplate:
      spec: {containers: [{command: [sglang, serve, org/m, --tp, "WORKER", --nnodes, "2"]}]}
"""


def test_a_worker_belongs_to_its_leader_and_what_differs_is_told() -> None:
    result, config = imported(GROUP.replace("WORKER", "16"))
    assert [each.name for each in config.deployments] == ["big"]
    assert config.deployments[0].model.server == {"host": "0.0.0.0"}
    assert result.left_open == 0
    result, config = imported(GROUP.replace("WORKER", "8"))
    assert len(config.deployments) == 1
    assert "# TODO: parallel.tp_size of another host of this server differs" in result.text
    assert result.left_open == 1


def test_hosts_that_a_script_numbers_are_one_server() -> None:
    line = "sglang serve org/m --tp 16 --nnodes 2 --dist-init-addr h:1 --node-rank "
    result, config = imported(f"{line}0 --host 0.0.0.0\n{line}1\n")
    assert len(config.deployments) == 1
    assert result.left_open == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[program:s]\ncommand=sglang serve m\n", "a supervisor configuration"),
        ("- hosts: all\n  tasks:\n  - shell: sglang serve m\n", "an Ansible playbook"),
        ("serve:\n\tsglang serve m\n", "a Makefile"),
        ("# Run\n```bash\nsglang serve m\n```\n", "a page of Markdown"),
        ("import subprocess\nsubprocess.run('sglang serve m')\n", "a Python program"),
        (
            "{{- if .Values.x }}\nkind: Pod\nspec: {containers: [{args: [sglang, serve, m]}]}\n{{- end }}\n",
            "helm",
        ),
        ('kind: Pod\nspec: {containers: [{args: [sglang, serve, "{{ .Values.m }}"]}]}\n', "helm template"),
        ('kind: Pod\nspec: {containers: [{image: "{{ .X }}", args: [sglang, serve, m]}]}\n', "helm template"),
        (
            "kind: Pod\nspec: {containers: [{args: [sglang, serve, m], env: [{name: A, value: '{{X}}'}]}]}\n",
            "helm",
        ),
        ("cat > run.sh <<EOF\nsglang serve m\nEOF\nbash run.sh\n", "line 2 mentions a server"),
        ("kind: ConfigMap\ndata:\n  run.sh: |\n    sglang serve m\n", "line 4 mentions a server"),
    ],
)
def test_what_is_not_read_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        import_text(text, "launch")
    assert says in str(caught.value)


def test_a_dash_as_the_output_is_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["import", "sglang serve org/m", "--engine-version", "0.5.14", "--output", "-"]) == 0
    assert "checkpoint: org/m" in capsys.readouterr().out
    assert run(["init", "org/m", "off", "--output", "-"]) == 0
    assert "checkpoint: org/m" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_exit_codes_and_what_a_terminal_gets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "sglang serve org/m $X", "--engine-version", "0.5.14"]) == 3
    out, err = capsys.readouterr()
    assert "# TODO: ${X} is not known here: it may hold flags" in out
    assert err == "the command: TODO: ${X} is not known here: it may hold flags\n"
    assert run(["import", "sglang serve org/m"]) == 3
    assert "TODO: nothing says which version runs: " in capsys.readouterr().err
    assert run(["import", "sglang serve org/m 'a\x1b[31mb'", "--engine-version", "0.5.14"]) == 3
    assert "\x1b" not in "".join(capsys.readouterr())
