"""Compose files, manifests and Dockerfiles: the server in them, with what the container adds."""

from __future__ import annotations

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text
from tests.review.imported import imported, only, told

COMPOSE = """\
x-common: &common
  image: lmsysorg/sglang:v0.5.12-cu129
  shm_size: 32g
services:
  chat:
    <<: *common
    command: >
      python3 -m sglang.launch_server --model-path /models/t --tp ${TP:-2} --served-model-name '$$5'
      --api-key ${KEY}
    environment:
      - HF_TOKEN
      - NCCL_PROTO=LL
      - OMP=$$1
      - WHERE=${WHERE}/x
    volumes:
      - /data/models:/models:ro
  judge:
    image: lmsysorg/sglang:v0.5.12
    entrypoint: ["python3", "-m"]
    command: ["sglang.launch_server", "--model-path", "org/judge"]
    environment: {A: yes, B: 1.10, C: null, D: "", E: 0x10}
    env_file: x.env
  shell:
    command: [bash, -c, "export N=1 && sglang serve org/s --port $$((1 + 2)) --tp 2"]
  redis: {image: redis}
"""

MANIFEST = """\
# two objects in one stream
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data:
  x: |
    containers: no
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: chat
spec:
  template:
    spec:
      initContainers:
        - {name: fetch, command: [sglang, serve, org/no]}
      containers:
        - name: main
          image: lmsysorg/sglang:v0.5.14
          command: ["/bin/bash", "-c"]
          args:
            - |
              export NCCL_DEBUG=WARN
              exec python3 -m sglang.launch_server --model-path /models/$NAME \\
                --served-model-name $(NICE) --tp $TP
          env:
            - {name: NAME, value: t}
            - {name: NICE, value: "x-$(NAME)"}
            - name: TP
              valueFrom: {configMapKeyRef: {name: other, key: tp}}
            - name: HF_TOKEN
              valueFrom: {secretKeyRef: {name: hf, key: token}}
          resources: {limits: {nvidia.com/gpu: 8}}
          volumeMounts: [{name: m, mountPath: /models}]
      volumes:
        - {name: m, hostPath: {path: /mnt/models}}
"""

GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: big}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers: [{name: a, image: "lmsysorg/sglang:v0.5.14", command: &c [
          python3, -m, sglang.launch_server, --model-path, org/m, --tp, "16",
          --nnodes, $(LWS_GROUP_SIZE), --node-rank, $(LWS_WORKER_INDEX),
          --dist-init-addr, "$(LWS_LEADER_ADDRESS):20000"]}]
    workerTemplate:
      spec:
        containers: [{name: b, command: *c}]
"""

DOCKERFILE = """\
# syntax=docker/dockerfile:1
ARG TAG=v0.5.14
FROM lmsysorg/sglang:v0.5.14 AS base
ENV NCCL_PROTO=LL A="b c" \\
    D=e
