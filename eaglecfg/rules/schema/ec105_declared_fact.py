"""What eaglecfg.yaml declares about a checkpoint must be what the checkpoint's files say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.locate import locate
from eaglecfg.engines.resolve import OVERRIDES
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, shown, tensor_line
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Fix,
    Item,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)
from eaglecfg.rules.schema.lines import architecture_line
from eaglecfg.source.span import KeyPath, show_path

_NOT_FACTS = frozenset(("checkpoint", "revision"))
_IDS = "eagle_aux_hidden_state_layer_ids"
_FC = ("fc.weight", "model.fc.weight")


def check(context: Context) -> Iterator[Item]:
    """Compare each declared fact with config.json or with a tensor's shape."""
    unseen: list[str] = []
    any_declared = failed = False
    for path, declared, facts in _declared(context):
        any_declared = True
        found = _found(path, facts)
        if found is None and path == ("capture", "layer_ids") and _reads_none(context):
            failed = True
            yield _no_ids(context, declared)
            continue
        if found is None:
            unseen.append(show_path(path))
            continue
        actual, evidence = found
        if _same(declared, actual):
            continue
        failed = True
        text = shown(actual)
        yield Finding(
            f"{show_path(path)} is declared as {shown(declared)}, but {evidence.file} has {text}",
            path=context.where(*path),
            why="the declaration is out of date, or another checkpoint than the intended one is deployed",
            help=f"write {text.strip(chr(34))}, or name the checkpoint that was meant",
            evidence=(evidence,),
            values={"declared": declared, "file": actual},
            fix=Fix(f"set {show_path(path)} to {text}", context.where(*path), text, safe=False),
        )
    if not any_declared:
        yield NotApplicable()
    elif unseen and not failed:
        # Where a whole checkpoint is missing a rule about files says so, and that the check is incomplete.
        yield NotChecked(f"the files do not tell {', '.join(unseen)}")


def _reads_none(context: Context) -> bool:
    """Whether config.json was read and neither it nor an override lists ids, in whatever form."""
    config = context.draft.config if context.draft is not None else None
    block = config.raw.get("eagle_config") if config is not None else None
    if config is None or _IDS in config.raw or (isinstance(block, dict) and _IDS in block):
        return False
    return (block is None or isinstance(block, dict)) and "eagle_config" not in str(
        context.argument(OVERRIDES)
    )


def _no_ids(context: Context, declared: list[int]) -> Finding:
    assert context.draft is not None
    assert context.draft.config is not None
    file, found = context.draft.config.file, context.boundaries
    default = "its default boundaries"
    if found is not None and found.ids is None and found.captured:
        default += f" {shown(list(found.captured))}"
    return Finding(
        f"capture.layer_ids is declared as {shown(declared)}, but {file} lists no ids, and the engine "
        f"captures {default}",
        path=context.where("capture", "layer_ids"),
        why="what is declared here is not handed to the engine: it reads ids from the draft's config alone",
        help=f'write "eagle_config": {{"{_IDS}": {shown(declared)}}} into {file} if the draft was trained '
        "so, or remove capture.layer_ids",
        evidence=(Evidence(file, f"eagle_config.{_IDS}", "absent"),),
        values={"declared": declared, "file": None},
    )


def _declared(context: Context) -> Iterator[tuple[KeyPath, Any, CheckpointFacts | None]]:
    model = context.model
    blocks = (("target", model.target, context.target), ("draft", model.draft, context.draft))
    for block, declared, facts in blocks:
        if declared is None:
            continue
        for name in type(declared).model_fields:
            value = getattr(declared, name)
            if name not in _NOT_FACTS and value is not None:
                yield (block, name), value, facts
    if model.capture.layer_ids is not None and model.draft is not None:
        yield ("capture", "layer_ids"), model.capture.layer_ids, context.draft


def _found(path: KeyPath, facts: CheckpointFacts | None) -> tuple[Any, Evidence] | None:
    """What the files say, and where; None where they do not tell."""
    if facts is None:
        return None
    name = str(path[-1])
    if name == "fc_input_width":
        for spelling in _FC:
            tensor = facts.tensors.get(spelling)
            if tensor is not None and len(tensor.shape) == 2:
                return tensor.shape[1], tensor_line(tensor, "columns are the input width")
        return None
    config = facts.config
    if config is None:
        return None
    if name == "layer_ids":
        for key, holder in ((f"eagle_config.{_IDS}", config.raw.get("eagle_config")), (_IDS, config.raw)):
            if isinstance(holder, dict) and isinstance(holder.get(_IDS), list):
                line, column = locate(config, key) or (None, None)
                evidence = Evidence(config.file, key, shown(holder[_IDS]), "", line, column)
                return holder[_IDS], evidence
        return None
    if name == "architecture":
        return None if config.architecture is None else (config.architecture, architecture_line(config))
    value = config.value(name)
    return None if value is None else (value, config_line(config, name))


def _same(declared: Any, actual: Any) -> bool:
    if isinstance(declared, str) and isinstance(actual, str):
        return declared.removeprefix("torch.") == actual.removeprefix("torch.")
    # A bool is no number here: true in config.json is not the width 1.
    return type(declared) is type(actual) and bool(declared == actual)


RULE = Rule(
    id="EC105",
    slug="declared-fact",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
)
