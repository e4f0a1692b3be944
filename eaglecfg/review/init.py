"""A first eaglecfg.yaml for a target and a draft: what their files say, and comments on what they cannot."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.hubid import hub_id
from eaglecfg.engines.reading import read_request
from eaglecfg.engines.table import load_facts
from eaglecfg.errors import UsageError
from eaglecfg.record import record
from eaglecfg.review.imports.document import modeline
from eaglecfg.review.imports.names import name_of_model
from eaglecfg.review.yaml_text import flow, quoted, scalar
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.schema.load import load_config
from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document

TARGET_FACTS = ("hidden_size", "num_hidden_layers", "vocab_size")
DRAFT_FACTS = ("hidden_size", "num_hidden_layers", "draft_vocab_size")
FC_NAMES = ("fc.weight", "model.fc.weight")
OFF = "off"
LONGEST_PATH = 4096
"""Characters. The system looks for no longer ones."""


@record
class Wanted:
    """What to write a file for. ``target`` and ``draft`` as the file will spell them; no draft, no
    speculation. ``version_remark`` says where the engine's version comes from."""

    target: str
    draft: str | None
    version: str
    version_remark: str = ""
    tp_size: int | None = None
    name: str | None = None
    schema: str | None = None


def place(given: str, here: Path, folder: Path) -> str:
    """``given`` on the command line in ``here`` as a config in ``folder`` spells it.

    Raises UsageError for what is neither a folder nor a hub id.
    """
    path = here / given
    if given and len(given) < LONGEST_PATH and path.is_dir():
        if given.startswith("/"):
            return given
        spelled = Path(os.path.relpath(path, folder)).as_posix()
        return posixpath.normpath(spelled)
    if given and len(given) < LONGEST_PATH and path.exists():
        raise UsageError(f"{given}: a checkpoint's folder is expected, this is a file; name the folder")
    if hub_id(given) is None:
        raise UsageError(f"{given[:200]}: there is no such folder, and it is no hub id (org/name)")
    return given


def write(wanted: Wanted, name: str, folder: Path, checkpoints: Checkpoints) -> str:
    """The text of the file ``name`` in ``folder``. Reads configs and tensor headers, as a check does.

    Raises UsageError for an engine version that is none.
    """
    if load_facts("sglang", wanted.version) is None:
        raise UsageError(f"the engine's version is expected to be one such as 0.5.14, got {wanted.version!r}")
    draft = [f"      draft: {{checkpoint: {flow(wanted.draft)}}}"] if wanted.draft is not None else []
    bare = "\n".join(
        [
            "version: 1",
            f"engine: {{version: {quoted(wanted.version)}}}",
            "deployments:",
            "    x:",
            f"      target: {{checkpoint: {flow(wanted.target)}}}",
            *draft,
        ]
    )
    config = load_config(parse_document(bare, name, str(folder)))
    context = deployment_context(config, config.deployments[0], checkpoints)
    lines = [
        *modeline(wanted.schema),
        "# Written by eaglecfg init. The numbers are those of the checkpoints' files, which every check",
        "# compares. Check: eaglecfg validate. Look: eaglecfg trace. Launch: eaglecfg render.",
        "version: 1",
        f"engine: {{name: sglang, version: {_version(wanted)}}}{_remark(wanted.version_remark)}",
        "",
        "deployments:",
        f"  {scalar(wanted.name or name_of_model(wanted.target))}:",
        *_target(wanted, context.target),
        *(_draft(wanted.draft, context) if wanted.draft is not None else ["    speculative: off"]),
        *_parallel(wanted),
        *_server(context.target),
        "    # hardware: {gpu: H200, count: 8, topology: nvswitch}   # for checks of memory and links",
        "    # nccl: {}   # NCCL variables without the prefix; `eaglecfg tune` measures which help",
    ]
    return "\n".join(lines) + "\n"


def _version(wanted: Wanted) -> str:
    plain = all(part.isalnum() for part in wanted.version.split(".")) and wanted.version.count(".") > 1
    return wanted.version if plain else quoted(wanted.version)


def _remark(text: str) -> str:
    return f"  # {text}" if text else ""


def _target(wanted: Wanted, facts: CheckpointFacts | None) -> Iterator[str]:
    yield "    target:"
    yield f"      checkpoint: {scalar(wanted.target)}{_pinned(facts)}"
    yield from _declared(facts, TARGET_FACTS)