ENV OLD form of it
CMD ["bash"]
ENTRYPOINT ["python3", "-m", "sglang.launch_server", "--model-path", "org/m"]
CMD ["--tp", "2"]
"""


def test_services_of_a_compose_file() -> None:
    result, config = imported(COMPOSE, None)
    chat, judge, shell = config.deployments
    assert config.engine is not None
    assert config.engine.version == "0.5.12"
    assert [each.name for each in config.deployments] == ["chat", "judge", "shell"]
    assert chat.model.parallel.tp_size == 2
    assert chat.model.server == {"served_model_name": "$5", "api_key": "${SGLANG_API_KEY}"}
    assert (chat.model.nccl, chat.model.env) == ({"proto": "LL"}, {"HF_TOKEN": "${HF_TOKEN}", "OMP": "$1"})
    assert judge.model.env == {"A": "yes", "B": "1.10", "C": "${C}", "D": "", "E": "0x10"}
    assert judge.model.target.checkpoint == "org/judge"
    assert (shell.model.env, shell.model.parallel.tp_size) == ({"N": "1"}, 2)
    assert "# as the container sees it: /data/models/t on the host" in result.text
    assert '# WHERE: "${WHERE}/x"' in result.text
    assert shell.model.server == {"port": 3}
    texts = [note.text for note in result.notes]
    assert "chat: $TP is taken as '2', its default" in texts
    assert "chat: left out: services.chat.shm_size" in texts
    assert any("env_file is not read" in text for text in texts)


def test_lines_of_a_compose_file_are_told() -> None:
    result, _ = imported(COMPOSE)
    lines = COMPOSE.split("\n")
    for note in result.notes:
        if "services." in note.text:
            key = note.text.split("services.")[1].split()[0].split(".")[1]
            assert key in (line := lines[note.line - 1]) or "<<" in line, note


def test_containers_of_a_manifest() -> None:
    found = only(MANIFEST, None)
    assert found == {
        "target": {"checkpoint": "/models/t"},
        "server": {"served_model_name": "x-t"},
        "nccl": {"debug": "WARN"},
        "env": {"HF_TOKEN": "${HF_TOKEN}", "NAME": "t", "NICE": "x-t"},
    }
    result, config = imported(MANIFEST, None)
    assert config.deployments[0].name == "chat"
    assert '# tp_size: "${TP}"  # TODO: the configMapKeyRef of TP is not known here' in result.text
    assert '# TP: "${TP}"  # TODO: the configMapKeyRef of TP is not known here' in result.text
    assert "/mnt/models/t on the host" in result.text
    assert "TP comes from a configMapKeyRef" in told(MANIFEST, None)
    assert "left out: resources of the container" in told(MANIFEST, None)


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "Job", "CronJob", "List", "DaemonSet"])
def test_containers_are_found_at_every_depth(kind: str) -> None:
    spec = "{containers: [{name: c, command: [sglang, serve, org/m], args: [--tp, '2']}]}"
    inside = {
        "Pod": f"spec: {spec}",
        "CronJob": f"spec: {{jobTemplate: {{spec: {{template: {{spec: {spec}}}}}}}}}",
        "List": f"items: [{{kind: Pod, metadata: {{name: x}}, spec: {spec}}}]",
    }.get(kind, f"spec: {{template: {{spec: {spec}}}}}")
    found = only(f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n{inside}\n")
    assert found == {"target": {"checkpoint": "org/m"}, "parallel": {"tp_size": 2}}


def test_a_manifest_may_be_json() -> None:
    container = '{"command": ["sglang", "serve", "org/m"]}'
    text = f'{{"apiVersion": "v1", "kind": "Pod", "spec": {{"containers": [{container}]}}}}'
    assert only(text) == {"target": {"checkpoint": "org/m"}}


def test_leader_and_workers_are_one_server() -> None:
    result, config = imported(GROUP, None)
    (one,) = config.deployments
    assert (one.name, one.model.parallel.nnodes, one.model.parallel.tp_size) == ("big", 2, 16)
    assert '# dist_init_addr: "${LWS_LEADER_ADDRESS}:20000"' in result.text
    assert any(text.startswith("--node-rank is left out") for text in told(GROUP, None))


def test_a_dockerfile_starts_its_entrypoint_with_the_last_cmd() -> None:
    assert only(DOCKERFILE, None) == {
        "target": {"checkpoint": "org/m"},
        "parallel": {"tp_size": 2},
        "nccl": {"proto": "LL"},
        "env": {"A": "b c", "D": "e", "OLD": "form of it"},
    }
    assert only("FROM x\nCMD sglang serve org/m --tp 4")["parallel"] == {"tp_size": 4}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("services: {a: {image: x}}", "expected to launch a server"),
        ("services: []", "expected to launch a server"),
        ("services:\n  a: [\n", "launch:"),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: 5}", "expected to launch a server"),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: [1, {command: {}, args: 3, env: 5}]}", "expected to"),
        ("apiVersion: v1\nkind: {{ .Values.kind }}\nspec: {}", "helm template"),
        ("kind: Pod\n" + "a: {" * 100 + "}" * 100, "levels"),
        ("kind: Pod\na: &a [*a]", "expected to launch"),
        ("FROM x\nCMD [1]", "expected to launch a server"),
        ("services:\n  a:\n    command: sglang serve 'x", "never closed"),
    ],
)
def test_what_holds_no_server_is_said_in_a_line(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        import_text(text, "launch")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "ARG V=v0.5.13\nFROM lmsysorg/sglang:$V\n",
            ["$V is taken as 'v0.5.13', its default in the Dockerfile"],
        ),
        (
            "ARG V\nFROM lmsysorg/sglang:v${V:-0.5.12}\n",
            ["$V is taken as '0.5.12', its default in the Dockerfile"],
        ),
        (
            "FROM lmsysorg/sglang:v0.5.14\nARG M=/m/t\nENV MODEL=${M}\n",
            ["$M is taken as '/m/t', its default in the Dockerfile"],
        ),
        ("FROM lmsysorg/sglang:v0.5.14\nARG UNUSED=/m/t\nARG TP\n", []),
        ("FROM lmsysorg/sglang:v0.5.14\nENV TP=2\nARG TP=4\nENV X=$TP\n", []),
    ],
)
def test_a_default_of_a_dockerfile_is_told(text: str, lines: list[str]) -> None:
    text += 'CMD ["sglang", "serve", "--model-path", "/m/t"]\n'
    assert [line for line in told(text, None) if "default" in line] == lines
    assert only(text, None).get("env", {}).get("TP", "2") == "2"


HOSTS = """\
ssh a "{}sglang serve org/m --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr a:5000" &
ssh b "{}sglang serve org/m --tp 16 --nnodes 2 --node-rank 1 --dist-init-addr a:5000" &
"""


def test_another_host_is_launched_as_the_first_one_or_otherwise_and_never_both() -> None:
    alike = "another host of this server is left out: it is launched as the first one is"
    otherwise = "another host of this server is left out, though it is launched otherwise"
    lines = told(HOSTS.format("NCCL_PROTO=LL ", "NCCL_PROTO=Simple "))
    assert otherwise in lines
    assert alike not in lines
    assert "TODO nccl.proto of another host of this server differs: only the first host's is here" in lines
    assert not any("another host" in line and "TODO" in line for line in told(HOSTS.format("", "")))
    assert alike in told(HOSTS.format("", "").replace("rank 1", "rank 1 --port 1"))
