"""A setting counts wherever the file gives it: in its block, or under ``server`` by any name of its flag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from eaglecfg.engines.blocks import ALIASES, BLOCKS, in_blocks
from eaglecfg.engines.command import launch_arguments
from eaglecfg.engines.resolve import Resolution
from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.record import replace
from eaglecfg.report.catalogue import family_of
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.examples import materialize, read_docs
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.runner import validate
from eaglecfg.rules.weights.reading import weigher
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import read_document

SHAPE = {"draft": None, "capture": None, "speculative": "off"}
MODEL = {"num_attention_heads": 6, "num_key_value_heads": 3, "intermediate_size": 500}
MLA = {"kv_lora_rank": 64, "num_attention_heads": 6}
GPUS: Mapping[str, Any] = {"hardware": {"gpu": "H200", "count": 4, "topology": "nvswitch"}}

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "heads": {"tp_size": 4},
    "odd": {"tp_size": 3},
    "too many": {"tp_size": 8},
    "none": {"tp_size": 0},
    "text": {"tp_size": "4"},
    "stages": {"tp_size": 4, "pp_size": 2},
    "replicas": {"tp_size": 4, "dp_size": 2},
    "dp attention": {"tp_size": 4, "dp_size": 2, "enable_dp_attention": True},
    "uneven dp attention": {"tp_size": 4, "dp_size": 3, "enable_dp_attention": True},
    "dp attention of one": {"tp_size": 4, "dp_size": 1, "enable_dp_attention": True},
    "attention groups": {"tp_size": 4, "attn_dp_size": 3},
    "experts": {"tp_size": 4, "ep_size": 3},
    "hosts": {"tp_size": 4, "nnodes": 3},
    "hosts of replicas": {"tp_size": 4, "nnodes": 2, "dp_size": 2},
}
NAMES: Mapping[str, tuple[str, ...]] = {
    "tp_size": ("tp-size", "tensor_parallel_size", "tensor-parallel-size", "tp", "tensor_par"),
    "pp_size": ("pp-size", "pipeline_parallel_size", "pipeline-parallel-size", "pipe"),
    "dp_size": ("dp-size", "data_parallel_size", "data-parallel-size", "dp", "data_parallel_s"),
    "ep_size": ("ep-size", "expert_parallel_size", "expert-parallel-size", "ep", "expert_par"),
    "attn_dp_size": ("attn-dp-size", "attention_data_parallel_size", "attn_dp"),
    "enable_dp_attention": ("enable-dp-attention", "--enable-dp-attention"),
    "nnodes": ("--nnodes", "nnode"),
}
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "the pair": {},
    "a model that does not divide": {"target": {"config": MODEL}, "draft": {"config": MODEL}},
    "latent attention": {"target": {"config": MLA}},
}


def _placed(settings: Mapping[str, Any], names: Mapping[str, str] | None) -> dict[str, Any]:
    """The settings in the parallel block, or under ``server`` by these names."""
    if names is None:
        return {"parallel": {"tp_size": None, **_numbers(settings)}}
    server = {names[name]: value for name, value in settings.items()}
    return {"parallel": None, "server": server}


def _numbers(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: int(value) if isinstance(value, str) else value for name, value in settings.items()}


def _findings(folder: Path, example: Mapping[str, Any]) -> list[str]:
    report = validate([read_document(materialize(example, folder), "eaglecfg.yaml")])
    assert not report.crashes
    said = [f"{each.rule.id} {each.finding.message}" for each in report.findings]
    said += [f"{each.rule.id} not checked {each.reason}" for each in report.not_checked]
    return sorted(one for one in said if not one.startswith("EC341"))


def _ways(settings: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    yield {name: name for name in settings}
    for which in range(max(len(NAMES[name]) for name in settings)):
        yield {name: NAMES[name][min(which, len(NAMES[name]) - 1)] for name in settings}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("case", SETTINGS)
def test_rules_find_the_same_wherever_a_number_of_ranks_stands(
    case: str, change: str, tmp_path: Path
) -> None:
    settings, rest = SETTINGS[case], CHANGES[change]
    for each in ("0.5.14", "0.5.23") if change == "the pair" else ("0.5.23",):
        wanted = _findings(
            tmp_path / f"block-{each}",
            {**rest, "engine": each, "deployment": {**GPUS, **_placed(settings, None)}},
        )
        for number, names in enumerate(_ways(settings)):
            if each == "0.5.14" and "attn_dp_size" in names:
                continue  # a flag that it does not have, by whatever name
            example = {**rest, "engine": each, "deployment": {**GPUS, **_placed(settings, names)}}
            assert _findings(tmp_path / f"{each}-{number}", example) == wanted, names


def test_the_cases_reach_every_rule_about_ranks(tmp_path: Path) -> None:
    """Cases that trip no rule would compare nothing with nothing."""
    reached = set()
    for case, settings in SETTINGS.items():
        for change, rest in CHANGES.items():
            example = {**rest, "deployment": {**GPUS, **_placed(settings, None)}}
            reached |= {one.split()[0] for one in _findings(tmp_path / f"{case}-{change}", example)}
    wanted = {"EC401", "EC402", "EC403", "EC404", "EC405", "EC406", "EC407", "EC408", "EC409", "EC410"}
    assert wanted - {"EC407"} | {"EC411", "EC418", "EC420"} <= reached


EXAMPLES = [
    pytest.param(example, id=f"{rule.id}-{number}")
    for rule in ALL_RULES
    for number, example in enumerate(read_docs(rule).failing)
    if number == 0 or family_of(rule) in ("parallel", "arguments")
    if example.keys().isdisjoint({"text", "study", "study_text", "engine_says", "server_says"})
    and family_of(rule) not in ("text", "schema", "study", "files")
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_all_rules_are_found_under_server_too(example: Mapping[str, Any], tmp_path: Path) -> None:
    path = materialize(example, tmp_path)
    before = validate([read_document(path, "eaglecfg.yaml")])
    config = yaml.safe_load(path.read_text("utf-8"))
    if any(each.rule.id.startswith("EC1") for each in before.findings):
        return  # what the schema refuses in a block is no flag
    deployment = config["deployments"]["chat"]
    server = deployment.setdefault("server", {})
    for name, value in deployment.pop("parallel", {}).items():
        server[name] = value
    if isinstance(deployment.get("speculative"), dict) and "draft" in deployment:
        shape = {"algorithm": "EAGLE3", **deployment.pop("speculative")}
        server |= {f"speculative_{name}": value for name, value in shape.items()}
    if deployment.get("speculative") != "off" and deployment.get("draft", {}).keys() == {"checkpoint"}:
        server["speculative_draft_model_path"] = deployment.pop("draft")["checkpoint"]
    path.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    after = validate([read_document(path, "eaglecfg.yaml")])
    assert not after.crashes
    found = [sorted((each.rule.id, each.finding.message) for each in one.findings) for one in (before, after)]
    assert found[1] == found[0]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_value_that_is_no_number_leaves_rules_about_ranks_undecided(name: str, tmp_path: Path) -> None:
    example = {"deployment": {"parallel": None, "server": {name: "eight"}}}
    report = validate([read_document(materialize(example, tmp_path), "eaglecfg.yaml")])
    assert "EC303" in {each.rule.id for each in report.findings}
    told = {each.rule.id: each.reason for each in report.not_checked}
    assert told["EC401"] == told["EC408"] == f"server.{name} was refused"


SPECULATION: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "shape": (
        {"speculative": {"num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 6}},
        {
            "speculative": None,
            "server": {
                "speculative_algorithm": "EAGLE3",
                "speculative-num-steps": 3,
                "speculative_eagle_topk": 1,
                "speculative_num_draft_t": 6,
            },
        },
    ),
    "half a shape": (
        {"speculative": {"num_steps": 3, "eagle_topk": None, "num_draft_tokens": None}},
        {
            "speculative": {"num_steps": None, "eagle_topk": None, "num_draft_tokens": None},
            "server": {"speculative_num_steps": 3},
        },
    ),
    "draft": (
        {"draft": {"checkpoint": "draft"}},
        {"draft": None, "server": {"speculative_draft_model_path": "draft"}},
    ),
    "draft by its other name": (
        {"draft": {"checkpoint": "nowhere"}},
        {"draft": None, "server": {"speculative-draft-model": "nowhere"}},
    ),
    "everything": (
        {"draft": {"checkpoint": "draft"}},
        {
            "draft": None,
            "speculative": None,
            "server": {
                "speculative_draft_model_path": "draft",
                "speculative_algo": "EAGLE3",
                "speculative_num_steps": 3,
                "speculative_eagle_topk": 1,
                "speculative_num_draft_tokens": 4,
            },
        },
    ),
    "revision": (
        {"target": {"revision": "main"}},
        {"server": {"revision": "main"}},
    ),
    "draft revision": (
        {"draft": {"revision": "v1"}},
        {"server": {"speculative_draft_model_revision": "v1"}},
    ),
    "off": ({"draft": None, "speculative": "off"}, {"draft": None, "speculative": "off", "server": {}}),
}


@pytest.mark.parametrize("case", SPECULATION)
def test_rules_find_the_same_wherever_speculation_stands(case: str, tmp_path: Path) -> None:
    block, server = SPECULATION[case]
    wrong = {"draft": {"config": {"hidden_size": 200, "num_attention_heads": 3}}}
    for number, rest in enumerate(({}, wrong)):
        one = _findings(tmp_path / f"block{number}", {**rest, "deployment": block})
        other = _findings(tmp_path / f"server{number}", {**rest, "deployment": server})
        assert other == one
    one, other = (_context(tmp_path / name, deployment) for name, deployment in (("x", block), ("y", server)))
    assert other.model.model_copy(update={"server": {}}) == one.model.model_copy(update={"server": {}})
    assert _runs(other) == _runs(one)
    assert sorted(_words(other)) == sorted(_words(one))


@pytest.mark.parametrize("case", SETTINGS)
def test_what_launches_and_runs_is_the_same(case: str, tmp_path: Path) -> None:
    wanted = _context(tmp_path / "block", _placed(SETTINGS[case], None))
    for number, names in enumerate(_ways(SETTINGS[case])):
        found = _context(tmp_path / str(number), _placed(SETTINGS[case], names))
        assert _runs(found) == _runs(wanted)
        assert sorted(_words(found)) == sorted(_words(wanted))
        assert found.model.parallel == wanted.model.parallel
        for name, written in names.items():
            place = found.where("parallel", name)
            assert place == ("deployments", "chat", "server", written)


def test_every_finding_is_where_the_file_has_the_setting(tmp_path: Path) -> None:
    example = {"deployment": {**GPUS, "parallel": None, "server": {"tensor-parallel-size": 3}}}
    report = validate([read_document(materialize(example, tmp_path), "eaglecfg.yaml")])
    paths = {each.rule.id: each.finding.path for each in report.findings}
    assert paths["EC401"] == ("deployments", "chat", "server", "tensor-parallel-size")


def test_nothing_that_turns_speculation_on_is_made_up() -> None:
    """An engine ignores the flags of a speculation that is off; a block would turn it on."""
    target = {"checkpoint": "t"}
    for flags in ({"speculative_num_steps": 3}, {"speculative_draft_model_path": "d"}):
        for more in ({}, {"speculative": "off"}):
            model = Deployment.model_validate({"target": target, "server": flags, **more})
            assert in_blocks(model).model == model
            assert "--speculative-algorithm" not in launch_arguments(model)


@pytest.mark.parametrize("version", known_versions("sglang"))
def test_aliases_that_need_no_facts_are_those_of_every_version(version: str) -> None:
    facts = load_facts("sglang", version)
    assert facts is not None
    for alias, name in ALIASES.items():
        if name in facts.flags:
            assert facts.flags.canonical(alias) == name
    for name in BLOCKS:
        aliases = facts.flags[name].aliases if name in facts.flags else ()
        assert {alias.lstrip("-").replace("-", "_") for alias in aliases} <= ALIASES.keys()


def test_every_key_of_the_blocks_has_its_flag() -> None:
    facts = [load_facts("sglang", version) for version in known_versions("sglang")]
    assert all(any(each is not None and name in each.flags for each in facts) for name in BLOCKS)


def test_rules_have_the_deployment_in_blocks_alone(tmp_path: Path) -> None:
    """With the file's own form out of the way every rule but the one about repetition still works."""
    context = _context(tmp_path, {})
    assert context.whole is not None
    hidden = replace(context.whole, model=None)  # type: ignore[arg-type]
    blind = replace(context, deployment=hidden, values=weigher()(context))
    for rule in ALL_RULES:
        if rule.scope == "deployment" and rule.id != "EC104" and "live" not in rule.check.__module__:
            list(rule.check(blind))


def _context(folder: Path, deployment: Mapping[str, Any]) -> Context:
    config = load_config(read_document(materialize({"deployment": deployment}, folder), "eaglecfg.yaml"))
    assert not config.problems
    return deployment_context(config, config.deployments[0], Checkpoints())


def _runs(context: Context) -> dict[str, Any]:
    assert isinstance(context.resolution, Resolution)
    return {
        name: (
            setting.asked if isinstance(setting.asked, bool) else str(setting.asked),
            setting.runs,
            setting.origin,
        )
        for name, setting in context.resolution.settings.items()
    }


def _words(context: Context) -> list[str]:
    assert context.deployment is not None
    return launch_arguments(context.deployment.model, context.engine)
