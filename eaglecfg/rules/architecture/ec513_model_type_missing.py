"""Without ``model_type`` transformers has no config class for config.json."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Both config.json files must name their ``model_type``."""
    assert context.engine is not None
    sides = [("target", context.target)]
    if context.speculates:
        sides.append(("draft", context.draft))
    for role, facts in sides:
        config = facts.config if facts is not None else None
        if facts is None or config is None or "model_type" in config.raw:
            continue
        own_code = isinstance(config.raw.get("auto_map"), dict) and "AutoConfig" in config.raw["auto_map"]
        # SGLang reads checkpoints of Mistral's own layout itself, and knows them by their names.
        if not own_code and "stral" not in facts.shown.lower():
            yield _finding(context, config, role)


def _finding(context: Context, config: ModelConfig, role: str) -> Finding:
    assert context.engine is not None
    refused = context.engine.values["model_type_needed"]
    typical = "llama" if role == "draft" else "..."
    return Finding(
        f"{config.file} has no model_type, by which transformers chooses the class that reads it",
        path=context.where(role, "checkpoint"),
        severity=Severity.ERROR if refused else Severity.WARNING,
        today=Today.REFUSED if refused else Today.SILENT,
        why=f"the transformers that {engine_label(context)} pins "
        + (
            f"stops on such a file (ValueError), and so does the server before it loads the {role}"
            if refused
            else "then takes the first model type that occurs in the folder's path, or stops if none does: "
            "defaults follow from a folder's name, and later versions refuse the file"
        ),
        help=f'write "model_type": "{typical}" into {config.file}'
        + (" for a Llama-style draft" if role == "draft" else ""),
        evidence=(config_line(config, "model_type"),),
        values={"checkpoint": role},
    )


RULE = Rule(
    id="EC513",
    slug="model-type-missing",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=UNLOADABLE,
)
