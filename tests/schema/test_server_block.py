"""The editor's schema of the ``server`` block: the engine's flags by name. It refuses nothing."""

from __future__ import annotations

import json

from jsonschema import Draft7Validator

from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.schema.deployment import Parallel
from eaglecfg.schema.export import json_schemas

BLOCK = json_schemas()["eaglecfg.schema.json"]["definitions"]["Server"]
NEWEST = load_facts("sglang", known_versions("sglang")[-1])


def test_it_has_every_flag_of_the_newest_version_that_has_no_other_place() -> None:
    assert NEWEST is not None
    elsewhere = {
        *Parallel.model_fields,
        *(f"speculative_{name}" for name in ("algorithm", "num_steps", "eagle_topk", "num_draft_tokens")),
        *("model_path", "revision", "speculative_draft_model_path", "speculative_draft_model_revision"),
    }
    assert BLOCK["properties"].keys() == NEWEST.flags.keys() - elsewhere


def test_each_flag_says_what_it_takes_and_shows_values_that_the_facts_have() -> None:
    assert NEWEST is not None
    for name, schema in BLOCK["properties"].items():
        assert schema["description"].endswith("."), name
        assert "<computed>" not in json.dumps(schema), name
        choices = NEWEST.flags[name].choices
        assert not choices or set(schema["examples"]) <= set(choices), name


def test_it_refuses_nothing_since_flags_differ_by_version_and_spelling() -> None:
    for value in ({"tp-size": 8}, {"page_size": "x"}, {"gone_flag": [1]}, {"api_key": "${KEY}"}, {}):
        assert list(Draft7Validator(BLOCK).iter_errors(value)) == []
