"""A launch as a Deployment of Kubernetes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from eaglecfg.errors import UsageError
from eaglecfg.review.render.container import WORK, found, workdir
from eaglecfg.review.render.header import header, shown
from eaglecfg.review.render.launch import Launch, Word
from eaglecfg.review.yaml_text import quoted, scalar

CLAIM = "checkpoints"
LONGEST_NAME = 50
"""Letters of an object's name: 63 are allowed, and pods and secrets add to it."""


def render(launch: Launch, image: str) -> str:
    """The manifest. Raises UsageError for a launch on several hosts, which no Deployment can start."""
    if launch.nodes > 1:
        raise UsageError(
            f"deployment {launch.name} runs on {launch.nodes} hosts, and the pods of a Kubernetes Deployment "
            "are not told their rank; render --as shell for each host"
        )
    name = object_name(launch.name)
    literals = " ".join(f"--from-literal={variable}=..." for variable in launch.handed)
    lines = [
        *header(launch),
        *([f"# kubectl create secret generic {name}-secrets {literals}"] if literals else []),
        "apiVersion: apps/v1",
        "kind: Deployment",
        "metadata:",
        f"  name: {scalar(name)}",
        "spec:",
        "  replicas: 1",
        "  strategy: {type: Recreate}  # a second pod would wait for GPUs that the first one holds",
        "  selector:",
        f"    matchLabels: {{app: {_label(name)}}}",
        "  template:",
        "    metadata:",
        f"      labels: {{app: {_label(name)}}}",
        "    spec:",
        "      containers:",
        "        - name: server",
        f"          image: {scalar(image)}",
        "          command:",
        *(f"            - {scalar(escaped(text))}" for text in launch.program),
        "          args:",
        *(f"            - {scalar(_word(word))}" for word in launch.words),
        *_environment(launch, name),
        *([f"          workingDir: {workdir(launch)}"] if workdir(launch) else []),
        "          ports:",
        f"            - {{name: http, containerPort: {launch.port}}}",
        "          resources:",
        f"            limits: {{nvidia.com/gpu: {launch.gpus}}}",
        *_probes(),
        *_volumes(launch),
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """``text`` for Kubernetes, which takes ``$(NAME)`` for a variable and ``$$`` for a dollar sign."""
    return text.replace("$", "$$")


def object_name(name: str) -> str:
    """``name`` with the letters that an object may have. A name that had to be cut ends in a digest."""
    plain = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    if not plain or not plain[0].isalpha():
        plain = f"server-{plain}".rstrip("-")
    if len(plain) > LONGEST_NAME:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        plain = f"{plain[: LONGEST_NAME - 9].rstrip('-')}-{digest}"
    return plain


def _label(name: str) -> str:
    return scalar(name)


def _word(word: Word) -> str:
    return escaped(word.text) + (f"$({word.variable})" if word.variable else "")


def _environment(launch: Launch, name: str) -> Iterator[str]:
    """The secrets first: what stands below may name them."""
    if not launch.variables and not launch.handed:
        return
    yield "          env:"
    for secret in launch.handed:
        yield f"            - name: {scalar(secret)}"
        yield "              valueFrom:"
        yield f"                secretKeyRef: {{name: {scalar(name + '-secrets')}, key: {scalar(secret)}}}"
    for variable in launch.variables:
        if variable.text is not None:
            yield f"            - name: {scalar(variable.name)}"
            yield f"              value: {quoted(escaped(variable.text))}"


def _probes() -> Iterator[str]:
    request = "httpGet: {path: /health, port: http}"
    yield "          startupProbe:  # loading weights and capturing graphs takes minutes: up to an hour"
    yield f"            {request}"
    yield "            periodSeconds: 10"
    yield "            failureThreshold: 360"
    yield "          readinessProbe:"
    yield f"            {request}"
    yield "            periodSeconds: 10"
    yield "          livenessProbe:"
    yield f"            {request}"
    yield "            periodSeconds: 30"
    yield "            timeoutSeconds: 10"
    yield "            failureThreshold: 5"


def _volumes(launch: Launch) -> Iterator[str]:
    folders = list(dict.fromkeys(each.path for each in found(launch) if each.kind == "absolute"))
    claimed = workdir(launch) is not None
    yield "          volumeMounts:"
    yield "            - {name: shm, mountPath: /dev/shm}"
    if claimed:
        yield f"            - {{name: {CLAIM}, mountPath: {WORK}, readOnly: true}}"
    for number, folder in enumerate(folders, 1):
        yield f"            - {{name: folder-{number}, mountPath: {quoted(folder)}, readOnly: true}}"
    yield "      volumes:"
    yield "        - name: shm  # the ranks share memory through it; containers have 64 MB"
    yield "          emptyDir: {medium: Memory}"
    if claimed:
        beside = shown(launch.config)
        yield f"        - name: {CLAIM}  # holds what lies beside {beside}; hub ids need none"
        yield f"          persistentVolumeClaim: {{claimName: {CLAIM}}}"
    for number, folder in enumerate(folders, 1):
        yield f"        - name: folder-{number}"
        yield f"          hostPath: {{path: {quoted(folder)}, type: Directory}}"
