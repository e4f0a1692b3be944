"""``fix`` on files as people write them: what it changes, what it leaves alone, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from eaglecfg.record import replace
from eaglecfg.review.fix import Fixed, fix
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document

HEAD = """\
version: 1
engine: {name: sglang, version: 0.5.23}
"""
PAIR = "target: {checkpoint: target}, draft: {checkpoint: draft}, capture: {trained_boundaries: [3, 6, 9]}"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    materialize({"title": "pair"}, folder)
    return folder


def check(documents: Sequence[Document]) -> Report:
    return validate(documents)


def fixed(pair: Path, text: str, *, unsafe: bool = False, select: Sequence[str] = ()) -> Fixed:
    document = parse_document(text, "eaglecfg.yaml", str(pair))
    return fix([document], check, unsafe=unsafe, select=select)


def after(pair: Path, text: str, *, unsafe: bool = False) -> str:
    return fixed(pair, text, unsafe=unsafe).documents[0].text


def chat(body: str) -> str:
    return HEAD + "deployments:\n  chat:\n    " + PAIR.replace("}, ", "}\n    ") + "\n" + body


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        (
            "    speculative:   # the shape\n      num_steps: 3\n      eagle_topk: 1   # a chain\n"
            "      num_draft_tokens:   6    # too many\n",
            "    speculative:   # the shape\n      num_steps: 3\n      eagle_topk: 1   # a chain\n"
            "      num_draft_tokens:   4    # too many\n",
        ),
        (
            "    speculative: {num_steps: 3, eagle_topk: 1,\n      num_draft_tokens: 6}   # 模型 😀\n",
            "    speculative: {num_steps: 3, eagle_topk: 1,\n      num_draft_tokens: 4}   # 模型 😀\n",
        ),
        ("    nccl: {buffsize: '4M'}\n", "    nccl: {buffsize: '4194304'}\n"),
        ('    nccl: {buffsize: "4M"}\n', '    nccl: {buffsize: "4194304"}\n'),
        ("    nccl:\n      BUFFSIZE: 4M  # eh\n", "    nccl:\n      BUFFSIZE: 4194304  # eh\n"),
        ("    nccl:\n      proto: [LL\n", "    nccl:\n      proto: [LL\n"),
        ("    nccl: {proto: 'LL, Simple'}\n", "    nccl: {proto: 'LL,Simple'}\n"),
        ('    nccl: {proto: "LL, Simple", debug: WARN}\n', '    nccl: {proto: "LL,Simple", debug: WARN}\n'),
        ("    nccl:\n      proto: LL, Simple\n", '    nccl:\n      proto: "LL,Simple"\n'),
        ("    nccl: {p2p_disable: true}\n", "    nccl: {p2p_disable: 1}\n"),
        ("    nccl: {p2p_level: sys}\n", "    nccl: {p2p_level: SYS}\n"),
        ("    parallel: {TP-Size: 1}\n", "    parallel: {tp_size: 1}\n"),
        ("    parallel:\n      ? TP_SIZE\n      : 1\n", "    parallel:\n      ? tp_size\n      : 1\n"),
        ('    parallel: {tp_size: "1"}\n', "    parallel: {tp_size: 1}\n"),
        ("    parallel: {tp_size: 1.0}\n", "    parallel: {tp_size: 1}\n"),
        ("    parallel: {tp_size: 1, enable_dp_attention: no}\n",
         "    parallel: {tp_size: 1, enable_dp_attention: false}\n"),
        ("    server:\n      # a map\n      speculative_token_map: x  # not read\n      port: 30001\n",
         "    server:\n      # a map\n      port: 30001\n"),
        ("    server: {speculative_token_map: x, port: 30001}\n", "    server: {port: 30001}\n"),
        ("    server: {port: 30001, speculative_token_map: x}\n", "    server: {port: 30001}\n"),
        ("    server: {speculative_token_map: x}\n    env: {A: b}\n", "    env: {A: b}\n"),
        ("    server:\n      speculative_token_map: x\n", ""),
        ("    parallel: {tp_size: 1, tp_size: 1, pp_size: 1}\n", "    parallel: {tp_size: 1, pp_size: 1}\n"),
        ("    parallel: {tp_size: 1, tp_size: 1}\n", "    parallel: {tp_size: 1}\n"),
        ("    env: {A: b}\n    env: {A: b}\n    nccl: {}\n", "    env: {A: b}\n    nccl: {}\n"),
        ("    env: {A: b}\n    env:\n      A: b  # again\n", "    env: {A: b}\n  # again\n"),
        ("    env: {A: b}\n    env: {A: 'b'}\n", "    env: {A: b}\n    env: {A: 'b'}\n"),
    ],
)  # fmt: skip
def test_one_change_and_nothing_else(pair: Path, before: str, wanted: str) -> None:
    for change in (
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.rstrip("\n"),
    ):
        text = change(chat(before))
        assert after(pair, text, unsafe=True) == change(chat(wanted))
    assert after(pair, chat(wanted), unsafe=True) == chat(wanted), "fixing is done after one time"


def test_guesses_wait_for_unsafe(pair: Path) -> None:
    text = chat("    parallel: {tp_siz: 1}\n    server: {speculative_accept_threshold_acc: 0.9}\n")
    careful = fixed(pair, text)
    assert careful.documents[0].text == text
    assert careful.unsafe == 2
    assert after(pair, text, unsafe=True) == chat("    parallel: {tp_size: 1}\n")


def test_rules_can_be_chosen(pair: Path) -> None:
    text = chat(
        "    nccl: {buffsize: 4M}\n    speculative: {num_steps: 3, eagle_topk: 1, num_draft_tokens: 6}\n"
    )
    result = fixed(pair, text, select=["EC604"], unsafe=True)
    assert result.documents[0].text == text.replace("4M", "4194304")
    assert [found.rule.id for found in result.made] == ["EC604"]


def test_a_key_moves_to_its_block(pair: Path) -> None:
    assert after(pair, chat("    tp_size: 1  # ranks\n"), unsafe=True) == chat("    parallel: {tp_size: 1}\n")
    moved = after(pair, chat("    parallel:\n      pp_size: 1\n    tp_size: 1\n"), unsafe=True)
    assert moved == chat("    parallel:\n      pp_size: 1\n      tp_size: 1\n")


SHARED = """\
defaults:
  target: {checkpoint: target}
  draft: {checkpoint: draft}
  capture: {trained_boundaries: [3, 6, 9]}
  speculative: {eagle_topk: 1, num_draft_tokens: 6}
