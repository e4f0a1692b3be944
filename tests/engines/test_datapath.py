from __future__ import annotations

from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.engines.boundaries import boundaries_of
from eaglecfg.engines.datapath import Hop, data_path
from eaglecfg.engines.wiring import wiring_of
from tests.engines.build import KIMI, draft, facts, resolved, target

IDS = "eagle_aux_hidden_state_layer_ids"


def checkpoint(config: ModelConfig, **tensors: tuple[int, ...]) -> CheckpointFacts:
    folder = config.file.partition("/")[0]
    found = {
        name: TensorFact(name, "BF16", shape, f"{folder}/model.safetensors")
        for name, shape in ((name.replace("__", "."), shape) for name, shape in tensors.items())
    }
    return CheckpointFacts(folder, folder, config, frozenset(found), found)


def path(
    version: str,
    of: ModelConfig,
    by: ModelConfig,
    tensors: dict[str, tuple[int, ...]] | None = None,
    gpu: str | None = None,
    **values: Any,
) -> dict[str, Hop]:
    known, found = facts(version), resolved(version, of, by, **values)
    wiring, boundaries = wiring_of(known, of, by), boundaries_of(known, of, by, found)
    assert wiring is not None
    assert boundaries is not None
    draft_files = checkpoint(by, **(tensors or {}))
    hops = data_path(known, checkpoint(of), draft_files, wiring, boundaries, found, gpu)
    return {hop.name: hop for hop in hops}


def kimi(version: str, gpu: str | None = None, **values: Any) -> dict[str, Hop]:
    of = target(KIMI, hidden_size=7168, num_hidden_layers=61, num_attention_heads=64, vocab_size=163840)
    by = draft(
        hidden_size=7168,
        num_attention_heads=64,
        num_key_value_heads=64,
        head_dim=128,
        intermediate_size=18432,
        vocab_size=163840,
        draft_vocab_size=32000,
        eagle_config={IDS: [2, 30, 58]},
    )
    return path(version, of, by, {"fc__weight": (7168, 21504)}, gpu, **{"tp_size": 8, **values})


def test_a_captured_state_is_full_width_on_every_rank() -> None:
    hops = kimi("0.5.14")
    state = hops["capture at boundary 30"]
    assert state.full == state.per_rank == ("tokens", 7168)
    assert state.spread == "replicated"
    assert "full width on every rank" in state.why
    assert "output of target layer 29" in state.what
    assert hops["concatenation"].full == ("tokens", 21504)


def test_the_partial_sum_of_a_fused_all_reduce_is_told_up_to_0_5_13() -> None:
    assert "partial sum" in kimi("0.5.12")["capture at boundary 31"].why
    assert "partial sum" not in kimi("0.5.14")["capture at boundary 30"].why
    assert "partial sum" not in kimi("0.5.12", tp_size=1)["capture at boundary 31"].why
    groups = kimi("0.5.12", dp_size=4, enable_dp_attention=True)
    assert "partial sum" not in groups["capture at boundary 31"].why


def test_fc_is_whole_on_every_rank_and_seen_in_the_file() -> None:
    fc = kimi("0.5.14")["draft fc"]
    assert (fc.full, fc.per_rank, fc.spread) == ((7168, 21504), (7168, 21504), "replicated")
    assert fc.verified is True
    assert fc.evidence[0].text == "BF16 [7168, 21504]"


def test_attention_and_mlp_of_the_draft_are_split() -> None:
    hops = kimi("0.5.14")
    assert hops["first draft layer, q_proj"].per_rank == (1024, 14336)
    assert hops["first draft layer, o_proj"].per_rank == (7168, 1024)
    assert hops["first draft layer, gate_proj"].per_rank == (2304, 7168)
    assert hops["draft head"].per_rank == (4000, 7168)


def test_few_kv_heads_are_copied_rather_than_split() -> None:
    hops = path("0.5.14", target(), draft(num_key_value_heads=2), tp_size=8)
    assert hops["first draft layer, k_proj"].per_rank == (32, 1024)
    assert "copy" in hops["first draft layer, k_proj"].why


