"""``python -m benchmarks.checkpoint``: ``eaglecfg validate`` on a sparse checkpoint of a terabyte.

256 files, 150,000 tensors, about 45 MB on disk. The page cache is dropped before each run, where the system
permits it; otherwise the runs are called warm. Libraries that read the same files stand beside it, as far as
they are installed, each in a process of its own and in turn with ours, so that all meet the same load.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.process import Run, eaglecfg, median, run, table
from eaglecfg.checkpoint.sketch import size_of, write_checkpoint
from eaglecfg.checkpoint.sketch_shapes import bf16, eagle3_draft, map_shapes

BAR_SECONDS, BAR_MIB = 1.0, 512
SHARDS, LAYERS, EXPERTS = 256, 61, 416
HIDDEN, VOCABULARY, DRAFT_VOCABULARY, HEADS = 7168, 163840, 32000, 64
REPEATS = 5

Tensors = dict[str, tuple[str, list[int]]]

COMMON: dict[str, Any] = {
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": HIDDEN,
    "intermediate_size": 18432,
    "max_position_embeddings": 131072,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
    "vocab_size": VOCABULARY,
}
TARGET = {
    **COMMON,
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_hidden_layers": LAYERS,
    "n_routed_experts": EXPERTS,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
DRAFT = {
    **COMMON,
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "head_dim": 128,
    "draft_vocab_size": DRAFT_VOCABULARY,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 29, 57], "use_aux_hidden_state": True},
}
CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.12}
deployments:
  chat:
    target: {checkpoint: target}
    draft: {checkpoint: draft}
    capture: {trained_boundaries: [3, 30, 58]}
    parallel: {tp_size: 8}
    speculative: {algorithm: EAGLE3, num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}
    server: {max_running_requests: 48}
"""
MANY = 200
MANY_SECONDS = 2.0
"""For all of them: the second of a single one, and 5 ms each for the rules."""
ONE_OF_MANY = """\
  d{number}:
    target: {{checkpoint: target}}
    draft: {{checkpoint: draft}}
    capture: {{trained_boundaries: [3, 30, 58]}}
    parallel: {{tp_size: 8}}
    speculative: {{algorithm: EAGLE3, num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}}
    server: {{max_running_requests: {requests}}}
"""
PEERS = {
    "safetensors": """
from pathlib import Path
from safetensors import safe_open
count = 0
for path in sorted(Path("target").glob("*.safetensors")):
    with safe_open(path, "numpy") as file:
        count += sum(len(file.get_slice(name).get_shape()) > 0 for name in file.keys())
assert count > 150_000
""",
    "huggingface_hub": """
from huggingface_hub import get_local_safetensors_metadata
found = get_local_safetensors_metadata("target")
assert len(found.weight_map) > 150_000 and len(found.files_metadata) == 256
""",
    "transformers": """
from transformers import AutoConfig
assert AutoConfig.from_pretrained("target").num_hidden_layers == 61
""",
}
"""Library -> a program that reads of the target what that library reads: shapes, shapes, config.json."""
LABELS = {
    "safetensors": "safetensors safe_open, all shapes",
    "huggingface_hub": "huggingface_hub local metadata",
    "transformers": "transformers AutoConfig (no weights)",
}


