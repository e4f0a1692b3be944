"""A target that is to have a head of its own, and has none."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.files.target_names import has_head, layers, whole_target
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, Rule, Severity, Today

_TIE = "tie_word_embeddings"
UNTIED = frozenset({"llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"})
"""Model types whose config classes take false where tie_word_embeddings is absent (transformers 5.0,
configuration_llama.py and its neighbours)."""


def check(context: Context) -> Iterator[Item]:
    """Without tied embeddings there must be a tensor for the head."""
    whole = whole_target(context)
    if whole is None:
        yield NotApplicable()
        return
    config, names = whole
    if not layers(names) or not _untied(config):
        yield NotApplicable()
        return
    if has_head(names):
        return
    said = config.find(_TIE)
    yield Finding(
        f"{config.file} {'does not tie' if said is None else 'unties'} the head from the embedding, but the "
        "target's files have no lm_head.weight",
        context.where("target", "checkpoint"),
        why="SGLang does not compare what it loaded with what it built: the head, which the draft may share, "
        "computes with whatever its memory held, and every answer is noise",
        help=f'write "tie_word_embeddings": true into {config.file} if the model was trained so, or save it '
        "again with its head",
        evidence=(
            config_line(config, _TIE, "the class takes false" if said is None else ""),
            Evidence(context.model.target.checkpoint or "", "lm_head.weight", "absent"),
        ),
        values={_TIE: False if said is None else said.value},
    )


def _untied(config: ModelConfig) -> bool:
    """Whether no level of the file ties, and the class does not by itself."""
    found = [value for value in (config.find(_TIE), config.top(_TIE)) if value is not None]
    if found:
        return all(value.value is False for value in found)
    return config.text_key is None and config.value("model_type") in UNTIED


RULE = Rule(
    id="EC817",
    slug="target-head",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    follows=("EC803", "EC804", "EC814", "EC816"),
)
