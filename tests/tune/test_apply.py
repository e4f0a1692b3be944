"""The winner becomes an edit of eaglecfg.yaml that keeps comments, layout and everybody else's settings."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import parse_document
from eaglecfg.tune.apply import make_patch
from eaglecfg.tune.arm import apply, arm_key

HEAD = """\
version: 1
engine: {name: sglang, version: 0.5.14}   # pinned
deployments:
"""


def patched(body: str, values: dict[str, Any], name: str = "chat") -> str:
    text = HEAD + body
    config = load_config(parse_document(text, "eaglecfg.yaml", "."))
    (deployment,) = (item for item in config.deployments if item.name == name)
    wanted = apply(deployment.model, values)
    patch = make_patch(config, deployment, wanted)
    again = load_config(parse_document(patch.text, "eaglecfg.yaml", "."))
    (edited,) = (item for item in again.deployments if item.name == name)
    assert arm_key(edited.model) == arm_key(wanted)
    others = {item.name: arm_key(item.model) for item in config.deployments if item.name != name}
    assert {item.name: arm_key(item.model) for item in again.deployments if item.name != name} == others
    return patch.text.removeprefix(HEAD)


FLOW = """\
  chat:   # the one that users see
    target: {checkpoint: t}
    draft: {checkpoint: d}
    speculative: {num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}   # measured last spring
  # other things
"""


def test_values_change_in_place_and_comments_stay() -> None:
    assert patched(FLOW, {"speculative": {"num_steps": 2}}) == FLOW.replace(
        "{num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}",
        "{num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}",
    )


def test_speculation_off_replaces_the_shape_and_leaves_the_draft() -> None:
    expected = FLOW.replace("{num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}", "off")
    assert patched(FLOW, {"speculative": "off"}) == expected


BLOCK = """\
  chat:
    target:
      checkpoint: t
    draft:
      checkpoint: d
    speculative:   # shape
      num_steps: 3   # deep
      eagle_topk: 1
      num_draft_tokens: 4
    server:
      attention-backend: flashinfer   # hyphens are fine
    nccl:
      PROTO: LL

  # the small one
  mini:
    target: {checkpoint: t}
"""


def test_block_style_is_kept_and_other_spellings_are_found() -> None:
    values = {"speculative.num_steps": 1, "server.attention_backend": "triton", "nccl.proto": "Simple"}
    expected = (
        BLOCK.replace("num_steps: 3 ", "num_steps: 1 ")
        .replace("num_draft_tokens: 4", "num_draft_tokens: 2")
        .replace("flashinfer", "triton")
        .replace("PROTO: LL", "PROTO: Simple")
    )
    assert patched(BLOCK, values) == expected


def test_a_block_turns_to_off_and_back() -> None:
    off = patched(BLOCK, {"speculative": "off"})
    assert "    speculative: off\n    server:\n" in off
    on = patched(off, {"speculative": {"num_steps": 2}})
    assert "    speculative: {num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}\n    server:\n" in on


def test_missing_keys_go_into_their_block_with_its_indentation() -> None:
    values = {"server.disable_custom_all_reduce": True, "nccl.min_nchannels": "08"}
    text = patched(BLOCK, values)
    assert (
        "fine\n      disable_custom_all_reduce: true\n    nccl:\n      PROTO: LL\n      min_nchannels: 08\n"
        in text
    )
    assert text.endswith("\n\n  # the small one\n  mini:\n    target: {checkpoint: t}\n")


def test_a_missing_block_is_added_after_the_last_one() -> None:
    assert patched(FLOW, {"nccl.proto": "LL", "nccl.algo": "Ring"}) == FLOW.replace(
        "   # measured last spring\n", "   # measured last spring\n    nccl: {proto: LL, algo: Ring}\n"
    )


def test_unset_removes_the_line_and_the_block_that_it_empties() -> None:
    assert patched(BLOCK, {"nccl.proto": "unset"}) == BLOCK.replace("    nccl:\n      PROTO: LL\n", "")


@pytest.mark.parametrize(("key", "left"), [("a", "{b: 2}"), ("b", "{a: 1}")])
def test_unset_in_a_flow_mapping_leaves_the_rest(key: str, left: str) -> None:
    body = "  chat:\n    target: {checkpoint: t}\n    server: {a: 1, b: 2}  # two\n"
    assert patched(body, {f"server.{key}": "unset"}) == body.replace("{a: 1, b: 2}", left)


def test_text_that_looks_like_something_else_is_quoted() -> None:
    text = patched(FLOW, {"server.kv_cache_dtype": "true", "env.FLAG": "1", "env.NAME": "a b"})
    assert 'server: {kv_cache_dtype: "true"}' in text
    assert 'env: {FLAG: 1, NAME: "a b"}' in text


def test_a_shared_anchor_is_not_edited() -> None:
    pair = "    target: {checkpoint: t}\n    draft: {checkpoint: d}\n"
    body = f"  chat:\n{pair}    speculative: &s {{num_steps: 3}}\n  mini:\n{pair}    speculative: *s\n"
    with pytest.raises(UsageError, match="shared through an anchor"):
        patched(body, {"speculative.num_steps": 1}, "mini")
    with pytest.raises(UsageError, match="shared through an anchor"):
        patched(body, {"speculative.num_steps": 1}, "chat")


DEFAULTS = """\
  chat: {target: {checkpoint: t}}
  mini:
    target: {checkpoint: t}
