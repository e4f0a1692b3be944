"""The documentation of a rule, and how its examples become real folders.

``ecNNN.yaml`` stands beside its rule and is read only by ``explain``, the docs and the tests. Its keys:
``summary`` (one sentence), ``what``, ``why``, ``fix``, ``references``, ``failing`` and ``passing``. Each
changes a small consistent pair, a Llama target of 12 layers and its EAGLE-3 draft on SGLang. Its keys, all
optional but ``title``:

- ``engine``: a version, shorthand for ``config: {engine: {version: ...}}``.
- ``config``: patch of the whole eaglecfg.yaml; ``deployment``: patch of its one deployment, ``chat``.
- ``text``: the whole eaglecfg.yaml as text, instead of both.
- ``target``, ``draft``: ``config`` (patch of config.json), ``tensors`` (name to [dtype, shape], null
  removes), ``values`` (name to a list or a recipe, null removes), ``shards`` (number of weight files).
  ``draft.training``: the content of eaglecfg-training.json.
- ``study``: patch of a small study file, written as study.yaml and checked too; ``study_text``: its text.
- ``files``: path to text, written last. ``copy``: path to path. ``remove``: paths to delete.
  ``truncate``: path to bytes kept.
- ``engine_says``: the answer of an installed engine, as fields of EngineSays.
- ``server_says``: the answer of a running server, as fields of Running; ``info`` patches what a server of the
  small pair reports, ``generations`` 16 good requests.
- ``weights``: the values of the draft's weights are read. They are noise of a fixed seed, save those that it
  names: tensor to ``{fill: number}``, with ``rows``, ``columns`` or ``values: [first, last]`` only there, or
  ``{same_as: tensor}``; ``{}`` names none.
- ``expect``: text, or list of texts, that the rule's findings must contain.

In a patch null removes the key and ``<null>`` stands for null. YAML reads a bare ``off`` as false: quote it.
A recipe is ``{form: offset | absolute | zeros, patch: {index: value}}`` or, for t2d, ``{marks: [ids]}``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eaglecfg.checkpoint.sketch import write_checkpoint
from eaglecfg.checkpoint.sketch_shapes import bf16, eagle3_draft, llama_layer, map_shapes
from eaglecfg.rules.model import Rule

if TYPE_CHECKING:
    from eaglecfg.engines.ask import EngineSays
    from eaglecfg.rules.live.running import Running

LAYERS, HIDDEN, VOCABULARY, DRAFT_VOCABULARY = 12, 256, 1024, 256
HEADS, KEY_VALUE_HEADS, HEAD_DIM, INTERMEDIATE = 4, 2, 64, 512
EVERY = VOCABULARY // DRAFT_VOCABULARY
SIZES = {
    "hidden": HIDDEN,
    "query": HEADS * HEAD_DIM,
    "key_value": KEY_VALUE_HEADS * HEAD_DIM,
    "intermediate": INTERMEDIATE,
}

BASE_CONFIG: Mapping[str, Any] = {
    "version": 1,
    "engine": {"name": "sglang", "version": "0.5.23"},
    "deployments": {
        "chat": {
            "target": {"checkpoint": "target"},
            "draft": {"checkpoint": "draft"},
            "capture": {"trained_boundaries": [3, 6, 9]},
            "parallel": {"tp_size": 1},
            "speculative": {
                "algorithm": "EAGLE3",
                "num_steps": 3,
                "eagle_topk": 1,
                "num_draft_tokens": 4,
            },
        }
    },
}

BASE_STUDY: Mapping[str, Any] = {
    "version": 1,
    "config": "eaglecfg.yaml",
    "deployment": "chat",
    "launch": {"prefix": ["{python}", "-m", "sglang.launch_server"], "stop": "group"},
    "space": {"speculative.num_steps": [1, 2, 3]},
    "objective": {"metric": "output_tokens_per_s", "concurrency": [1]},
    "workload": {"prompts": "prompts.jsonl", "output_tokens": 64},
    "budget": {"launches": 20},
    "profile": "demo",
}

_MODEL: Mapping[str, Any] = {
    "model_type": "llama",
    "attention_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "max_position_embeddings": 4096,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KEY_VALUE_HEADS,
    "head_dim": HEAD_DIM,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
    "vocab_size": VOCABULARY,
}
BASE_TARGET: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    **_MODEL,
    "num_hidden_layers": LAYERS,
}
BASE_DRAFT: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    **_MODEL,
    "num_hidden_layers": 1,
    "draft_vocab_size": DRAFT_VOCABULARY,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 5, 8], "use_aux_hidden_state": True},
}

Table = dict[str, tuple[str, Sequence[int]]]


def _target_tensors(counted: Any) -> Table:
    """Those of LAYERS layers, or of the fewer that the config counts; a deeper target stays a sketch."""
    table: Table = {
        "model.embed_tokens.weight": ("BF16", [VOCABULARY, HIDDEN]),
        "model.norm.weight": ("BF16", [HIDDEN]),
        "lm_head.weight": ("BF16", [VOCABULARY, HIDDEN]),
    }
    for index in range(min(counted, LAYERS) if isinstance(counted, int) else LAYERS):
        table |= bf16(llama_layer(f"model.layers.{index}.", inputs=HIDDEN, **SIZES))
    return table


def _draft_tensors() -> Table:
    draft = eagle3_draft(states=3, **SIZES, draft_vocabulary=DRAFT_VOCABULARY)
    return {**bf16(draft), **map_shapes(VOCABULARY, DRAFT_VOCABULARY)}


DRAFT_VALUES: Mapping[str, Any] = {
    "d2t": {"form": "offset"},
    "t2d": {"marks": [EVERY * index for index in range(DRAFT_VOCABULARY)]},
}


@dataclass(frozen=True, slots=True)
class RuleDocs:
    """The content of one ``ecNNN.yaml``; examples stay plain data."""

    summary: str
    what: str
    why: str
    fix: str
    references: tuple[str, ...]
    failing: tuple[Mapping[str, Any], ...]
    passing: tuple[Mapping[str, Any], ...]


def docs_path(rule: Rule) -> Path:
    """Where the documentation of ``rule`` stands: ``ecNNN.yaml`` beside its module."""
    module = sys.modules[rule.check.__module__]
    assert module.__file__ is not None
    return Path(module.__file__).with_name(f"{rule.id.lower()}.yaml")


def read_docs(rule: Rule) -> RuleDocs:
    """Documentation and examples of ``rule``. Raises FileNotFoundError without a file, KeyError for a gap."""
    with docs_path(rule).open(encoding="utf-8") as stream:
        raw = yaml.load(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return RuleDocs(
        summary=raw["summary"].strip(),
        what=raw["what"].strip(),
        why=raw["why"].strip(),
        fix=raw["fix"].strip(),
        references=tuple(raw["references"]),
        failing=tuple(raw["failing"]),
        passing=tuple(raw["passing"]),
    )


def expected(example: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that the findings of a failing example must contain."""
    wanted = example.get("expect", [])
    return (wanted,) if isinstance(wanted, str) else tuple(wanted)


