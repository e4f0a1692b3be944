"""What the schema refuses, where it says so, and what it tells to write instead: one line per case."""

from __future__ import annotations

import pytest

from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig, SchemaProblem
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import show_path

HEAD = "version: 1\nengine: {name: sglang, version: 0.5.23}\ndeployments:\n"


def load(text: str) -> LoadedConfig:
    return load_config(parse_document(text, "eaglecfg.yaml", "."))


def deployment(line: str, target: str = "target: {checkpoint: t}") -> LoadedConfig:
    return load(f"{HEAD}  chat:\n    {target}\n    {line}\n")


def told(problem: SchemaProblem) -> str:
    return f"{problem.message} | {problem.help}"


# line of a deployment, kind, path inside the deployment, words of message and help
CASES = [
    (
        "parallel: {tp_size: '8'}",
        "wrong-type",
        "parallel.tp_size",
        'a whole number, not the text "8"',
        "write 8",
    ),
    ("parallel: {tp_size: 8.0}", "wrong-type", "parallel.tp_size", "a whole number, not 8.0", "write 8"),
    ("parallel: {tp_size: 8.5}", "wrong-type", "parallel.tp_size", "a whole number, not 8.5", "whole number"),
    ("parallel: {tp_size: true}", "wrong-type", "parallel.tp_size", "a whole number, not true", "a number"),
    ("parallel: {tp_size: 1_024}", "wrong-type", "parallel.tp_size", "a whole number", "write 1024"),
    ("capture: {layer_ids: [2, null]}", "wrong-type", "capture.layer_ids[1]", "not nothing", "write a value"),
    ("parallel: {tp_size: [8]}", "wrong-type", "parallel.tp_size", "not a list", "whole number"),
    ("parallel: {tp_size: .inf}", "wrong-type", "parallel.tp_size", "not .inf", "whole number"),
    ("parallel: 8", "wrong-type", "parallel", "a mapping, not 8", "tp_size"),
    (
        "parallel: {enable_dp_attention: yes}",
        "wrong-type",
        "parallel.enable_dp_attention",
        "yes",
        "write true",
    ),
    ("parallel: {enable_dp_attention: 0}", "wrong-type", "parallel.enable_dp_attention", "0", "write false"),
    ("parallel: {tpsize: 8}", "unknown-key", "parallel.tpsize", '"tpsize"', "tp_size"),
    (
        "parallel: {moe_dp_size: 8}",
        "unknown-key",
        "parallel.moe_dp_size",
        "no key",
        "server:, as moe_dp_size",
    ),
    ("parallel: {tp: 8}", "unknown-key", "parallel.tp", '"tp"', "tp_size"),
    ("tp_size: 8", "unknown-key", "tp_size", "deployment chat has no key", "belongs under parallel:"),
    ("num-steps: 8", "unknown-key", "num-steps", '"num-steps"', "num_steps belongs under speculative:"),
    ("sever: {}", "unknown-key", "sever", '"sever"', "server"),
    ("speculative: {num_step: 3}", "unknown-key", "speculative.num_step", "no key", "num_steps"),
    (
        "speculative: {token_map: x}",
        "unknown-key",
        "speculative.token_map",
        "no key",
        "speculative_token_map",
    ),
    ("speculative: false", "wrong-type", "speculative", "off or a mapping, not false", "speculative: off"),
    ("speculative: none", "wrong-type", "speculative", 'not the text "none"', "speculative: off"),
    ("speculative: {num_steps: x}", "wrong-type", "speculative.num_steps", "a whole number", "whole number"),
    ("draft: {}", "missing-key", "draft.checkpoint", "draft needs the key checkpoint", "add checkpoint:"),
    ("draft: {checkpoint: 8}", "wrong-type", "draft.checkpoint", "text, not 8", '"8"'),
    ("draft: {checkpont: d}", "unknown-key", "draft.checkpont", "no key", "checkpoint"),
    ("capture: {layer_ids: 2}", "wrong-type", "capture.layer_ids", "a list, not 2", "[2]"),
    ("capture: {layer_ids: [2, x]}", "wrong-type", "capture.layer_ids[1]", "a whole number", "whole number"),
    ("capture: {layer_ids: {a: 1}}", "wrong-type", "capture.layer_ids", "a list, not a mapping", "list"),
    (
        "hardware: {topology: mesh}",
        "wrong-type",
        "hardware.topology",
        "nvswitch, nvlink-pair or pcie",
        "single",
    ),
    ("server: [a]", "wrong-type", "server", "a mapping, not a list", "mapping"),
    ("env: {A: [1]}", "wrong-type", "env.A", "text, not a list", "text"),
    ("draft: {checkpoint: }", "wrong-type", "draft.checkpoint", "text, not nothing", '""'),
    ("parallel: {tp: }", "unknown-key", "parallel.tp", '"tp"', "tp_size"),
    ("env: {A: {B: 1}}", "wrong-type", "env.A", "text, not a mapping", "text"),
]