def main() -> int:
    """Build the checkpoint, measure, print. 0 when every bar holds, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to build it (default: a temporary folder)")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        tensors = target_tensors()
        build(folder, tensors)
        size = sum(size_of(dtype, shape) for dtype, shape in tensors.values())
        print(
            f"{len(tensors):,} tensors in {SHARDS} files, {size / 1e12:.2f} TB, on {os.cpu_count()} cores\n"
        )
        return report(folder, arguments.repeats)


def commands() -> dict[str, list[str]]:
    """Every reading by its label; ours come first and have bars."""
    ours = {
        "eaglecfg validate": eaglecfg("validate", "eaglecfg.yaml"),
        "eaglecfg validate --deep": eaglecfg("validate", "eaglecfg.yaml", "--deep"),
        f"eaglecfg validate, {MANY} deployments": eaglecfg("validate", "many.yaml", "--format", "concise"),
    }
    here = [name for name in PEERS if importlib.util.find_spec(name) is not None]
    return ours | {LABELS[name]: [sys.executable, "-c", PEERS[name]] for name in here}


def report(folder: Path, repeats: int) -> int:
    """Measure every reading in turn, and print the table."""
    rows = [["reading", "cache", "median s", "fastest s", "slowest s", "cpu s", "peak MiB", ""]]
    runs: dict[str, list[Run]] = {label: [] for label in commands()}
    colds: list[bool] = []
    for command in commands().values():
        run(command, folder)  # writes the bytecode
    for _ in range(repeats):
        for label, command in commands().items():
            colds.append(drop_caches())
            runs[label].append(run(command, folder))
    held = True
    for label, all_runs in runs.items():
        middle, peak = median(all_runs), max(one.peak_mib for one in all_runs)
        seconds = [one.seconds for one in all_runs]
        verdict = "" if middle.code == 0 else f"exit {middle.code}"
        if label.startswith("eaglecfg"):
            bar = MANY_SECONDS if str(MANY) in label else BAR_SECONDS
            good = middle.seconds <= bar and peak <= BAR_MIB and middle.code == 0
            held = held and good
            verdict = "ok" if good else f"MISSED (exit {middle.code})"
        times = [f"{value:.2f}" for value in (middle.seconds, min(seconds), max(seconds), middle.cpu)]
        rows.append([label, "cold" if all(colds) else "warm", *times, f"{peak:.0f}", verdict])
        if middle.code != 0:
            print(middle.output)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    bars = f"{BAR_SECONDS:.0f} s ({MANY_SECONDS:.0f} s for {MANY} deployments) and {BAR_MIB} MiB"
    print(table(rows), f"\nbars: {bars}; load of the machine {load}", sep="\n")
    return 0 if held else 1


def drop_caches() -> bool:
    """Empty the system's file cache; False where that is not permitted."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
    except OSError:
        return False
    return True


def build(folder: Path, tensors: Tensors) -> None:
    """Write target, draft and config; nothing but headers and vocabulary maps takes space on disk."""
    write_checkpoint(folder / "target", TARGET, tensors, shards=SHARDS)
    step = VOCABULARY // DRAFT_VOCABULARY
    marks = bytes(at % step == 0 and at // step < DRAFT_VOCABULARY for at in range(VOCABULARY))
    values = {"d2t": [(step - 1) * at for at in range(DRAFT_VOCABULARY)], "t2d": marks}
    write_checkpoint(folder / "draft", DRAFT, draft_tensors(), values)
    (folder / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
    head = CONFIG[: CONFIG.index("  chat:")]
    many = (ONE_OF_MANY.format(number=number, requests=16 + number) for number in range(MANY))
    (folder / "many.yaml").write_text(head + "".join(many), encoding="utf-8")


def target_tensors() -> Tensors:
    """A mixture of experts with a scale beside every expert matrix."""
    out: Tensors = {"model.embed_tokens.weight": ("BF16", [VOCABULARY, HIDDEN])}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            out[f"{prefix}{norm}.weight"] = ("BF16", [HIDDEN])
        out[f"{prefix}self_attn.q_a_proj.weight"] = ("BF16", [1536, HIDDEN])
        out[f"{prefix}self_attn.o_proj.weight"] = ("BF16", [HIDDEN, HEADS * 128])
        for expert in range(EXPERTS if layer else 0):
            for name in ("gate_proj", "up_proj", "down_proj"):
                shape = [HIDDEN, 2048] if name == "down_proj" else [2048, HIDDEN]
                out[f"{prefix}mlp.experts.{expert}.{name}.weight"] = ("F8_E4M3", shape)
                out[f"{prefix}mlp.experts.{expert}.{name}.weight_scale_inv"] = (
                    "F32",
                    [shape[0] // 128, shape[1] // 128],
                )
    out["model.norm.weight"] = ("BF16", [HIDDEN])
    out["lm_head.weight"] = ("BF16", [VOCABULARY, HIDDEN])
    return out


def draft_tensors() -> Tensors:
    """A one-layer EAGLE-3 draft of the same width."""
    wide = HEADS * 128
    sizes = {"hidden": HIDDEN, "query": wide, "key_value": wide, "intermediate": 18432}
    draft = eagle3_draft(states=3, **sizes, draft_vocabulary=DRAFT_VOCABULARY)
    return bf16(draft) | map_shapes(VOCABULARY, DRAFT_VOCABULARY)


if __name__ == "__main__":
    sys.exit(main())