def answer_of(example: Mapping[str, Any]) -> EngineSays | None:
    """What the installed engine says in ``example``, None where nobody asked it."""
    if "engine_says" not in example:
        return None
    from eaglecfg.engines.ask import EngineSays

    return EngineSays(**example["engine_says"])


BASE_SERVER: Mapping[str, Any] = {
    "model_path": "target",
    "speculative_draft_model_path": "draft",
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "tp_size": 1,
}
BASE_GENERATIONS: Mapping[str, Any] = {
    "origin": "16 prompts of the example",
    "tokens": 64,
    "answered": 16,
    "counted": 16,
    "counters": "spec_num_correct_drafts",
    "verify_steps": 400,
    "accept_length": 2.5,
    "low": 2.4,
    "high": 2.6,
}


def server_of(example: Mapping[str, Any]) -> Running | None:
    """What the running server says in ``example``, None where nobody asked it."""
    if "server_says" not in example:
        return None
    from eaglecfg.rules.live.running import Differing, Generations, Running

    says = dict(example["server_says"])
    says["differing"] = {role: Differing(**told) for role, told in says.get("differing", {}).items()}
    version = str(says.pop("version", example.get("engine", BASE_CONFIG["engine"]["version"])))
    info = {**merge(BASE_SERVER, says.pop("info", {})), "version": version}
    generations = says.pop("generations", None)
    measured = None if generations is None else Generations(**merge(BASE_GENERATIONS, generations))
    url = "http://127.0.0.1:30000"
    return Running(url, version=version, info=info, generations=measured, **says)