defaults:
  draft: {checkpoint: d}
  speculative: {num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}
  nccl: {proto: LL}
"""


def test_defaults_are_overridden_for_one_deployment_and_kept_for_the_rest() -> None:
    text = patched(DEFAULTS, {"speculative.num_steps": 2}, "mini")
    assert (
        "    target: {checkpoint: t}\n    speculative: {num_draft_tokens: 3, num_steps: 2}\ndefaults:" in text
    )
    assert "chat: {target: {checkpoint: t}, speculative: off}" in patched(DEFAULTS, {"speculative": "off"})


def test_a_default_is_unset_for_one_deployment_with_null() -> None:
    text = patched(DEFAULTS, {"nccl.proto": "unset"})
    assert text == DEFAULTS.replace(
        "chat: {target: {checkpoint: t}}", "chat: {target: {checkpoint: t}, nccl: null}"
    )


@pytest.mark.parametrize(
    ("defaults", "own", "values", "line"),
    [
        ("nccl: {PROTO: LL, algo: Ring}", "", {"nccl.proto": "unset"}, "nccl: {PROTO: null}"),
        (
            "nccl: {PROTO: LL, algo: Ring}",
            "nccl: {proto: LL128}",
            {"nccl.proto": "unset"},
            "nccl: {proto: null}",
        ),
        ("env: {A: b, C: d}", "", {"env.A": "unset"}, "env: {A: null}"),
        (
            "parallel: {tp_size: 8, dp_size: 2}",
            "",
            {"parallel.dp_size": "unset"},
            "parallel: {dp_size: null}",
        ),
        ("server: {tp: 8, x: 1}", "", {"parallel.tp_size": "unset"}, "server: {tp: null}"),
        (
            "server: {disable-cuda-graph: true, x: 1}",
            "",
            {"server.disable_cuda_graph": False},
            "server: {disable-cuda-graph: null}",
        ),
    ],
)
def test_what_defaults_gives_is_unset_in_its_own_spelling_and_kept_for_others(
    defaults: str, own: str, values: dict[str, Any], line: str
) -> None:
    above = f"defaults:\n  {defaults}\n"
    mine = f"    {own}\n" if own else ""
    body = f"  chat:\n    target: {{checkpoint: t}}\n{mine}  mini: {{target: {{checkpoint: t}}}}\n{above}"
    assert f"    {line}\n  mini:" in patched(body, values, "chat")


def test_an_empty_block_is_filled() -> None:
    body = "  chat:\n    target: {checkpoint: t}\n    nccl: {}   # none yet\n    server: {x: 1}\n"
    assert patched(body, {"nccl.proto": "LL"}) == body.replace("nccl: {}", "nccl: {proto: LL}")


def test_the_diff_applies_to_the_file() -> None:
    text = HEAD + FLOW
    config = load_config(parse_document(text, "eaglecfg.yaml", "."))
    patch = make_patch(
        config, config.deployments[0], apply(config.deployments[0].model, {"speculative": "off"})
    )
    assert patch.diff.startswith("--- a/eaglecfg.yaml\n+++ b/eaglecfg.yaml\n@@ ")
    assert "\n-    speculative: {num_steps: 3" in patch.diff
    assert "\n+    speculative: off   # measured last spring\n" in patch.diff


def test_a_file_without_a_last_newline_is_edited() -> None:
    body = "  chat:\n    target: {checkpoint: t}"
    assert patched(body, {"server.x": 1}) == body + "\n    server: {x: 1}"


def expecting(body: str, values: dict[str, Any], accept_length: float | None) -> str:
    config = load_config(parse_document(HEAD + body, "eaglecfg.yaml", "."))
    (deployment,) = config.deployments
    patch = make_patch(config, deployment, apply(deployment.model, values), accept_length)
    return patch.text.removeprefix(HEAD)


def test_the_accept_length_of_the_winner_is_written_down() -> None:
    two = {"speculative": {"num_steps": 2}}
    shape = FLOW.replace(
        "{num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}",
        "{num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}",
    )
    measured = "    expected_accept_length: 2.46\n"
    assert expecting(FLOW, two, 2.4632) == shape.replace("  # other", f"{measured}  # other")
    assert expecting(FLOW, two, None) == shape
    again = FLOW.replace("  # other", "    expected_accept_length: 2.99  # last spring\n  # other")
    assert "expected_accept_length: 2.46  # last spring\n" in expecting(again, two, 2.4632)
    assert "expected_accept_length: 2.99  # last spring\n" in expecting(again, two, 2.9912)


def test_the_accept_length_goes_with_speculation() -> None:
    expected = FLOW.replace("  # other", "    expected_accept_length: 2.99\n  # other")
    assert "expected_accept_length" not in expecting(expected, {"speculative": "off"}, None)
    assert "expected_accept_length" not in expecting(FLOW, {"speculative": "off"}, None)
