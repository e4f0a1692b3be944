"""Each TODO names what its own value lacks, and nothing of its neighbours in the same text."""

from __future__ import annotations

import re

import pytest

from eaglecfg.review.imports.importing import import_text
from eaglecfg.review.imports.text import Text, behind, joined, not_known, split

LAUNCH = "python3 -m sglang.launch_server --model-path /m"
SETTINGS = "--host {}:1 --dist-init-addr {}:5000 --served-model-name {}"
NAMES = ("A1", "B2", "C3")


def pod(text: str, *sources: str) -> str:
    """A pod that runs ``text`` in a shell, its variables from ``sources``."""
    variables = "".join(
        f"    - name: {name}\n      valueFrom: {{{source}: {{x: y}}}}\n"
        for name, source in zip(NAMES, sources, strict=True)
    )
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    env:\n"
        f"{variables}    command: [bash, -c]\n    args:\n    - |\n      exec {text}\n"
    )


def settings(spelling: str) -> str:
    return f"{LAUNCH} " + SETTINGS.format(*(spelling.format(name) for name in NAMES))


KUBELET = settings("$({})")
SHELL = settings("${{{}}}")


@pytest.mark.parametrize(
    "text",
    [
        pod(KUBELET, "fieldRef", "configMapKeyRef", "resourceFieldRef"),
        pod(KUBELET, "fieldRef", "secretKeyRef", "fieldRef"),
        pod(KUBELET.replace("$(C3)", "'$(C3)'"), "secretKeyRef", "secretKeyRef", "fieldRef"),
        pod(SHELL, "fieldRef", "configMapKeyRef", "resourceFieldRef"),
        SHELL,
        f'bash -c "{SHELL}"',
        f"bash -c '{SHELL}'",
        f'ssh host "{SHELL}"',
        f'docker run x bash -c "{SHELL}"',
        f'eval "{SHELL}"',
        f"services:\n  s:\n    image: x\n    command: {SHELL}\n",
        f"services:\n  s:\n    image: x\n    command: [bash, -c, '{SHELL}']\n",
        f"services:\n  s:\n    image: x\n    command: [bash, -c, '{SHELL.replace('$', '$$')}']\n",
        f"[Service]\nExecStart=/bin/bash -c '{SHELL}'\n",
        f"bash -c \"bash -c '{SHELL}'\"",
        f'bash -c "{settings("$(cat {})")}"',
    ],
)
def test_a_todo_names_the_variables_of_its_own_value(text: str) -> None:
    result = import_text(text, "launch", engine_version="0.5.14")
    found = 0
    for note in result.notes:
        flag = re.match(r"--(host|dist-init-addr|served-model-name) is not known: (.*)", note.text)
        if flag:
            own = NAMES[("host", "dist-init-addr", "served-model-name").index(flag[1])]
            assert own in flag[2], note.text
            assert not [name for name in NAMES if name != own and name in flag[2]], note.text
            found += 1
    assert found == 3
    for line in result.text.split("\n"):
        assert sum(name in line for name in NAMES) <= 1, line


def test_a_secret_in_the_same_text_stays_a_variable() -> None:
    text = pod(f"{LAUNCH} --dist-init-addr $(A1):1 --api-key $(B2)", "fieldRef", "secretKeyRef", "fieldRef")
    result = import_text(text, "launch", engine_version="0.5.14")
    assert 'api_key: "${SGLANG_API_KEY}"' in result.text


def test_parts_keep_their_names() -> None:
    first, second = Text("${A}", ("the source of A",)), not_known("B")
    whole = joined([Text("N="), first, Text(","), second])
    assert whole.unknown == ("the source of A", "B")
    assert [part.unknown for part in split(whole, ",")] == [("the source of A",), ("B",)]
    assert behind(joined([first, Text("="), second]), "=").unknown == ("B",)
    assert joined([Text("x"), whole]).names == (("the source of A",), ("B",))


def test_where_it_is_not_known_whose_it_is_all_are_named() -> None:
    both = Text("${A} and ${B}", ("A", "B"))
    assert joined([Text("x"), both]).names == (("A", "B"),)