def test_a_tensor_of_another_shape_is_not_verified() -> None:
    hops = path("0.5.14", target(), draft(), {"fc__weight": (512, 1024)})
    assert hops["draft fc"].verified is False
    assert hops["draft head"].verified is None


def test_groups_of_data_parallel_attention_hold_their_own_tokens() -> None:
    hops = kimi("0.5.14", dp_size=4, enable_dp_attention=True)
    assert hops["residual stream"].full[0] == "tokens of the group"
    assert hops["first draft layer, q_proj"].per_rank == (4096, 14336)


def test_gemma3_is_told_to_lose_the_residual() -> None:
    of = target("Gemma3ForCausalLM", num_hidden_layers=26)
    assert "without the residual" in path("0.5.23", of, draft())["capture at boundary 13"].why


STATES = ("capture at boundary 31", "concatenation", "first draft layer, input")


def test_where_the_file_decides_the_partial_sum_is_told_as_it_is() -> None:
    fused = kimi("0.5.12", "H200")
    assert {fused[name].spread for name in STATES} == {"partial"}
    assert fused["capture at boundary 31"].why.startswith("here each rank captures its own partial sum")
    assert "by default for KimiK25ForConditionalGeneration" in fused["capture at boundary 31"].why
    assert "differs from rank to rank" in fused["draft fc"].why
    off = kimi("0.5.12", "H200", enforce_disable_flashinfer_allreduce_fusion=True)
    for whole in (kimi("0.5.12", "A100"), off, kimi("0.5.12", "H200", nnodes=2, tp_size=16)):
        assert {whole[name].spread for name in STATES} == {"replicated"}
        assert "partial sum" not in whole["capture at boundary 31"].why
    assert "hardware.gpu would say" in kimi("0.5.12")["capture at boundary 31"].why


def test_one_rank_is_not_spoken_of_as_every_rank() -> None:
    for hop in kimi("0.5.14", tp_size=1).values():
        assert "every rank" not in hop.why, hop
        assert "each rank" not in hop.why, hop
        assert hop.full == hop.per_rank


def test_tokens_are_those_of_the_group_on_every_hop_of_data_parallel_attention() -> None:
    hops = kimi("0.5.14", dp_size=8, enable_dp_attention=True)
    sizes = {size for hop in hops.values() for size in (*hop.full, *hop.per_rank) if isinstance(size, str)}
    assert sizes == {"tokens of the group"}
    assert "8 groups of data-parallel attention is one rank" in hops["residual stream"].why


def test_ranks_that_do_not_divide_verify_nothing() -> None:
    tensors: dict[str, tuple[int, ...]] = {
        "midlayer__self_attn__q_proj__weight": (512, 1024),
        "midlayer__mlp__up_proj__weight": (1024, 512),
    }
    hops = path("0.5.14", target(), draft(), tensors, tp_size=3)
    query = hops["first draft layer, q_proj"]
    assert (query.divides, query.verified) == (False, None)
    assert "do not divide by 3 ranks" in query.why
    for hop in hops.values():
        assert not (hop.verified and None in hop.per_rank), hop


def test_a_line_of_another_version_says_so() -> None:
    for version in ("0.5.12", "0.5.14", "0.5.18"):
        lines = {
            each.file for hop in kimi(version).values() for each in hop.evidence if "sglang" in each.file
        }
        assert lines
        assert all(each.startswith("as in sglang ") or each == f"sglang {version}" for each in lines)
        assert all(each != f"as in sglang {version}" for each in lines)


def test_a_borrowed_head_is_as_wide_as_the_target() -> None:
    hops = path("0.5.23", target(hidden_size=1024), draft(draft_vocab_size=None, target_hidden_size=1024))
    assert hops["draft head"].full == (target().integer("vocab_size"), 1024)
    assert "cannot start" in hops["draft head"].what
    alike = path("0.5.23", target(), draft(draft_vocab_size=None))["draft head"]
    assert alike.full[1] == target().integer("hidden_size")
    assert "cannot start" not in alike.what
