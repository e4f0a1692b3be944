"""Values of a chart hold no launch: what helps is said, and nothing else is taken for them."""

from __future__ import annotations

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text
from tests.review.imported import only

LISTED = (
    'command: ["python3", "-m", "sglang.launch_server"]\nargs:\n  - --model-path=/models/llama\n  - --tp=2\n'
)
IMAGE = "image: {repository: lmsysorg/sglang, tag: v0.5.14}\n"


def refusal(text: str, shown: str = "values.yaml") -> str:
    with pytest.raises(UsageError) as caught:
        import_text(text, shown, engine_version="0.5.14")
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        IMAGE + LISTED,
        "replicaCount: 1\n"
        + IMAGE
        + "model: /models/llama\nextraArgs: [--tp=2, --speculative-algorithm=EAGLE3]\n",
        "# Default values for sglang.\n\n---\n" + IMAGE,
        "image:\n  repository: registry.local/sglang\n  tag: v0.5.14\ningress:\n  hosts:\n  - host: a.b\n",
        "image:\n  name: lmsysorg/sglang:v0.5.14\n",
        "image: lmsysorg/sglang:v0.5.14\nresources:\n  limits: {nvidia.com/gpu: 8}\n",
        "server:\n  args:\n  - --model-path\n  - org/m\n  note: it's\n",
        "command:\n- bash\n- -c\n- |\n  exec python3 -m sglang.launch_server \\\n    --model-path org/m\n",
        "kind: Deployment\n" + IMAGE + LISTED,
        (IMAGE + LISTED).replace("\n", "\r\n"),
        "\ufeff" + IMAGE,
        'image: {repository: lmsysorg/sglang}\nargs: ["--host={{ .Values.host }}"]\n',
    ],
)
def test_values_are_told_to_be_rendered(text: str) -> None:
    message = refusal(text)
    assert message.startswith("values.yaml: this looks like the values of a Helm chart")
    assert message.endswith("render the chart first: helm template ... | eaglecfg import -")
    assert refusal(text, "stdin").startswith("stdin: this looks like the values")


@pytest.mark.parametrize(
    "text",
    [
        "image: nginx\nargs: [--port, '80']\n",
        "model-path: org/m\ntp-size: 2\n",
        "a: b\n",
        "",
        "echo x: y\n",
    ],
)
def test_other_yaml_is_not_taken_for_values(text: str) -> None:
    assert "Helm" not in refusal(text, "x.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "run: |\n  python3 -m sglang.launch_server --model-path org/m\nimage: x\n",
        "jobs:\n  a:\n    steps:\n    - run: sglang serve --model-path org/m\n      image: lmsysorg/sglang\n",
    ],
)
def test_what_others_run_is_read_as_a_command(text: str) -> None:
    assert only(text)["target"] == {"checkpoint": "org/m"}


def test_a_config_of_our_own_is_named() -> None:
    text = "version: 1\nengine: {name: sglang}\ndeployments:\n  a:\n    target: {checkpoint: org/m}\n"
    assert (
        refusal(text)
        == "values.yaml: this is a config of eaglecfg already: eaglecfg render makes a launch of it"
    )


def test_manifests_and_compose_files_are_read_as_ever() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: lmsysorg/sglang\n"
        "    command: [python3, -m, sglang.launch_server]\n    args: [--model-path=org/m]\n"
    )
    assert only(pod)["target"] == {"checkpoint": "org/m"}
    compose = "services:\n  s:\n    image: lmsysorg/sglang\n    command: sglang serve --model-path org/m\n"
    assert only(compose)["target"] == {"checkpoint": "org/m"}


def test_a_script_that_writes_values_is_a_script() -> None:
    script = f"cat > values.yaml <<EOF\n{IMAGE}EOF\nsglang serve --model-path org/m\n"
    assert only(script)["target"] == {"checkpoint": "org/m"}