@pytest.mark.parametrize(("line", "kind", "path", "message", "help"), CASES)
def test_one_slip_is_one_problem(line: str, kind: str, path: str, message: str, help: str) -> None:
    config = deployment(line)
    problems = [p for p in config.problems if p.kind != "missing-key" or kind == "missing-key"]
    assert [(p.kind, show_path(p.path)) for p in problems][:1] == [(kind, f"deployments.chat.{path}")]
    assert message in problems[0].message
    assert help in problems[0].help
    assert problems[0].deployment == "chat"
    # The deployment is still there, and knows what it lost.
    (loaded,) = config.deployments
    assert loaded.model.target.checkpoint == "t"
    assert loaded.refused


def test_a_missing_key_that_was_refused_is_no_second_problem() -> None:
    config = deployment("draft: {checkpoint: 8}")
    assert len(config.problems) == 1
    assert ("draft",) in config.deployments[0].refused


def test_all_slips_of_a_file_show_at_once() -> None:
    config = load(
        "version: 2\nengine: {name: 5, vrsion: 1}\nextra: 1\ndeployments:\n  a: 3\n  b: {draft: {}}\n"
        "  c: {target: {checkpoint: t, dtyp: x, head_dim: '1'}, parallel: {tp_size: no}}\n"
    )
    found = {(p.kind, show_path(p.path)) for p in config.problems}
    assert found == {
        ("wrong-type", "version"),
        ("wrong-type", "engine.name"),
        ("unknown-key", "engine.vrsion"),
        ("missing-key", "engine.version"),
        ("unknown-key", "extra"),
        ("wrong-type", "deployments.a"),
        ("missing-key", "deployments.b.target"),
        ("missing-key", "deployments.b.draft.checkpoint"),
        ("unknown-key", "deployments.c.target.dtyp"),
        ("wrong-type", "deployments.c.target.head_dim"),
        ("wrong-type", "deployments.c.parallel.tp_size"),
    }
    assert config.engine is None
    assert [loaded.name for loaded in config.deployments] == ["c"]


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("[]", "wrong-type", ""),
        ("text", "wrong-type", ""),
        ("{}", "missing-key", "version"),
        ("version: 1", "missing-key", "engine"),
        ("version: 1\nengine: sglang", "wrong-type", "engine"),
        ("version: 1\nengine:", "wrong-type", "engine"),
        ("version: 1.0\nengine: {version: 1}", "wrong-type", "version"),
        ("version: true\nengine: {version: 1}", "wrong-type", "version"),
        ("version: '1'\nengine: {version: 1}", "wrong-type", "version"),
        ("version: 1\nengine: {version: 1}\ndeployments: []", "wrong-type", "deployments"),
        ("version: 1\nengine: {version: 1}\ndeployments: {}", "wrong-type", "deployments"),
        ("version: 1\nengine: {version: 1}\ndeployments: {a: }", "wrong-type", "deployments.a"),
        ("version: 1\nengine: {version: 1}\ndefaults: 3\ndeployments: {}", "wrong-type", "defaults"),
        ("version: 1\nengine: {version: 1}\ndeploymnts: {}", "unknown-key", "deploymnts"),
        ("version: 1\nengine: {version: 1}\ntarget: {}\ndeployments: {}", "unknown-key", "target"),
    ],
)
def test_slips_at_the_top_of_the_file(text: str, kind: str, path: str) -> None:
    assert (kind, path) in {(p.kind, show_path(p.path)) for p in load(text).problems}


def test_a_block_at_the_top_is_sent_to_its_place() -> None:
    (problem,) = load(f"{HEAD}  a: {{target: {{checkpoint: t}}}}\nserver: {{}}\n").problems
    assert "under defaults:" in problem.help


def test_text_that_explains_a_refusal_is_not_explained_again() -> None:
    config = deployment("parallel: {tp_size: 010, pp_size: 0o2}")
    assert [problem.kind for problem in config.document.problems] == ["ambiguous-number"] * 2
    assert config.problems == ()
    assert config.deployments[0].refused == {("parallel", "tp_size"), ("parallel", "pp_size")}


def test_an_unknown_alias_is_an_unknown_value() -> None:
    config = deployment("server: {mem_fraction_static: *fraction, port: 1}")
    assert config.problems == ()
    assert config.deployments[0].model.server == {"port": 1}
    assert config.deployments[0].refused == {("server", "mem_fraction_static")}


@pytest.mark.parametrize(
    "line",
    [
        "speculative: {num_steps: 0, eagle_topk: -1, algorithm: MAGIC}",
        "parallel: {tp_size: 0}",
        "server: {no_such_flag: [1, {a: b}], other: null}",
        "capture: {layer_ids: [-1, 900, -1], offset: -7}",
        "nccl: {no_such_variable: 1}",
        "env: {}",
        "env:",
        "parallel:",
        "speculative:",
    ],
)
def test_what_an_engine_judges_is_left_to_it(line: str) -> None:
    config = deployment(line)
    assert config.problems == ()
    assert not config.deployments[0].refused


def test_no_word_of_the_library_behind_shows() -> None:
    for line, *_ in CASES:
        for problem in deployment(line).problems:
            assert "pydantic" not in told(problem).lower()
            assert "input should" not in told(problem).lower()
            assert "http" not in told(problem)


def test_a_thousand_slips_are_listed_up_to_a_limit() -> None:
    lines = "".join(f"  d{number}: {{target: 1}}\n" for number in range(1000))
    assert len(load(HEAD + lines).problems) == 100
