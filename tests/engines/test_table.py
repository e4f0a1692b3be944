from __future__ import annotations

import pytest

from eaglecfg.engines.table import load_facts, stand
from tests.engines.build import facts


def test_an_unknown_engine_has_no_facts() -> None:
    assert load_facts("vllm", "0.11.0") is None
    assert load_facts("../sglang", "0.5.14") is None


@pytest.mark.parametrize(
    ("asked", "answers", "standing"),
    [
        ("0.5.14", "0.5.14", "known"),
        ("v0.5.14", "0.5.14", "known"),
        ("0.5.14+cu129", "0.5.14", "known"),
        ("0.5.12.post7", "0.5.12.post1", "between"),
        ("0.6.0", "0.5.23", "newer"),
        ("0.4.9", "0.5.4.post1", "older"),
        ("0.5.14.dev20+g1a2b3c4", "0.5.13.post1", "development"),
        ("0.5.14rc1", "0.5.13.post1", "development"),
        ("0.5.12-cu129", "0.5.12", "known"),
        ("v0.5.12.post1-cu130-amd64", "0.5.12.post1", "known"),
        ("0.5.14-cu130-runtime", "0.5.14", "known"),
        ("0.5.14-rocm720-mi30x", "0.5.14", "known"),
        ("0.5.12.post7-cu129", "0.5.12.post1", "between"),
        ("0.5.14-patched", "0.5.14", "development"),
    ],
)
def test_other_versions_take_the_facts_of_the_nearest_older_one(
    asked: str, answers: str, standing: str
) -> None:
    found = facts(asked)
    assert (found.facts_of, found.standing) == (answers, standing)
    assert found.version == asked
    assert stand(asked, found.known_versions) == (answers, standing)


@pytest.mark.parametrize("word", ["", "latest", "main", "nightly", "dev-cu129", "foo-0.5.14", "-1", "v"])
def test_what_is_no_version_number_has_no_facts(word: str) -> None:
    assert load_facts("sglang", word) is None


def test_flags_are_those_of_the_version() -> None:
    assert "speculative_draft_sink_size" not in facts("0.5.20").flags
    assert facts("0.5.21").flags["speculative_draft_sink_size"].type == "int"
    assert facts("0.5.9").flags["speculative_algorithm"].choices == (
        "EAGLE",
        "EAGLE3",
        "NEXTN",
        "STANDALONE",
        "NGRAM",
    )
    assert facts("0.5.14").flags["speculative_algorithm"].choices is None


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("tp-size", "tp_size"),
        ("--tensor-parallel-size", "tp_size"),
        ("speculative_draft_model", "speculative_draft_model_path"),
        ("no_such_flag", "no_such_flag"),
    ],
)
def test_hyphens_and_aliases_lead_to_the_field_name(spelled: str, name: str) -> None:
    assert facts("0.5.12").flags.canonical(spelled) == name


def test_deprecated_flags_say_what_to_use_instead() -> None:
    assert "cuda-graph-backend" in facts("0.5.23").flags["disable_cuda_graph"].deprecated
    assert facts("0.5.12").flags["disable_cuda_graph"].deprecated == ""


def test_architectures_are_those_registered_in_the_version() -> None:
    assert "MiniMaxM3SparseForCausalLM" in facts("0.5.16").architectures
    assert "MiniMaxM3SparseForCausalLM" not in facts("0.5.12").architectures


def test_counters_of_meta_info_are_named_as_in_the_version() -> None:
    assert facts("0.5.9").values["meta_info"]["correct_drafts"] == "spec_accept_token_num"
    assert facts("0.5.14").values["meta_info"]["correct_drafts"] == "spec_num_correct_drafts"
    assert facts("0.5.4.post1").values["meta_info"]["correct_drafts"] is None
