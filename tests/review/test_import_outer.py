"""What an outer shell, Compose or systemd expands is never taken from the environment of the inner shell."""

from __future__ import annotations

import json

import pytest

from tests.review.imported import imported, only, told

SERVER = "python3 -m sglang.launch_server --model-path org/m"


def compose(command: object, **environment: str) -> str:
    service = {"image": "lmsysorg/sglang:v0.5.14", "environment": environment, "command": command}
    return json.dumps({"services": {"a": service}}, indent=1)


OUTER = {
    "docker": f'docker run -e TP=8 img bash -c "{SERVER} --tp $TP"',
    "docker, braces": f'docker run -e TP=8 img bash -c "{SERVER} --tp ${{TP}}"',
    "docker, quotes inside": f"docker run -e TP=8 img bash -c \"{SERVER} --tp '$TP'\"",
    "docker, double quotes inside": f'docker run -e TP=8 img bash -c "{SERVER} --tp \\"$TP\\""',
    "docker, inner default": f'docker run -e TP=8 img bash -c "{SERVER} --tp ${{TP:+$TP}}"',
    "docker, part of the word": f"docker run -e TP=8 img bash -c '{SERVER} --tp '$TP",
    "docker, assigned inside": f'docker run img bash -c "TP=8; {SERVER} --tp $TP"',
    "docker, through a variable": f'docker run -e TP=8 img bash -c "X=$TP; {SERVER} --tp \\$X"',
    "docker, cut": f'docker run -e TP=8 img bash -c "{SERVER} --tp ${{TP%x}}"',
    "docker, both": f'TP=$(x); docker run -e TP=8 img bash -c "{SERVER} --tp $TP"',
    "docker, read": f'read TP; docker run -e TP=8 img bash -c "{SERVER} --tp $TP"',
    "podman": f'podman run --env TP=8 img sh -c "{SERVER} --tp $TP"',
    "kubectl run": f'kubectl run x --image=i --env=TP=8 -- sh -c "{SERVER} --tp $TP"',
    "env": f'env TP=8 bash -c "{SERVER} --tp $TP"',
    "in front": f'TP=8 bash -c "{SERVER} --tp $TP"',
    "ssh": f'ssh node "TP=4; {SERVER} --tp $TP"',
    "srun": f'srun --export=ALL,TP=8 bash -c "{SERVER} --tp $TP"',
    "nested": f"ssh node \"docker run -e TP=8 img bash -c '{SERVER} --tp $TP'\"",
    "nested twice": f'ssh node "TP=2; docker run -e TP=8 img bash -c \\"{SERVER} --tp $TP\\""',
    "eval": f'TP=$(x); eval "TP=4; {SERVER} --tp $TP"',
    "behind a backslash": f'docker run -e TP=8 img bash -c "{SERVER} --tp \\\\$TP"',
    "behind a dollar": f'docker run -e TP=8 img bash -c "{SERVER} --tp \\$$TP"',
    "arithmetic": f'docker run -e TP=8 img bash -c "{SERVER} --tp $(( ${{TP}} ))"',
    "compose": compose(f"bash -c '{SERVER} --tp $TP'", TP="4"),
    "compose, braces": compose(f"bash -c '{SERVER} --tp ${{TP}}'", TP="4"),
    "compose, list": compose(["sh", "-c", f"{SERVER} --tp $TP"], TP="4"),
    "compose, required": compose(["sh", "-c", f"{SERVER} --tp ${{TP:?set it}}"], TP="4"),
    "compose, quotes inside": compose(["sh", "-c", f"{SERVER} --tp '$TP'"], TP="4"),
}


@pytest.mark.parametrize("text", OUTER.values(), ids=OUTER)
def test_a_variable_of_the_outside_is_not_taken_from_the_inside(text: str) -> None:
    result, config = imported(text)
    assert result.left_open, result.text
    (one,) = config.deployments
    assert one.model.parallel is None or "tp_size" not in one.model.parallel.model_dump(exclude_unset=True)
    assert any((note.todo and "TP" in note.text) or "$(" in note.text for note in result.notes)
    assert not any(ord(letter) >= 0xF0000 for letter in result.text + str(result.notes))


INNER = {
    "docker": f"docker run -e TP=8 img bash -c '{SERVER} --tp $TP'",
    "docker, escaped": f'docker run -e TP=8 img bash -c "{SERVER} --tp \\$TP"',
    "docker, known outside": f'TP=8; docker run -e TP=2 img bash -c "{SERVER} --tp $TP"',
    "env": f"env TP=8 bash -c '{SERVER} --tp $TP'",
    "ssh": f"ssh node 'TP=8; {SERVER} --tp $TP'",
    "nested": f"ssh node \"docker run -e TP=8 img bash -c '{SERVER} --tp \\$TP'\"",
    "eval": f"TP=8; eval '{SERVER} --tp $TP'",
    "eval with a variable": f"TP=2; TP=8 eval '{SERVER} --tp $TP'",
    "compose": compose(f"bash -c '{SERVER} --tp $$TP'", TP="8"),
    "compose, braces": compose(["bash", "-c", f"{SERVER} --tp $${{TP}}"], TP="8"),
    "compose, default": compose(["bash", "-c", f"{SERVER} --tp ${{TP:-8}}"], TP="2"),
    "compose, inner default": compose(["bash", "-c", f"{SERVER} --tp $${{TP:-8}}"]),
}


