"""Line and column of JSON values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.locate import locate

TEXT = """{
  "architectures": ["A", "B"],
  "hidden_size": 4096,
\t"text_config": {"hidden_size" : 7168, "a.b": {"c": null}},
  "a": {"b": {"c": 1}},
  "quo\\"te": "{\\"hidden_size\\": 1}", "\\u0065scaped": [1, [2, 3]],
  "twice": 1, "twice": 2
}
"""


def config(text: str) -> ModelConfig:
    return ModelConfig("config.json", json.loads(text), text)


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("architectures", (2, 20)),
        ("architectures[1]", (2, 26)),
        ("hidden_size", (3, 18)),
        ("text_config", (4, 17)),
        ("text_config.hidden_size", (4, 34)),
        ("text_config.a.b", (4, 47)),
        ("text_config.a.b.c", (4, 53)),
        ("a.b.c", (5, 20)),
        ('quo"te', (6, 14)),
        ("escaped[1][0]", (6, 59)),
        ("twice", (7, 24)),
        ("", (1, 1)),
        ("absent", None),
        ("hidden_size.deeper", None),
        ("architectures[2]", None),
        ("text_config.absent", None),
    ],
)
def test_place_of_a_key(key: str, place: tuple[int, int] | None) -> None:
    assert locate(config(TEXT), key) == place


@pytest.mark.parametrize(
    "text", ["", "{", '{"a"', '{"a":', '{"a": [', '{"a: 1}', "}", '{"a" 1}', "{1: 2}", '{"b": 1 "a"']
)
def test_text_that_is_no_json_does_not_raise(text: str) -> None:
    assert locate(ModelConfig("config.json", {}, text), "a.b") is None


names = st.text(st.characters(codec="utf-8", exclude_characters=".["), min_size=1, max_size=6)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(names, values, min_size=1, max_size=4), st.sampled_from([None, 0, 2]), st.booleans())
def test_every_value_of_a_text_is_found(data: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    decoder = json.JSONDecoder()
    lines = text.split("\n")
    for key, value in paths(data, ""):
        place = locate(config(text), key)
        assert place is not None
        rest = "\n".join([lines[place[0] - 1][place[1] - 1 :], *lines[place[0] :]])
        assert decoder.raw_decode(rest)[0] == value


def paths(value: Any, path: str) -> list[tuple[str, Any]]:
    """Every dotted path in a value, with what stands there."""
    out = [(path, value)] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            out += paths(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            out += paths(inner, f"{path}[{index}]")
    return out
