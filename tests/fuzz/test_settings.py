"""Whatever eaglecfg.yaml holds, the check ends in a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eaglecfg.engines.table import load_facts
from eaglecfg.rules.examples import BASE_CONFIG
from eaglecfg.schema.deployment import Capture, Draft, Hardware, Parallel, Speculative, Target
from eaglecfg.schema.fields import fields_of
from tests.fuzz.odd import DELETED, changed, check, several, values

CHAT = ("deployments", "chat")
BLOCKS = {
    "target": Target,
    "draft": Draft,
    "capture": Capture,
    "parallel": Parallel,
    "speculative": Speculative,
    "hardware": Hardware,
}
KEYS = [
    *(("version",), ("engine",), ("engine", "name"), ("engine", "version"), ("defaults",), ("deployments",)),
    *((*CHAT, block) for block in (*BLOCKS, "server", "nccl", "env", "zzz")),
    *((*CHAT, block, name) for block, model in BLOCKS.items() for name in fields_of(model)),
    *((*CHAT, "nccl", name) for name in ("algo", "proto", "min_nchannels", "ib_hca", "zz zz", "conf_file")),
    *((*CHAT, "env", name) for name in ("NCCL_ALGO", "PATH", "CUDA_VISIBLE_DEVICES", "a b")),
]
FACTS = load_facts("sglang", "0.5.23")
assert FACTS is not None
FLAGS = sorted(FACTS.flags)
LOOKED_AT = [
    "attention_backend",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "page_size",
    "dtype",
    "speculative_algorithm",
    "speculative_adaptive",
    "json_model_override_args",
    "context_length",
    "dp_size",
    "tp_size",
    "quantization",
    "enable_dp_attention",
    "cuda_graph_bs",
    "load_format",
    "speculative_draft_attention_backend",
]
ODD_VERSIONS = [
    *("", "nightly", "0.5", "v0.5.14", "1e9", "0.5.14+cu130", "main", "x" * 400, "9" * 300, "1!0.5.14", "-1"),
    *("0.5.14rc1", "0.5.14.dev3+g1234", "ü", "\u202e", ">=0.5", "0.5.*", "  "),
]
ODD_NAMES = ["ü", "a b", "a.b", "1", "", "-x", "x" * 400, "a/b", "a: b", "null", "[x]", "\u202e", "a\nb"]
ODD_PATHS = [
    *(
        "",
        "/",
        "..",
        ".",
        "target/../target",
        "ü b",
        "/dev/null",
        "/proc/self",
        "~/x",
        "http://x",
        "a/b",
        "-x",
    ),
    *("x" * 5000, "target/config.json", "$HOME", "C:\\x", "file:///x"),
]


def written(config: Any, folder: Path) -> None:
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    (folder / "eaglecfg.yaml").write_text(text, encoding="utf-8")


@several(50)
@given(path=st.sampled_from(KEYS), value=values | st.just(DELETED), below=st.booleans())
def test_any_value_of_any_key(path: tuple[str, ...], value: Any, below: bool, pair: Path) -> None:
    if below and path[:2] == CHAT and len(path) > 2:
        path = ("defaults", *path[2:])
    written(changed(BASE_CONFIG, path, value), pair)
    check(pair)


@several(40)
@given(
    flags=st.dictionaries(
        st.sampled_from(FLAGS) | st.sampled_from(LOOKED_AT), values, min_size=1, max_size=3
    ),
    version=st.sampled_from(FACTS.known_versions),
    alone=st.booleans(),
)
def test_any_value_of_any_flag(flags: dict[str, Any], version: str, alone: bool, pair: Path) -> None:
    config = changed(changed(BASE_CONFIG, (*CHAT, "server"), flags), ("engine", "version"), version)
    written(changed(config, (*CHAT, "speculative"), DELETED) if alone else config, pair)
    check(pair)


OVERRIDES = [
    *(
        "[" * 100_000,
        '{"a":' * 3000 + "1" + "}" * 3000,
        '{"num_hidden_layers": 1000000000}',
        "NaN",
        "9" * 5000,
    ),
    *(
        '{"text_config": 5}',
        '{"architectures": [["x"]]}',
        '{"rope_scaling": {"factor": 1e308}}',
        '{"dtype": {}}',
    ),
    *('{"num_attention_heads": 0}', '{"model_type": []}', '{"eagle_config": []}', '{"vocab_size": 1e400}'),
]


@pytest.mark.parametrize("override", OVERRIDES, ids=lambda text: text[:30])
def test_any_override_of_both_configs(override: str, pair: Path) -> None:
    written(changed(BASE_CONFIG, (*CHAT, "server", "json_model_override_args"), override), pair)
    check(pair)


@pytest.mark.parametrize("version", ODD_VERSIONS, ids=ascii)
def test_odd_engine_versions(version: str, pair: Path) -> None:
    for name in ("sglang", "vllm", "x" * 400, "../sglang", ""):
        written(changed(BASE_CONFIG, ("engine",), {"name": name, "version": version}), pair)
        check(pair)


def test_odd_names_and_paths(pair: Path) -> None:
    chat = BASE_CONFIG["deployments"]["chat"]
    for name in ODD_NAMES:
        written({**BASE_CONFIG, "deployments": {name: chat, "chat": chat}}, pair)
        check(pair)
    for path in ODD_PATHS:
        for role in ("target", "draft"):
            written(changed(BASE_CONFIG, (*CHAT, role, "checkpoint"), path), pair)
            check(pair)
