"""Study files as typed models, and telling them from config files."""

from __future__ import annotations

import pytest

from eaglecfg.schema.load_study import kind_of, load_study
from eaglecfg.schema.loaded import LoadedStudy
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import show_path

STUDY = """\
version: 1
config: ../eaglecfg.yaml
deployment: chat
launch: {prefix: [python, -m, server, --port, 30000], stop: [docker, kill, 7], env: {A: 1.10}}
space:
  speculative: [off, {num_steps: [1, 2, 3]}]
  nccl.min_nchannels: [unset, 8, 016]
  server.mem_fraction_static: {low: 0.7, high: 0.9}
objective: {concurrency: [1, 8], limits: {ttft_p99_ms: 500}}
workload: {prompts: prompts.jsonl, output_tokens: 256}
budget: {launches: 120, hours: 9, until: 07:00}
profile: overnight
"""

LEAST = """\
version: 1
config: eaglecfg.yaml
deployment: chat
launch:
  prefix: [x]
space: {nccl.proto: [unset, LL]}
workload: {prompts: p}
"""


def load(text: str) -> LoadedStudy:
    return load_study(parse_document(text, "study.yaml", "."))


def test_a_study_is_read_with_text_as_spelled() -> None:
    study = load(STUDY)
    assert study.problems == ()
    assert study.model is not None
    assert study.model.launch.prefix == ["python", "-m", "server", "--port", "30000"]
    assert study.model.launch.stop == ["docker", "kill", "7"]
    assert study.model.launch.env == {"A": "1.10"}
    assert study.model.budget.until == "07:00"
    assert study.model.space["nccl.min_nchannels"] == ["unset", "8", "016"]
    assert study.model.space["speculative"] == ["off", {"num_steps": [1, 2, 3]}]
    assert study.model.objective.limits == {"ttft_p99_ms": 500}
    assert study.model.seed == 0


@pytest.mark.parametrize(
    ("old", "new", "kind", "path"),
    [
        ("profile: overnight", "profile: long", "wrong-type", "profile"),
        ("launches: 120", "launches: 0", "wrong-type", "budget.launches"),
        ("hours: 9", "hours: x", "wrong-type", "budget.hours"),
        ("[1, 8]", "[1, 0]", "wrong-type", "objective.concurrency[1]"),
        ("output_tokens: 256", "output_token: 256", "unknown-key", "workload.output_token"),
        ("stop: [docker, kill, 7]", "stop: kill", "wrong-type", "launch.stop"),
        ("deployment: chat\n", "", "missing-key", "deployment"),
        ("deployment: chat", "deployment: 8", "wrong-type", "deployment"),
        ("version: 1\n", "", "missing-key", "version"),
        ("{ttft_p99_ms: 500}", "{ttft_p99_ms: fast}", "wrong-type", "objective.limits.ttft_p99_ms"),
    ],
)
def test_slips(old: str, new: str, kind: str, path: str) -> None:
    assert old in STUDY
    study = load(STUDY.replace(old, new))
    assert [(p.kind, show_path(p.path)) for p in study.problems] == [(kind, path)]


def test_a_refused_option_leaves_the_study_standing() -> None:
    study = load(STUDY.replace("profile: overnight", "profile: long"))
    assert study.model is not None
    assert study.model.profile == "short"
    assert study.refused == {("profile",)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (STUDY, "study"),
        ("workload: {}\n", "study"),
        ("space: {}\n", "study"),
        ("deployments: {}\n", "config"),
        ("engine: {}\n", "config"),
        ("deployments: {}\nworkload: {}\n", "config"),
        ("a: 1\n", None),
        ("[]\n", None),
        ("", None),
        ("a: [\n", None),
    ],
)
def test_the_keys_tell_what_kind_of_file_it_is(text: str, kind: str | None) -> None:
    assert kind_of(parse_document(text, "x.yaml", ".")) == kind


@pytest.mark.parametrize(
    "empty", ["budget:", "objective:", "baselines:", "suppress:", "objective: {limits: }", "# none"]
)
def test_a_block_of_a_study_with_nothing_below_it_is_no_block(empty: str) -> None:
    found = load_study(parse_document(f"{LEAST}{empty}\n", "study.yaml", "."))
    assert found.problems == ()
    assert found.model is not None
    assert found.model == load_study(parse_document(LEAST, "study.yaml", ".")).model


@pytest.mark.parametrize("below", ["env:", "flags:"])
def test_so_is_one_of_the_launch(below: str) -> None:
    text = LEAST.replace("prefix: [x]", f"prefix: [x]\n  {below}")
    found = load_study(parse_document(text, "study.yaml", "."))
    assert found.problems == ()


@pytest.mark.parametrize("key", ["startup_s", "start_s"])
@pytest.mark.parametrize(
    ("value", "takes"),
    [
        ("0", "a number above 0, not 0"),
        ("-3", "a number above 0, not -3"),
        (".inf", "a number of at most 86400, not .inf"),
        (".nan", "a number"),
        ("1e300", "a number of at most 86400, not 1e300"),
    ],
)
def test_times_of_a_start_are_those_of_a_clock(key: str, value: str, takes: str) -> None:
    text = LEAST.replace("prefix: [x]", f"prefix: [x]\n  {key}: {value}")
    (problem,) = load_study(parse_document(text, "study.yaml", ".")).problems
    assert problem.message.startswith(f"launch.{key} takes {takes}")


def test_an_empty_list_is_called_that() -> None:
    (problem,) = load_study(parse_document(f"{LEAST}baselines: []\n", "study.yaml", ".")).problems
    assert problem.message == "baselines takes a list of at least one, not an empty list"
