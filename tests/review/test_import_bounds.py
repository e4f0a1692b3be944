"""Texts made to take long: each is imported or refused in a moment."""

from __future__ import annotations

import time

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text

POD = 'kind: Pod\nspec: {{containers: [{{command: [sglang, serve, "{}"], env: [{{name: A, value: "{}"}}]}}]}}'
SERVICE = 'services: {{a: {{command: "sglang serve {}"}}}}'

HOSTILE = {
    "blank lines": "\n" * 40 + "x",
    "comments": "#\n" * 20_000 + "x",
    "spaces": " " * 200_000 + "x",
    "dollars": "$" * 50_000,
    "placeholders": "<a" * 20_000,
    "brackets": "sglang serve $(" * 10_000,
    "quotes": "'" * 99_999,
    "backticks": "`a" * 50_000,
    "braces": "${A:-" * 10_000,
    "escapes": "$'" + "\\x" * 50_000,
    "one word": "sglang serve " + "x" * 500_000,
    "options": "sglang serve m" + " -x" * 4_000,
    "flags": "sglang serve m" + "".join(f" --f{number} 1" for number in range(2_000)),
    "assignments": "A=" * 100_000,
    "servers": "sglang serve m\n" * 2_000,
    "many names": "sglang serve m; " * 299,
    "doubling": "A=xxxxxxxx;" + "A=$A$A;" * 100 + "sglang serve $A",
    "functions": "".join(f"f{n}() {{ {f'f{n + 1};' * 50} A=1; }}\n" for n in range(9)) + "f0",
    "image": "docker run x:" + "1." * 50_000 + " sglang serve m",
    "model": "sglang serve " + "models/" * 20_000,
    "compose dollars": SERVICE.format("$a" * 20_000),
    "compose braces": SERVICE.format("${" * 50_000),
    "services": "services:\n"
    + "".join(f" s{number}: {{command: sglang serve m}}\n" for number in range(1_000)),
    "kubelet dollars": POD.format("$$" * 50_000, ""),
    "kubelet names": POD.format("$(" * 20_000, ""),
    "kubelet growth": POD.format("$(A)" * 1_000, "x" * 50_000),
    "documents": "---\n" * 20_000 + "kind: Pod",
    "nesting": "kind: Pod\na: " + "[" * 5_000,
    "aliases": "kind: Pod\na: &a [x, x]\n" + "".join(f"a{n}: &a [*a, *a]\n" for n in range(40)),
    "dockerfile": "FROM x\nENV " + "\\\n" * 50_000,
    "json": "{" * 100_000,
    "arithmetic": "((" * 50_000,
    "sums": "sglang serve $((" + "1+" * 50_000 + "1))",
    "brackets inside": "sglang serve $((" + "(" * 90 + "1" + ")" * 90 + "))",
    "powers": "A=9;" + "A=$((A*A));" * 200 + "sglang serve $A",
    "patterns": "sglang serve " + "[" * 50_000 + " " + "{," * 50_000,
    "loops": "for a in 1 2; do " * 1_000 + "sglang serve m",
    "piped blocks": "{ " * 2_000 + "sglang serve m; " + "} | x; " * 2_000,
    "branches": "if x; then A=1; fi; " * 3_000 + "sglang serve m",
    "conditions": "".join(f"[ x ] && A{n}=1\n" for n in range(3_000)) + "sglang serve m",
    "cases": "case x in a) " * 1_000 + "sglang serve m",
    "unit": "[Service]\n" + "Environment=A=1 \\\n" * 20_000 + "x\nExecStart=sglang serve m",
    "specifiers": "[Service]\nExecStart=sglang serve " + "%i" * 50_000,
    "unit variables": "[Service]\nExecStart=sglang serve " + "${A}" * 20_000,
    "stages": "".join(f"FROM a{n} AS a{n + 1}\nENV A=$A$A\n" for n in range(500)) + "CMD sglang serve m",
    "extends": "services:\n" + "".join(f" s{n}: {{extends: s{n + 1}}}\n" for n in range(1_000)),
    "templates": "kind: Pod\nspec: {containers: [{args: [sglang, serve, m, '" + "{{" * 50_000 + "']}]}",
    "header": '# deployment: "' + "\\a" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long(name: str) -> None:
    began = time.process_time()
    try:
        import_text(HOSTILE[name], "launch", engine_version="0.5.14")
    except UsageError as error:
        assert str(error).startswith("launch")  # noqa: PT017
    assert time.process_time() - began < 2.0