def _pinned(facts: CheckpointFacts | None) -> str:
    if facts is None or facts.hub is None:
        return ""
    if facts.hub.commit is None:
        return "  # not in the local hub cache: --online fetches its config and headers"
    return f"  # a hub id moves with its branch; revision: {facts.hub.commit} holds it still"


def _declared(facts: CheckpointFacts | None, names: tuple[str, ...]) -> Iterator[str]:
    if facts is None or facts.config is None:
        yield "      # its config.json was not read; sizes can be declared here"
        return
    if facts.config.architecture is not None:
        yield f"      architecture: {scalar(facts.config.architecture)}"
    for name in names:
        value = facts.config.integer(name)
        if value is not None:
            yield f"      {name}: {value}"


def _draft(spelled: str, context: Context) -> Iterator[str]:
    facts = context.draft
    yield "    draft:"
    yield f"      checkpoint: {scalar(spelled)}{_pinned(facts)}"
    yield from _declared(facts, DRAFT_FACTS)
    width = _fc_width(facts)
    if width is not None:
        yield f"      fc_input_width: {width}  # columns of fc.weight: captured states x target hidden size"
    yield from _capture(context)
    yield "    speculative:  # a start that is rarely far off; `eaglecfg tune` measures which is best here"
    yield "      algorithm: EAGLE3"
    yield "      num_steps: 3"
    yield "      eagle_topk: 1"
    yield "      num_draft_tokens: 4  # num_steps + 1, for a chain"


def _fc_width(facts: CheckpointFacts | None) -> int | None:
    for name in FC_NAMES if facts is not None else ():
        tensor = facts.tensors.get(name) if facts is not None else None
        if tensor is not None and len(tensor.shape) == 2:
            return tensor.shape[1]
    return None


def _capture(context: Context) -> Iterator[str]:
    """The wiring as far as files tell it. What the draft was trained on is never made up."""
    draft = context.draft
    request = None
    if draft is not None and draft.config is not None:
        request = read_request(draft.config, honours_use_aux=False)
    ids = request.ids if request is not None else None
    yield "    capture:"
    if ids is not None:
        yield f"      layer_ids: {flow(list(ids))}  # as the draft's config.json spells them"
    else:
        yield "      # layer_ids: []  # the draft's config.json names none: the engine's default is captured"
    found = context.boundaries
    if found is not None and found.outcome == "captured":
        engine = context.engine
        label = f"{engine.name} {engine.version}" if engine is not None else "the engine"
        if found.decode is None:
            yield f"      # {label} captures boundaries {flow(list(found.captured))}"
        else:
            yield f"      # {label} captures boundaries {flow(list(found.captured))} in prefill alone:"
            yield f"      # its CUDA graphs capture {flow(list(found.decode))} whatever the ids are (EC901)"
    trained = context.training.boundaries if context.training is not None else None
    if trained is not None:
        yield f"      trained_boundaries: {flow(list(trained))}  # as the draft's eaglecfg-training.json says"
    elif ids is None:
        yield "      # trained_boundaries: []"
        yield from _how_to_know()
    else:
        yield "      # trained_boundaries: [_, _, _]"
        yield from _how_to_know()


def _how_to_know() -> Iterator[str]:
    yield "      #   No file says which boundaries the draft was trained on, and only who trained it knows;"
    yield "      #   without them a wiring that is wrong but runs cannot be told from the right one."
    yield "      #   Boundary i is the residual stream into layer i (transformers: hidden_states[i], i < n)."


def _parallel(wanted: Wanted) -> Iterator[str]:
    if wanted.tp_size is not None:
        yield f"    parallel: {{tp_size: {wanted.tp_size}}}"
    else:
        yield "    # parallel: {tp_size: 8}   # one GPU where this is left out"


def _server(facts: CheckpointFacts | None) -> Iterator[str]:
    yield "    # server: {mem_fraction_static: 0.85}   # any flag of the engine; underscores for hyphens"
    if facts is not None and facts.config is not None and facts.config.raw.get("auto_map"):
        yield "    #   The target's config.json names code of its own (auto_map). Once you have read it:"
        yield "    # server: {trust_remote_code: true}"


def parsed(text: str, name: str, folder: Path) -> Document:
    """The file as a check reads it."""
    return parse_document(text, name, str(folder))