deployments:
"""


def test_defaults_change_where_every_deployment_wants_it(pair: Path) -> None:
    both = "  a: {speculative: {num_steps: 3}}\n  b: {speculative: {num_steps: 3}}\n"
    result = fixed(pair, HEAD + SHARED + both)
    assert result.documents[0].text == HEAD + SHARED.replace("tokens: 6", "tokens: 4") + both
    assert result.left == ()
    assert len(result.made) == 1, "one text, one fix"


def test_defaults_stay_where_one_deployment_is_fine(pair: Path) -> None:
    two = "  a: {speculative: {num_steps: 3}}\n  b: {speculative: {num_steps: 5}}\n"
    result = fixed(pair, HEAD + SHARED + two)
    assert result.documents[0].text == HEAD + SHARED + two
    (left,) = result.left
    assert (
        left.reason
        == "defaults.speculative.num_draft_tokens is shared with b, where nothing asks for the change"
    )


def test_defaults_stay_where_two_want_different_things(pair: Path) -> None:
    two = "  a: {speculative: {num_steps: 3}}\n  b: {speculative: {num_steps: 2}}\n"
    result = fixed(pair, HEAD + SHARED + two)
    assert result.documents[0].text == HEAD + SHARED + two
    assert len(result.left) == 2


def test_a_deployment_that_overrides_does_not_count(pair: Path) -> None:
    two = "  a: {speculative: {num_steps: 3}}\n  b: {speculative: {num_steps: 5, num_draft_tokens: 6}}\n"
    assert "num_draft_tokens: 4}" in after(pair, HEAD + SHARED + two)


ANCHORS = (
    HEAD + "deployments:\n"
    f"  a: {{{PAIR}, speculative: &shape {{num_steps: 3, eagle_topk: 1, num_draft_tokens: 6}}}}\n"
    f"  b: {{{PAIR}, speculative: *shape}}\n"
)


def test_an_anchor_changes_where_every_user_wants_it(pair: Path) -> None:
    assert after(pair, ANCHORS) == ANCHORS.replace("tokens: 6", "tokens: 4")


def test_an_anchor_stays_where_a_user_is_fine(pair: Path) -> None:
    text = ANCHORS + f"  c: {{{PAIR}, parallel: &tp {{tp_size: '1'}}}}\n  d: {{{PAIR}, parallel: *tp}}\n"
    assert "*tp" in after(pair, text)
    mixed = (
        HEAD + "deployments:\n"
        f"  a: {{{PAIR}, speculative: {{num_steps: 3, eagle_topk: 1, num_draft_tokens: &n 6}}}}\n"
        f"  b: {{{PAIR}, speculative: {{num_steps: 5, eagle_topk: 1, num_draft_tokens: *n}}}}\n"
    )
    result = fixed(pair, mixed)
    assert result.documents[0].text == mixed
    assert "shared with b" in result.left[0].reason


def test_a_value_that_is_an_alias_changes_at_its_anchor(pair: Path) -> None:
    text = (
        HEAD + "deployments:\n"
        f"  a: {{{PAIR}, speculative: {{num_steps: 3, eagle_topk: 1, num_draft_tokens: &n 6}}}}\n"
        f"  b: {{{PAIR}, speculative: {{num_steps: 3, eagle_topk: 1, num_draft_tokens: *n}}}}\n"
    )
    assert after(pair, text) == text.replace("&n 6", "&n 4")


def test_an_anchor_that_others_use_is_not_taken_out_with_its_key(pair: Path) -> None:
    text = chat("    server: {speculative_token_map: &m x, tokenizer_path: *m}\n")
    result = fixed(pair, text)
    assert result.documents[0].text == text
    assert len(result.left) == 1


def test_a_byte_order_mark_stays(pair: Path) -> None:
    text = "\ufeff" + chat("    nccl: {buffsize: 4M}\n")
    result = fixed(pair, text, unsafe=True)
    assert result.documents[0].text == chat("    nccl: {buffsize: 4194304}\n")
    assert "EC010" in [found.rule.id for found in result.report.findings]


def test_comments_inside_a_value_are_not_lost(pair: Path) -> None:
    body = "    target:\n      checkpoint: target\n      hidden_size: 4\n"
    text = HEAD + "deployments:\n  chat:\n" + body + "    draft: {checkpoint: draft}\n"
    assert "hidden_size: 256" in after(pair, text, unsafe=True)
    ids = "    capture:\n      layer_ids:\n        - 1  # one\n        - 5\n        - 8\n"
    result = fixed(pair, text + ids, unsafe=True)
    assert "- 1  # one" in result.documents[0].text
    assert [left.reason for left in result.left] == ["a comment stands inside the value"]


def test_unused_suppressions_go(pair: Path) -> None:
    listed = chat("") + "suppress:\n- rule: EC302\n  reason: r\n- {rule: EC310, reason: r}  # old\n"
    assert after(pair, listed) == chat("")
    one = chat("") + "suppress:\n- rule: EC312\n  reason: wanted\n- rule: EC302\n  reason: r\n"
    assert after(pair, one) == chat("") + "suppress:\n- rule: EC312\n  reason: wanted\n"
    comment = chat(
        "    # eaglecfg: ignore[EC302] r\n    parallel: {tp_size: 1}  # eaglecfg: ignore[EC310] r\n"
    )
    assert after(pair, comment) == chat("    parallel: {tp_size: 1}\n")


def test_suppressed_findings_are_not_fixed(pair: Path) -> None:
    text = chat("    nccl: {buffsize: 4M}  # eaglecfg: ignore[EC604] as the vendor writes it\n")
    assert after(pair, text) == text


def test_several_files_and_several_passes(pair: Path) -> None:
    first = chat("    tp_size: '1'\n")
    documents = [
        parse_document(first, "a.yaml", str(pair)),
        parse_document(chat("    nccl: {buffsize: 4M}\n"), "b.yaml", str(pair)),
    ]
    result = fix(documents, check, unsafe=True)
    assert result.documents[0].text == chat("    parallel: {tp_size: 1}\n")
    assert result.documents[1].text == chat("    nccl: {buffsize: 4194304}\n")
    assert result.report.exit_code() == 0


@pytest.mark.parametrize("text", ["", "a: [", "[1, 2]", "x", "\x00", "a: 1\na: 2\n", "? {a: b}\n: 1\n"])
def test_files_that_are_no_config_stay(pair: Path, text: str) -> None:
    assert after(pair, text, unsafe=True) == text


def test_a_comment_above_a_key_that_goes_with_its_block_stays(pair: Path) -> None:
    text = chat("suppress:\n  # nobody knows any more\n  - rule: EC302\n    reason: r\n")
    result = after(pair, text)
    assert "suppress:" not in result
    for line in text.splitlines():
        if line.strip().startswith("#"):
            assert line in result.splitlines()


def test_what_runs_stays_whatever_a_rule_claims(pair: Path) -> None:
    """A rule that calls a fix safe is looked at once more: `true` reads as 0, and P2P works."""
    text = chat("    nccl: {p2p_disable: true, buffsize: 4194304}\n")

    def careless(documents: Sequence[Document]) -> Report:
        report = check(documents)
        claims = [
            replace(each, finding=replace(each.finding, fix=replace(each.finding.fix, safe=True)))
            for each in report.findings
            if each.finding.fix is not None
        ]
        return replace(report, findings=tuple(claims))

    document = parse_document(text, "eaglecfg.yaml", str(pair))
    kept = fix([document], careless, select=["EC604"])
    assert kept.documents[0].text == text
    assert [each.reason for each in kept.left] == [
        "it is not safe here (NCCL_P2P_DISABLE 0, then 1); --unsafe makes it all the same"
    ]
    made = fix([document], careless, select=["EC604"], unsafe=True)
    assert made.documents[0].text == text.replace("true", "1")


@pytest.mark.parametrize(
    "body",
    [
        "    nccl: {p2p_disable: true}\n",
        "    nccl: {p2p_disable: true, shm_disable: true}\n",
        "    nccl: {buffsize: 4M}\n",
        "    nccl: {min_channels: 8}\n",
        "    nccl: {proto: 'LL, Simple'}\n",
        "    env: {nccl_proto: LL}\n",
        "    parallel: {TP-Size: 2}\n",
        '    parallel: {tp_size: "2"}\n',
        "    server: {enable_metrics: on}\n",
        "    speculative: {algorithm: EAGLE3}\n"  # a chain, by the adaptive steps that are switched off later
        "    server: {speculative_adaptive: true, enable_two_batch_overlap: true}\n",
        "    speculative: {algorithm: EAGLE, num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}\n",
    ],
)
def test_what_would_run_otherwise_waits_for_unsafe(pair: Path, body: str) -> None:
    careful = fixed(pair, chat(body))
    assert careful.documents[0].text == chat(body)
    assert careful.unsafe >= 1
    assert careful.left == (), "the rules say so themselves"