@pytest.mark.parametrize("text", INNER.values(), ids=INNER)
def test_a_variable_of_the_inside_is(text: str) -> None:
    assert only(text)["parallel"] == {"tp_size": 8}


def test_words_of_the_outside_may_hold_flags() -> None:
    text = compose(f'sh -c "{SERVER} $EXTRA"', EXTRA="--enable-metrics")
    assert "server" not in only(text)
    assert any("${EXTRA} is not known here: it may hold flags" in line for line in told(text))


def test_the_todo_says_whose_variable_it_is() -> None:
    assert any(
        "--tp-size is not known: TP (of whoever launches, not of env)" in line
        for line in told(compose(f"sh -c '{SERVER} --tp $TP'", TP="4"))
    )


def test_compose_defaults_inside_defaults_are_followed() -> None:
    words = [*SERVER.split(), "--tp", "${A:-${B:-8}}", "--served-model-name", "x-${D:-a b}"]
    one = only(compose(words))
    assert one["parallel"] == {"tp_size": 8}
    assert one["server"]["served_model_name"] == "x-a b"
    assert any(
        "$A is taken as '${B}'" in line or "$A is taken as '8'" in line for line in told(compose(words))
    )
    assert any(
        "TODO --tp-size is not known: C" in line for line in told(compose([*words, "--tp", "${E:-$C}"]))
    )
    result, _ = imported(compose([*words, "--tp", "${E:-${C:-${"]))
    assert result.left_open or "${E:-${C:-${" in result.text


def pod(args: list[str], **container: object) -> str:
    server = {"name": "c", "image": "lmsysorg/sglang:v0.5.14", "command": SERVER.split(), "args": args}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": [server | container]},
        }
    )


@pytest.mark.parametrize(
    ("value", "container", "expected"),
    [
        ("$(NAME)", {"env": [{"name": "NAME", "value": "x"}]}, "x"),
        ("$$(NAME)", {"env": [{"name": "NAME", "value": "x"}]}, "$(NAME)"),
        ("$NAME", {"env": [{"name": "NAME", "value": "x"}]}, "$NAME"),
        ("$(NAME)", {}, "$(NAME)"),
        ("$(NAME)", {"envFrom": []}, "$(NAME)"),
        ("$(NAME)", {"envFrom": [{"configMapRef": {"name": "a"}}]}, None),
        ("$(NAME)", {"env": [{"name": "NAME", "valueFrom": {"configMapKeyRef": {"name": "a"}}}]}, None),
        ("$(MODEL_SERVICE_HOST)", {}, None),
        ("$(MODEL_PORT_80_TCP_ADDR)", {}, None),
    ],
)
def test_a_variable_in_brackets_is_that_of_the_container(
    value: str, container: object, expected: object
) -> None:
    assert isinstance(container, dict)
    text = pod(["--served-model-name", value], **container)
    result, _ = imported(text)
    assert only(text).get("server") == (None if expected is None else {"served_model_name": expected})
    assert bool(result.left_open) == (expected is None)


def test_a_todo_of_compose_says_whose_variable_it_is_without_a_shell_too() -> None:
    lines = told(compose([*SERVER.split(), "--tp", "$TP"], TP="4"))
    assert "TODO --tp-size is not known: TP (of whoever launches, not of env)" in lines


@pytest.mark.parametrize(
    ("text", "todo"),
    [
        (f"bash -c 'exec {SERVER} \"$@\"' x --tp 4", ""),
        (f"bash -c 'exec {SERVER} --tp $1' x 4", ""),
        (f"docker run img sh -c '{SERVER} --tp ${{1:-2}}' x 4", ""),
        (pod([f"exec {SERVER} $*", "--", "--tp", "4"], command=["sh", "-c"]), ""),
        (f"bash -c 'exec {SERVER} --tp 4 \"$@\"'", "the caller's own arguments"),
        (f'bash -c \'exec {SERVER} --tp 4 "$@"\' x "$@"', "the caller's own arguments"),
        (f"bash -c 'exec {SERVER} --tp 4 \"$@\"' x --port $X", "--port is not known: X"),
    ],
)
def test_words_behind_the_text_of_an_inner_shell_are_its_arguments(text: str, todo: str) -> None:
    assert only(text)["parallel"] == {"tp_size": 4}
    todos = [line for line in told(text) if line.startswith("TODO")]
    assert len(todos) == bool(todo)
    assert not todo or todo in todos[0]


@pytest.mark.parametrize(
    "text",
    [compose([*SERVER.split(), "--tp", "$$TP"], TP="4"), pod(["--tp", "$TP"]), pod(["--port", "$(NOPE)"])],
)
def test_letters_where_the_engine_wants_a_number_are_a_todo(text: str) -> None:
    assert any(line.startswith("TODO ") and "the engine wants a number" in line for line in told(text))
