"""The editor's schema of the ``nccl`` block comes from the facts and agrees with the rules."""

from __future__ import annotations

import pytest
from jsonschema import Draft7Validator

from eaglecfg.nccl.facts import variable_fact
from eaglecfg.nccl.parse import parse
from eaglecfg.nccl.words import LEVELS
from eaglecfg.schema.export import json_schemas

BLOCK = json_schemas()["eaglecfg.schema.json"]["definitions"]["Nccl"]


def test_every_property_is_a_variable() -> None:
    names = [f"NCCL_{key.upper()}" for key in BLOCK["properties"]]
    assert len(names) > 150
    assert all(variable_fact(name) for name in names)


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("nvls_enable", 1, "true"),
        ("p2p_level", "SYS", "sys"),
        ("nthreads", 256, 100),
        ("buffsize", "0x400000", "4M"),
        ("max_ctas", 16, 128),
        ("socket_family", "AF_INET", "af_inet"),
    ],
)
def test_it_refuses_what_the_grammars_complain_about(key: str, good: object, bad: object) -> None:
    validator = Draft7Validator(BLOCK)
    name = f"NCCL_{key.upper()}"
    assert validator.is_valid({key: good})
    assert not parse(name, str(good), "2.30.7").problems
    assert not validator.is_valid({key: bad})
    assert parse(name, str(bad), "2.30.7").problems


def test_variables_that_it_does_not_know_are_left_to_the_rules() -> None:
    assert Draft7Validator(BLOCK).is_valid({"site_patch": "1", "P2P_LEVEL": "SYS"})


def test_levels_are_the_same_in_both() -> None:
    # null, which drops a level that defaults gives, is no level.
    levels = BLOCK["properties"]["p2p_level"]["enum"]
    assert tuple(level for level in levels if level is not None) == LEVELS