def merge(base: Any, patch: Any) -> Any:
    """``patch`` laid over ``base``: mappings merge, null removes, ``<null>`` is null, the rest replaces."""
    if not isinstance(patch, Mapping):
        return None if patch == "<null>" else deepcopy(patch)
    out = dict(deepcopy(base)) if isinstance(base, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out


def materialize(example: Mapping[str, Any], folder: Path) -> Path:
    """Write the files of ``example`` under ``folder`` and return the path of its eaglecfg.yaml.

    A study file, where the example has one, stands beside it as ``study.yaml``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draft = example.get("draft", {})
    target = example.get("target", {})
    counted = target.get("config", {}).get("num_hidden_layers")
    _write_model(folder / "target", BASE_TARGET, _target_tensors(counted), {}, target)
    _write_model(folder / "draft", BASE_DRAFT, _draft_tensors(), DRAFT_VALUES, draft)
    if "weights" in example:
        from eaglecfg.rules.example_weights import fill_weights

        fill_weights(folder / "draft", example["weights"])
    if "training" in draft:
        record = json.dumps(draft["training"], indent=2) + "\n"
        (folder / "draft" / "eaglecfg-training.json").write_text(record, encoding="utf-8")
    path = folder / "eaglecfg.yaml"
    path.write_text(example["text"] if "text" in example else _dump(_config(example)), encoding="utf-8")
    if "study_text" in example:
        (folder / "study.yaml").write_text(example["study_text"], encoding="utf-8")
    elif "study" in example:
        (folder / "study.yaml").write_text(_dump(merge(BASE_STUDY, example["study"])), encoding="utf-8")
        (folder / "prompts.jsonl").write_text('{"prompt": "Once"}\n' * 8, encoding="utf-8")
    _change_files(example, folder)
    return path


def _config(example: Mapping[str, Any]) -> Any:
    config = merge(BASE_CONFIG, example.get("config", {}))
    if "engine" in example:
        config = merge(config, {"engine": {"version": str(example["engine"])}})
    if "deployment" in example:
        config = merge(config, {"deployments": {"chat": example["deployment"]}})
    return config


def _dump(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)


def _change_files(example: Mapping[str, Any], folder: Path) -> None:
    for name, text in example.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for source, name in example.get("copy", {}).items():
        (folder / name).write_bytes((folder / source).read_bytes())
    for name in example.get("remove", []):
        (folder / name).unlink()
    for name, kept in example.get("truncate", {}).items():
        with (folder / name).open("r+b") as stream:
            stream.truncate(kept)


def _write_model(
    folder: Path,
    config: Mapping[str, Any],
    table: Table,
    values: Mapping[str, Any],
    changes: Mapping[str, Any],
) -> None:
    tensors = dict(table)
    for name, tensor in changes.get("tensors", {}).items():
        if tensor is None:
            tensors.pop(name, None)
        else:
            tensors[name] = (tensor[0], tensor[1])
    recipes = {**values, **changes.get("values", {})}
    filled = {
        name: _values(recipe, tensors[name][1])
        for name, recipe in recipes.items()
        if recipe is not None and name in tensors
    }
    write_checkpoint(
        folder, merge(config, changes.get("config", {})), tensors, filled, changes.get("shards", 1)
    )


def _values(recipe: Any, shape: Sequence[int]) -> Sequence[int] | bytes:
    """The values of an integer or byte tensor of ``shape`` ([count]) from a list or a recipe."""
    if not isinstance(recipe, Mapping):
        return list(recipe)
    count = shape[0]
    if "marks" in recipe:
        marked = set(recipe["marks"])
        return bytes(index in marked for index in range(count))
    step = {"offset": EVERY - 1, "absolute": EVERY, "zeros": 0}[recipe["form"]]
    out = [step * index for index in range(count)]
    for index, value in recipe.get("patch", {}).items():
        out[int(index)] = value
    return out
