"""``fix`` where one text has many readers, and where taking an item out moves the ones behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglecfg.review.fix import Fixed, fix
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document

HEAD = "version: 1\nengine: {name: sglang, version: 0.5.23}\n"
PAIR = "target: {checkpoint: target}, draft: {checkpoint: draft}, capture: {trained_boundaries: [3, 6, 9]}"
SHAPE = "num_steps: 2, eagle_topk: 1"
ACCEPTED = "deployments:\n" + f"  a: {{{PAIR}, speculative: {{{SHAPE}, num_draft_tokens: 6}}}}\n"
FEW = settings(max_examples=15, deadline=None)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    materialize({"title": "pair"}, folder)
    return folder


def check(documents: Sequence[Document]) -> Report:
    return validate(documents, select=["EC0", "EC1", "EC302", "EC604"])


def fixed(pair: Path, text: str, *, unsafe: bool = False) -> Fixed:
    return fix([parse_document(text, "eaglecfg.yaml", str(pair))], check, unsafe=unsafe)


def data(text: str) -> Any:
    document = parse_document(text, "", "")
    assert document.problems == ()
    return document.data


KINDS = {"used": "EC302", "unused": "EC604", "refused": "EC001"}
MARKS = st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=9)


@FEW
@given(marks=MARKS, style=st.sampled_from(["flow", "items", "blocks"]), first=st.booleans())
def test_only_suppressions_without_use_go(pair: Path, marks: list[str], style: str, first: bool) -> None:
    entries = [{"rule": KINDS[mark], "reason": f"number {n}"} for n, mark in enumerate(marks)]
    if style == "flow":
        listed = ", ".join(f"{{rule: {each['rule']}, reason: {each['reason']}}}" for each in entries)
        block = f"suppress: [{listed}]\n"
    elif style == "items":
        block = "suppress:\n" + "".join(
            f"- {{rule: {each['rule']}, reason: {each['reason']}}}\n" for each in entries
        )
    else:
        block = "suppress:\n" + "".join(
            f"  - rule: {each['rule']}\n    reason: {each['reason']}\n" for each in entries
        )
    text = HEAD + (block + ACCEPTED if first else ACCEPTED + block)
    result = fixed(pair, text)
    kept = [each for each, mark in zip(entries, marks, strict=True) if mark == "used"]
    after = data(result.documents[0].text)
    assert after.get("suppress", []) == kept
    if kept:
        assert after["deployments"] == data(text)["deployments"], "what is accepted stays"
        assert len(result.made) == len(entries) - len(kept)
    assert not {found.rule.id for found in result.report.findings} & {"EC123", "EC124"}


def test_a_long_list_of_them_goes_in_a_few_passes(pair: Path) -> None:
    asked = 0

    def counted(documents: Sequence[Document]) -> Report:
        nonlocal asked
        asked += 1
        return check(documents)

    old = "".join(f"- {{rule: EC604, reason: old {n}}}\n" for n in range(120))
    text = HEAD + "suppress:\n" + old + "- {rule: EC302, reason: agreed}\n" + old + ACCEPTED
    result = fix([parse_document(text, "eaglecfg.yaml", str(pair))], counted)
    assert result.documents[0].text == HEAD + "suppress:\n- {rule: EC302, reason: agreed}\n" + ACCEPTED
    assert asked <= 6


def test_comments_alike_on_neighbouring_lines_are_told_apart(pair: Path) -> None:
    line = (
        "    speculative: {num_steps: 2, eagle_topk: 1, num_draft_tokens: 6}  # eaglecfg: ignore[EC302] r\n"
    )
    own = "    " + PAIR.replace("}, ", "}\n    ") + "\n"
    text = (
        HEAD + "deployments:\n  a:\n    # eaglecfg: ignore[EC604] r\n    # eaglecfg: ignore[EC604] r\n" + own
    )
    result = fixed(pair, text + line)
    assert result.documents[0].text == HEAD + "deployments:\n  a:\n" + own + line


NUMBERS = ("tokens", "running", "interval")
LEAVES = [(name, leaf) for name in ("a", "b") for leaf in (*NUMBERS, "buffer", "threads")]


def spelled(how: dict[tuple[str, str], str]) -> str:
    """A file of two deployments whose values stand there, at an anchor, or come from the anchor above."""
    defined: set[str] = set()

    def value(place: tuple[str, str]) -> str:
        kind = "n" if place[1] in NUMBERS else "t"
        text = "6" if kind == "n" else '"4M"'
        if how[place] == "plain":
            return text
        if kind in defined and how[place] == "alias":
            return f"*{kind}"
        defined.add(kind)
        return f"&{kind} {text}"

    lines = []
    for name in ("a", "b"):
        at = {leaf: value((name, leaf)) for leaf in ("running", "tokens", "interval", "buffer", "threads")}
        lines.append(
            f"  {name}: {{{PAIR}, server: {{max_running_requests: {at['running']}}}, "
            f"speculative: {{{SHAPE}, num_draft_tokens: {at['tokens']}}}, "
            f"env: {{WANTED: {at['interval']}}}, "
            f"nccl: {{buffsize: {at['buffer']}, nthreads: {at['threads']}}}}}\n"
        )
    return HEAD + "deployments:\n" + "".join(lines)


@FEW
@given(
    how=st.fixed_dictionaries({place: st.sampled_from(["plain", "anchor", "alias"]) for place in LEAVES}),
)
def test_no_setting_changes_but_those_that_ask(pair: Path, how: dict[tuple[str, str], str]) -> None:
    text = spelled(how)
    result = fixed(pair, text)
    before, after = data(text)["deployments"], data(result.documents[0].text)["deployments"]
    for name in ("a", "b"):
        old, new = before[name], after[name]
        assert new["speculative"].pop("num_draft_tokens") in (3, 6)
        assert old["speculative"].pop("num_draft_tokens") == 6
        assert new["nccl"].pop("buffsize") in ("4M", 4194304, "4194304")
        assert old["nccl"].pop("buffsize") == "4M"
    assert after == before
    for left in result.left:
        assert "is shared with" in left.reason
        assert left.found.deployment is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("env: {A: &n 6}, X num_draft_tokens: *n}", "env: {A: &n 6}, X num_draft_tokens: 3}"),
        ("X num_draft_tokens: &n 6}, server: {max_running_requests: *n}", None),
        ("X num_draft_tokens: &n 6}, env: {A: '6'}", "X num_draft_tokens: &n 3}, env: {A: '6'}"),
        ('nccl: {nthreads: &t "4M", buffsize: *t}', 'nccl: {nthreads: &t "4M", buffsize: 4194304}'),
        ('nccl: {buffsize: &t "4M", nthreads: *t}', None),
        ("nccl: {buffsize: &t 4M}, env: {A: *t}", None),
        # The variable that says the same once more goes first, and then nobody else reads the text.
        ("nccl: {buffsize: &t 4M}, env: {NCCL_BUFFSIZE: *t}", "nccl: {buffsize: &t 4194304}"),
    ],
)  # fmt: skip
def test_one_deployment_that_reads_a_text_twice(pair: Path, before: str, after: str | None) -> None:
    def whole(body: str) -> str:
        return f"{HEAD}deployments:\n  a: {{{PAIR}, {body}}}\n".replace("X", f"speculative: {{{SHAPE},")

    result = fixed(pair, whole(before), unsafe=True)
    assert result.documents[0].text == whole(after or before)
    if after is None:
        assert all("is shared with deployments.a." in left.reason for left in result.left)


def test_what_stands_outside_of_deployments_is_a_reader_too(pair: Path) -> None:
    def parts(reason: str, size: str) -> tuple[str, str]:
        speculative = f"speculative: {{{SHAPE}, num_draft_tokens: 6}}"
        return (
            f"suppress:\n- {{rule: EC302, reason: {reason}}}\n",
            f"deployments:\n  a: {{{PAIR}, {speculative}, nccl: {{buffsize: {size}}}}}\n",
        )

    above = HEAD + "".join(parts("&n 4M", "*n"))
    assert fixed(pair, above, unsafe=True).documents[0].text == above.replace("*n", "4194304")
    below = HEAD + "".join(reversed(parts("*n", "&n 4M")))
    result = fixed(pair, below, unsafe=True)
    assert result.documents[0].text == below
    assert "is shared with suppress[0].reason" in result.left[0].reason


def test_a_key_that_is_spelled_wrong_in_an_anchored_block_is_renamed_once(pair: Path) -> None:
    text = (
        HEAD + "deployments:\n"
        f"  a: {{{PAIR}, parallel: &p {{TP-Size: &n 1}}}}\n"
        f"  b: {{{PAIR}, parallel: *p, server: {{max_running_requests: *n}}}}\n"
    )
    assert fixed(pair, text, unsafe=True).documents[0].text == text.replace("TP-Size", "tp_size")


def test_a_fix_that_would_bring_an_accepted_finding_back_is_left(pair: Path) -> None:
    """Whatever a fix is: what the file accepts stays accepted."""
    text = HEAD + "suppress:\n- {rule: EC604, reason: old}\n- {rule: EC302, reason: agreed}\n" + ACCEPTED
    honest = check([parse_document(text, "eaglecfg.yaml", str(pair))])
    assert len(honest.accepted) == 1

    def forgetful(documents: Sequence[Document]) -> Report:
        """Rules that lose sight of the suppression as soon as another one is gone."""
        if "EC604" in documents[0].text:
            return check(documents)
        return check([parse_document(HEAD + ACCEPTED, "eaglecfg.yaml", str(pair))])

    result = fix([parse_document(text, "eaglecfg.yaml", str(pair))], forgetful)
    assert result.documents[0].text == text
    assert [left.reason for left in result.left] == [
        "with it a finding would count again that the file accepts"
    ]


@pytest.mark.parametrize("readers", [1, 3])
def test_a_line_that_merge_keys_bring_elsewhere_counts_as_one_fix(pair: Path, readers: int) -> None:
    first = f"deployments:\n  a: {{{PAIR}, speculative: &s {{{SHAPE}, num_draft_tokens: 6}}}}\n"
    merged = "".join(f"  b{n}: {{{PAIR}, speculative: {{<<: *s}}}}\n" for n in range(readers))
    found = fixed(pair, HEAD + first + merged, unsafe=True)
    changes = [each for each in found.made if each.rule.id == "EC302"]
    assert [each.span.start.line for each in changes] == [4]
    assert found.documents[0].text.count("num_draft_tokens: 3") == 1


def test_fixes_of_lines_apart_are_all_counted(pair: Path) -> None:
    rows = "".join(f"  d{n}: {{{PAIR}, speculative: {{{SHAPE}, num_draft_tokens: 6}}}}\n" for n in range(3))
    found = fixed(pair, f"{HEAD}deployments:\n{rows}", unsafe=True)
    assert [each.span.start.line for each in found.made] == [4, 5, 6]
