"""Deployments of every shape that the schema takes, for properties of render and import."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from eaglecfg.schema.deployment import Deployment

# What a config file can hold, and a process can be given: no control characters, no lone surrogates.
TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc"), whitelist_characters="\n\t"), max_size=40)
NASTY_VALUES = [
    "", " ", "no", "1e3", "0x10", "null", "2001-01-01", "$HOME", "${A:-b}", "$(id)", "`id`", "a'b", 'a"b',
    "a\\", "\n", "-x", "--y", "-1", "~/m", "#c", "a #b", "a: b", "*", "!x", "&a", "{}", "[]", "%", "$$",
    "$(A)", "$((1))", "a\nb", "=", "\\n", "'", '"', "0.80", "true", "${SGLANG_CHAT_TEMPLATE}", "a,b", "on",
    "{{ x }}", "\t", "😀", "$", "é\u2028ü",
]  # fmt: skip
NASTY = st.sampled_from(NASTY_VALUES)
VALUE = NASTY | TEXT
NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
NUMBER = st.integers(0, 10**6) | st.floats(allow_nan=False, allow_infinity=False).map(float)
WHOLE = st.integers(1, 64)
SERVER = st.fixed_dictionaries(
    {},
    optional={
        "trust_remote_code": st.booleans(),
        "chat_template": VALUE,
        "served_model_name": VALUE,
        "mem_fraction_static": st.floats(0, 1) | st.sampled_from(["0.80", "0.850", "x"]),
        "context_length": st.integers(-1, 10**6) | st.sampled_from(["128k", "0007", "12"]),
        "max-running-requests": WHOLE,
        "cuda_graph_bs": st.lists(WHOLE, max_size=4),
        "json_model_override_args": st.sampled_from(['{"a": 1}', '{"a":1}', "{}"]) | VALUE,
        "lora_paths": st.lists(NAME, max_size=2),
        "mm_process_config": st.dictionaries(TEXT, NUMBER | TEXT, max_size=2) | VALUE,
        "api_key": VALUE,
        "tensor-parallel-size": WHOLE,
        "port": st.integers(1, 65535),
        "host": VALUE,
        "made_up": VALUE
        | NUMBER
        | st.booleans()
        | st.none()
        | st.lists(st.integers(0, 99) | NAME, max_size=3),
        "speculative_token_map": VALUE,
        "speculative_num_steps": WHOLE,
        "revision": VALUE,
    },
)
MODEL = st.sampled_from(["models/t", "org/name", "/data/m", "../m", "org/name@main", "a/b/c"]) | TEXT.filter(
    bool
)
VARIABLES = st.dictionaries(
    NAME | st.sampled_from(["HF_TOKEN", "UID", "_", "IFS", "PATH_X", "NCCL_DEBUG"]), VALUE, max_size=4
)


def _deployment(parts: dict[str, Any]) -> Deployment:
    return Deployment.model_validate({key: value for key, value in parts.items() if value is not None})


DEPLOYMENTS = st.fixed_dictionaries(
    {"target": st.fixed_dictionaries({"checkpoint": MODEL}, optional={"revision": TEXT})},
    optional={
        "draft": st.fixed_dictionaries({"checkpoint": MODEL}, optional={"revision": TEXT}),
        "parallel": st.fixed_dictionaries(
            {}, optional={"tp_size": WHOLE, "dp_size": WHOLE, "enable_dp_attention": st.booleans()}
        ),
        "speculative": st.just("off")
        | st.fixed_dictionaries(
            {}, optional={"algorithm": VALUE, "num_steps": WHOLE, "num_draft_tokens": WHOLE}
        ),
        "server": SERVER,
        "nccl": st.dictionaries(st.sampled_from(["proto", "p2p_level", "NCCL_ALGO", "x"]), VALUE, max_size=2),
        "env": VARIABLES,
    },
).map(_deployment)
