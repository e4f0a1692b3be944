"""Which texts count on being expanded or filled in, and which only look strange."""

from __future__ import annotations

import time

import pytest

from eaglecfg.source.references import reference_in


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *(
            (text, "variable")
            for text in ("$A", "$name", "${A}", "${A:-x}", "${A-}", "${A:?no}", "${A[@]}", "$@")
        ),
        *((text, "variable") for text in ("${A:-${B}}", "${#A}", "${A%/}", "${A:-}")),
        *(
            (text, "command")
            for text in ("$(hostname)", "$(nvidia-smi -L | wc -l)", "`hostname -f`", "$((1+1))")
        ),
        *((text, "template") for text in ("{{ .Values.host }}", "{{x}}")),
        *(
            (text, "placeholder")
            for text in ("TODO", "TODO: ask", "<your-model>", "<MODEL>", "<path to it>", "<host>")
        ),
    ],
)
def test_all_of_a_value(text: str, kind: str) -> None:
    found = reference_in(text)
    assert found is not None
    assert (found.kind, found.part, found.whole) == (kind, text, True)


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("${A:-b}:50", "variable", "${A:-b}"),
        ("/models/$NAME", "variable", "$NAME"),
        ("/opt/lib:$LD_LIBRARY_PATH", "variable", "$LD_LIBRARY_PATH"),
        ("tcp://$(hostname):50", "command", "$(hostname)"),
        ("`hostname`:50", "command", "`hostname`"),
        ("http://{{ .host }}:50", "template", "{{ .host }}"),
        ("http://<host>:50", "placeholder", "<host>"),
        ("~/t.jinja", "home", "~/"),
        ("~me/t.jinja", "home", "~me/"),
        ("~", "home", "~"),
        ("$A_B then ${C}", "variable", "$A_B"),
    ],
)
def test_a_part_of_a_value(text: str, kind: str, part: str) -> None:
    found = reference_in(text)
    assert found is not None
    assert (found.kind, found.part, found.whole) == (kind, part, False)


@pytest.mark.parametrize(
    "text",
    [
        "", "5$", "costs $5", "^a$", "(a$|b)", "foo$(?!x)", "pa$sword", "$$HOME", "${", "$", "$(", "a~b",
        "~1.5", "<s>", "<think>", "<tool_call>", "<|im_end|>", "a < b > c", "use `x` here", "`", "TODOS",
        '{"a": {"b": {}}}', "x{y}", "mlx5_[0-9]", "%h.%p", "s3cr$t", "a$b$c",
    ],
)  # fmt: skip
def test_letters_like_any_other(text: str) -> None:
    assert reference_in(text) is None


@pytest.mark.parametrize("piece", ["${a", "$(a", "{{", "<A", "<a b", "`a b", "~", "$A", "${a{", "$", "TODO"])
def test_long_texts_cost_little(piece: str) -> None:
    start = time.perf_counter()
    reference_in(piece * 20_000)
    assert time.perf_counter() - start < 2
