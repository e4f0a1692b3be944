"""Fixes in a deployment that inherits: what defaults gives as well does not come back."""

from __future__ import annotations

from typing import Literal

import pytest

from eaglecfg.review.fixed_data import comes_to
from eaglecfg.rules.fixes import edits_of
from eaglecfg.rules.model import Fix
from eaglecfg.schema.load import load_config
from eaglecfg.source.edit import apply_edits
from eaglecfg.source.read import parse_document

Kind = Literal["remove", "add"]


def fixed(defaults: str, own: str, kind: Kind, path: tuple[str, ...], text: str = "") -> str:
    """The deployment's own line after the fix."""
    whole = (
        f"version: 1\nengine: {{version: 0.5.14}}\ndefaults: {defaults}\n"
        f"deployments:\n  chat:\n    target: {{checkpoint: t}}\n    {own}\n"
    )
    document = parse_document(whole, "eaglecfg.yaml", ".")
    fix = Fix("t", ("deployments", "chat", *path), text, kind=kind)
    after = parse_document(apply_edits(whole, edits_of(document, fix)), "eaglecfg.yaml", ".")
    assert load_config(after).problems == ()
    assert comes_to(document, after, [fix])
    assert not comes_to(document, document, [fix])
    return after.text.splitlines()[-1].strip()


@pytest.mark.parametrize(
    ("defaults", "own", "path", "left"),
    [
        ("{nccl: {proto: LL}}", "nccl: {proto: LL128}", ("nccl", "proto"), "nccl: {proto: null}"),
        ("{nccl: {NCCL_PROTO: LL}}", "nccl: {PROTO: LL128}", ("nccl", "PROTO"), "nccl: {PROTO: null}"),
        ("{env: {A: b}}", "env: {A: c, B: d}", ("env", "A"), "env: {A: null, B: d}"),
        ("{server: {dtype: half}}", "server: {dtype: auto}", ("server", "dtype"), "server: {dtype: null}"),
        (
            "{parallel: {tp_size: 2}}",
            "parallel: {tp_size: 4}",
            ("parallel", "tp_size"),
            "parallel: {tp_size: null}",
        ),
        (
            "{unchecked_variables: [a]}",
            "unchecked_variables: [b]",
            ("unchecked_variables",),
            "unchecked_variables: null",
        ),
        # Nothing is inherited: the key goes.
        ("{nccl: {algo: Ring}}", "nccl: {proto: LL, x: y}", ("nccl", "proto"), "nccl: {x: y}"),
        ("{nccl: {proto: null}}", "nccl: {proto: LL, x: y}", ("nccl", "proto"), "nccl: {x: y}"),
        ("{env: {a: b}}", "env: {A: c, B: d}", ("env", "A"), "env: {B: d}"),
        ("{}", "parallel: {tp_size: 4, dp_size: 2}", ("parallel", "tp_size"), "parallel: {dp_size: 2}"),
    ],
)
def test_what_a_fix_takes_out_is_null_where_defaults_gives_it_too(
    defaults: str, own: str, path: tuple[str, ...], left: str
) -> None:
    assert fixed(defaults, own, "remove", path) == left


@pytest.mark.parametrize(
    ("own", "path", "text", "left"),
    [
        ("parallel: {tp_size: null}", ("parallel", "tp_size"), "2", "parallel: {tp_size: 2}"),
        ("parallel: null", ("parallel", "tp_size"), "2", "parallel: {tp_size: 2}"),
        ("nccl: {NCCL_PROTO: null, a: b}", ("nccl", "proto"), "LL", "nccl: {NCCL_PROTO: LL, a: b}"),
        (
            "server: {mem-fraction-static: ~}",
            ("server", "mem_fraction_static"),
            "0.8",
            "server: {mem-fraction-static: 0.8}",
        ),
        ("env: {A: null}", ("env", "B"), "c", "env: {A: null, B: c}"),
    ],
)
def test_what_a_fix_adds_takes_the_place_of_null(
    own: str, path: tuple[str, ...], text: str, left: str
) -> None:
    assert fixed("{}", own, "add", path, text) == left
