"""A study's space becomes arms: deployments with a stable key and a name that people can read."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.schema.deployment import Deployment
from eaglecfg.source.document import Document
from eaglecfg.source.span import Place, Position, Span
from eaglecfg.tune.arm import apply, arm_key, changed_keys, tree
from eaglecfg.tune.space import Space, read_space

HERE = Span(Position(1, 1), Position(1, 1))


def deployment(**blocks: Any) -> Deployment:
    data: dict[str, Any] = {"target": {"checkpoint": "t"}, "draft": {"checkpoint": "d"}}
    return Deployment.model_validate(data | blocks)


def space(entries: dict[str, Any], base: Deployment | None = None, texts: Any = ()) -> Space:
    places = {path: Place(None, HERE, text) for path, text in texts}
    document = Document("study.yaml", ".", "", {}, places)
    return read_space(document, entries, base or deployment(speculative={"num_steps": 3}))


def shapes(found: Space) -> list[Any]:
    return [tree(arm.deployment).get("speculative") for arm in found.arms()]


def test_a_block_with_lists_gives_one_choice_per_combination() -> None:
    found = space({"speculative": ["off", {"num_steps": [1, 2], "eagle_topk": [1, 4]}]})
    assert found.size == 5
    labels = [arm.label for arm in found.arms()]
    assert labels == ["off", "1 step", "1 step topk 4", "2 steps", "2 steps topk 4"]


def test_a_chain_gets_the_draft_tokens_that_the_engine_would_set() -> None:
    assert shapes(space({"speculative.num_steps": [1, 4]})) == [
        {"num_steps": 1, "eagle_topk": 1, "num_draft_tokens": 2},
        {"num_steps": 4, "eagle_topk": 1, "num_draft_tokens": 5},
    ]


def test_chosen_draft_tokens_are_left_alone() -> None:
    found = space({"speculative": [{"num_steps": 2, "num_draft_tokens": 7}]})
    assert shapes(found) == [{"num_steps": 2, "num_draft_tokens": 7, "eagle_topk": 1}]


def test_a_tree_keeps_the_draft_tokens_of_the_deployment() -> None:
    base = deployment(speculative={"num_steps": 3, "eagle_topk": 4, "num_draft_tokens": 8})
    assert shapes(space({"speculative.num_steps": [2]}, base)) == [
        {"num_steps": 2, "eagle_topk": 4, "num_draft_tokens": 8}
    ]


def test_off_drops_the_draft_and_the_keys_inside_the_block() -> None:
    found = space({"speculative": ["off", {"eagle_topk": 1}], "speculative.num_steps": [1, 2]})
    arms = list(found.arms())
    assert [arm.label for arm in arms] == ["off", "1 step", "2 steps"]
    assert "draft" not in tree(arms[0].deployment)


def test_unset_leaves_a_key_out_and_blocks_of_the_deployment_are_kept() -> None:
    base = deployment(nccl={"PROTO": "LL", "algo": "Ring"}, server={"disable-radix-cache": True})
    found = space({"nccl.proto": ["unset", "LL128"], "server.disable_radix_cache": [False, True]}, base)
    first = next(found.arms())
    assert first.deployment.nccl == {"algo": "Ring"}
    assert first.deployment.server == {"disable-radix-cache": False}
    assert first.label == "proto unset, radix_cache on"


def test_every_spelling_of_a_key_gives_the_same_arm() -> None:
    one = deployment(nccl={"PROTO": "LL"}, server={"disable-radix-cache": True})
    two = deployment(nccl={"proto": "LL"}, server={"disable_radix_cache": True})
    assert arm_key(one) == arm_key(two)


def test_a_switch_that_is_off_launches_what_leaving_it_out_launches() -> None:
    arms = list(space({"server.disable_radix_cache": [False, True, "unset"]}).arms())
    assert [arm.label for arm in arms] == ["as it stands", "radix_cache off"]


def test_declared_facts_do_not_change_what_is_launched() -> None:
    assert arm_key(deployment(capture={"layer_ids": [1, 2, 3]})) == arm_key(deployment())


def test_the_deployment_as_it_stands_is_an_arm_of_its_space() -> None:
    base = deployment(speculative={"num_steps": 2, "eagle_topk": 1, "num_draft_tokens": 3})
    found = space({"speculative": ["off", {"num_steps": [1, 2, 3]}]}, base)
    same = [arm for arm in found.arms() if arm.key == arm_key(base)]
    assert [arm.label for arm in same] == ["2 steps"]
    assert same[0].changed == ()


def test_changed_keys_name_what_differs() -> None:
    base = deployment(speculative={"num_steps": 2, "eagle_topk": 1, "num_draft_tokens": 3})
    other = apply(base, {"speculative.num_steps": 4, "nccl.proto": "LL"})
    shape = ("speculative.num_draft_tokens", "speculative.num_steps")
    assert changed_keys(base, other) == (*shape, "nccl.proto")
    assert changed_keys(base, apply(base, {"speculative": "off"})) == ("speculative",)


def test_ranges_become_values() -> None:
    def values(given: dict[str, Any]) -> tuple[Any, ...]:
        return space({"server.x": given}).dimensions[0].parameter.options

    assert values({"low": 1, "high": 4}) == (1, 2, 3, 4)
    assert values({"low": 1, "high": 10, "step": 4}) == (1, 5, 9)
    assert values({"low": 1, "high": 64, "log": True}) == (1, 2, 4, 8, 16, 32, 64)
    assert values({"low": 0.5, "high": 0.9, "step": 0.1}) == (0.5, 0.6, 0.7, 0.8, 0.9)
    assert len(values({"low": 0.0, "high": 1.0})) == 17
    assert shapes(space({"speculative": [{"num_steps": {"low": 1, "high": 3}}]}))[2]["num_steps"] == 3


def test_environment_values_keep_their_spelling() -> None:
    texts = [(("space", "nccl.min_nchannels", 1), "08"), (("space", "env.FLAG", 0), "True")]
    found = space({"nccl.min_nchannels": ["unset", 8], "env.FLAG": [True]}, texts=texts)
    last = list(found.arms())[-1].deployment
    assert last.nccl == {"min_nchannels": "08"}
    assert last.env == {"FLAG": "True"}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"capture.layer_ids": [[1, 2]]}, "expected speculative, draft, nccl or one of"),
        ({"nccl.proto": []}, "at least one choice"),
        ({"nccl.proto": ["LL", "LL"]}, "the choice LL stands here twice"),
        ({"nccl.proto": ["LL"], "nccl.NCCL_PROTO": ["LL"]}, "the same key as nccl.proto"),
        ({"server.x": {"low": 3, "high": 1}}, "expected low <= high, got 3 > 1"),
        ({"server.x": {"low": 0, "high": 9, "log": True}}, "low above 0"),
        ({"server.x": {"low": 0, "high": 1000000}}, "give a larger step"),
    ],
)
def test_a_space_that_cannot_be_used_is_refused_with_its_key(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        space(entries)
    assert "study.yaml:1:1: space" in str(caught.value)


def test_a_choice_of_the_wrong_type_names_the_deployment_key() -> None:
    found = space({"speculative.num_steps": ["two"]})
    with pytest.raises(UsageError, match=r"speculative\.num_steps = 'two' does not fit"):
        list(found.arms())


def test_every_arm_is_found_again_in_its_space() -> None:
    found = space(
        {
            "speculative": ["off", {"num_steps": [1, 2], "eagle_topk": [1, 4]}],
            "nccl.proto": ["unset", "LL"],
            "server.disable_custom_all_reduce": [False, True],
        }
    )
    arms = list(found.arms())
    assert len(arms) == 20
    for arm in arms:
        point = found.locate(arm)
        assert point is not None
        assert found.arm(found.values(point)).key == arm.key


def test_an_arm_measured_before_the_space_grew_is_found_in_the_new_space() -> None:
    old = next(space({"nccl.proto": ["LL"]}).arms())
    new = space({"nccl.algo": ["Ring", "unset"], "nccl.proto": ["Simple", "LL"]})
    point = new.locate(old)
    assert point is not None
    assert new.values(point) == {"nccl.algo": "unset", "nccl.proto": "LL"}
    assert space({"nccl.proto": ["Simple"]}).locate(old) is None


def test_entries_of_nccl_add_up_and_keep_what_the_deployment_sets() -> None:
    base = deployment(speculative={"num_steps": 3}, nccl={"buffsize": "8388608"})
    at = ("space", "nccl", 2, "NCCL_NTHREADS")
    entries = [
        "unset",
        {"proto": ["LL", "Simple"]},
        {"NCCL_NTHREADS": [64, 128]},
        {"algo": "Ring", "proto": "LL"},
    ]
    found = space({"nccl": entries}, base, [((*at, 0), "64"), ((*at, 1), "128")])
    assert found.size == 6
    kept = {"buffsize": "8388608"}
    assert [arm.deployment.nccl for arm in found.arms()] == [
        {},
        kept | {"proto": "LL"},
        kept | {"proto": "Simple"},
        kept | {"nthreads": "64"},
        kept | {"nthreads": "128"},
        kept | {"algo": "Ring", "proto": "LL"},
    ]
    assert [arm.label for arm in found.arms()] == [
        "buffsize unset",
        "buffsize 8388608, proto LL",
        "buffsize 8388608, proto Simple",
        "buffsize 8388608, nthreads 64",
        "buffsize 8388608, nthreads 128",
        "buffsize 8388608, algo Ring, proto LL",
    ]
    for arm in found.arms():
        point = found.locate(arm)
        assert point is not None
        assert found.arm(found.values(point)).key == arm.key


def test_an_entry_of_nccl_and_the_same_variable_alone_are_one_arm() -> None:
    one = {arm.key for arm in space({"nccl": [{"PROTO": ["LL", "Simple"]}]}).arms()}
    assert one == {arm.key for arm in space({"nccl.NCCL_PROTO": ["LL", "Simple"]}).arms()}


@pytest.mark.parametrize("entry", [{"proto": "LL"}, {"NCCL_PROTO": ["LL", "Simple"]}])
def test_a_variable_in_an_entry_of_nccl_and_alone_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"space\.nccl\.proto: stands in an entry of nccl, too"):
        space({"nccl": ["unset", entry, {"algo": "Ring"}], "nccl.proto": ["unset", "LL128"]})


def test_one_variable_in_two_spellings_of_an_entry_is_refused() -> None:
    with pytest.raises(UsageError, match=r"space\.nccl: an entry has one variable twice: PROTO, nccl_proto"):
        space({"nccl": ["unset", {"PROTO": "LL", "nccl_proto": ["LL", "Simple"]}]})


def test_numbers_of_a_range_are_text_under_nccl() -> None:
    doubling = {"low": 64, "high": 256, "log": True}
    inside = [arm.deployment.nccl for arm in space({"nccl": [{"nthreads": doubling}]}).arms()]
    alone = [arm.deployment.nccl for arm in space({"nccl.nthreads": doubling}).arms()]
    assert inside == alone == [{"nthreads": "64"}, {"nthreads": "128"}, {"nthreads": "256"}]


def test_null_leaves_a_key_out_everywhere() -> None:
    for entries in ({"nccl": [None, {"proto": ["LL", None]}]}, {"nccl.proto": [None, "LL"]}):
        assert [arm.deployment.nccl for arm in space(entries).arms()] == [{}, {"proto": "LL"}]
