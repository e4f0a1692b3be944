"""Config files as typed deployments, and the way back to the text."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eaglecfg.schema.deployment import Speculative
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig
from eaglecfg.source.read import parse_document

CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.12}
defaults:
  target: {checkpoint: t, hidden_size: 7168}
  parallel: {tp_size: 8}
  server: {mem-fraction-static: 0.85, tags: [a, b]}
  speculative: {num_steps: 2, eagle_topk: 1}
  nccl: {PROTO: LL}
deployments:
  chat:
    draft: {checkpoint: d}
    parallel: {dp_size: 2}
    server: {--mem_fraction_static: 0.9, tags: [c]}
    speculative: {num_steps: 3}
    nccl: {NCCL_PROTO: Simple, min_nchannels: 8}
    env: {NUMBER: 010, TRUTH: yes, VERSION: 2.30, QUOTED: "a b"}
    hardware: {gpu: 4090, nccl_version: 2.30, cuda: 13, gpu_memory: 96GiB}
  plain:
    target: {hidden_size: 4096}
    speculative: off
    draft: null
"""


def load(text: str) -> LoadedConfig:
    return load_config(parse_document(text, "eaglecfg.yaml", "."))


def test_defaults_go_under_every_deployment() -> None:
    config = load(CONFIG)
    assert config.problems == ()
    chat, plain = config.deployments
    assert chat.model.target.hidden_size == 7168
    assert plain.model.target.hidden_size == 4096
    assert plain.model.target.checkpoint == "t"
    assert (chat.model.parallel.tp_size, chat.model.parallel.dp_size) == (8, 2)
    assert chat.model.speculative == Speculative(num_steps=3, eagle_topk=1)
    assert plain.model.speculative == "off"


def test_lists_are_replaced_and_spellings_of_one_key_are_one() -> None:
    chat, plain = load(CONFIG).deployments
    assert chat.model.server == {"mem_fraction_static": 0.9, "tags": ["c"]}
    assert plain.model.server == {"mem_fraction_static": 0.85, "tags": ["a", "b"]}
    assert chat.model.nccl == {"proto": "Simple", "min_nchannels": "8"}
    assert plain.model.nccl == {"proto": "LL"}


def test_text_keeps_its_spelling() -> None:
    chat = load(CONFIG).deployments[0].model
    assert chat.env == {"NUMBER": "010", "TRUTH": "yes", "VERSION": "2.30", "QUOTED": "a b"}
    assert chat.hardware is not None
    assert (chat.hardware.gpu, chat.hardware.nccl_version, chat.hardware.cuda) == ("4090", "2.30", "13")
    engine = load("version: 1\nengine: {version: 0.10}\ndeployments: {a: {target: {checkpoint: t}}}").engine
    assert engine is not None
    assert engine.version == "0.10"


def test_every_setting_leads_back_to_where_it_was_written() -> None:
    chat = load(CONFIG).deployments[0]
    own: tuple[str, ...] = ("deployments", "chat")
    assert chat.document_path(("target", "hidden_size")) == ("defaults", "target", "hidden_size")
    assert chat.document_path(("parallel", "dp_size")) == (*own, "parallel", "dp_size")
    assert chat.document_path(("parallel", "tp_size")) == ("defaults", "parallel", "tp_size")
    assert chat.document_path(("server", "mem_fraction_static")) == (*own, "server", "--mem_fraction_static")
    assert chat.document_path(("server", "tags", 0)) == (*own, "server", "tags", 0)
    assert chat.document_path(("nccl", "proto")) == (*own, "nccl", "NCCL_PROTO")
    assert chat.document_path(("capture", "offset")) == own
    assert chat.document_path(()) == own


def test_the_absence_of_speculation_is_not_off() -> None:
    config = load("version: 1\nengine: {version: 1}\ndeployments: {a: {target: {checkpoint: t}}}")
    assert config.deployments[0].model.speculative is None


def test_two_spellings_in_one_block_are_the_same_setting() -> None:
    config = load(
        "version: 1\nengine: {version: 1}\ndefaults: {nccl: {PROTO: LL, proto: LL}}\ndeployments:\n"
        "  a: {target: {checkpoint: t}, server: {tp-size: 1, tp_size: 1}}\n  b: {target: {checkpoint: t}}\n"
    )
    assert {(p.kind, p.deployment, p.path, p.other) for p in config.problems} == {
        ("same-setting", None, ("defaults", "nccl", "proto"), ("defaults", "nccl", "PROTO")),
        (
            "same-setting",
            "a",
            ("deployments", "a", "server", "tp_size"),
            ("deployments", "a", "server", "tp-size"),
        ),
    }


def test_a_slip_in_the_defaults_is_told_once_and_counts_for_all() -> None:
    config = load(
        "version: 1\nengine: {version: 1}\ndefaults: {target: {checkpoint: t, head_dim: x}}\n"
        "deployments: {a: {}, b: {}, c: {target: {head_dim: 64}}}\n"
    )
    (problem,) = config.problems
    assert problem.path == ("defaults", "target", "head_dim")
    assert problem.deployment is None
    refused = {loaded.name: loaded.refused for loaded in config.deployments}
    assert refused == {
        "a": {("target", "head_dim")},
        "b": {("target", "head_dim")},
        "c": set(),
    }


def test_a_file_that_does_not_parse_has_no_schema_problems() -> None:
    config = load("a: [")
    assert (config.engine, config.deployments, config.problems) == (None, (), ())


_BLOCKS = ["target", "draft", "capture", "parallel", "speculative", "server", "nccl", "env", "hardware"]
_KEYS = [
    "checkpoint",
    "hidden_size",
    "layer_ids",
    "offset",
    "tp_size",
    "num_steps",
    "proto",
    "topology",
    "gpu",
]
_NAMES = st.sampled_from([*_BLOCKS, *_KEYS, "version", "name", "defaults", "deployments", "off", "x-y"])
_VALUES = st.recursive(
    st.sampled_from(["1", "8", "0.5", "'8'", "text", "off", "true", "null", "~", "010", "sglang", "*a"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(_NAMES, inner, max_size=5).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        )
    ),
    max_leaves=14,
)


@settings(max_examples=200, deadline=None)
@given(_VALUES, _VALUES, _VALUES)
def test_any_shape_of_file_is_loaded_or_refused(defaults: str, chat: str, rest: str) -> None:
    config = load(
        f"version: 1\nengine: {rest}\ndefaults: {defaults}\ndeployments:\n  chat: {chat}\n"
        f"  ok: {{target: {{checkpoint: t}}, server: {rest}}}\n"
    )
    document = config.document
    for problem in config.problems:
        assert problem.message
        assert problem.path[:-1] in document.places or problem.path in document.places
    for loaded in config.deployments:
        assert all(origin in document.places for origin in loaded.origin.values())
        dumped: dict[str, Any] = loaded.model.model_dump()
        assert dumped["target"]["checkpoint"]
