"""One setting of the search: a deployment with some keys changed, known by what it launches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import ValidationError

from eaglecfg.engines.blocks import BLOCKS, canonical, in_blocks
from eaglecfg.errors import UsageError
from eaglecfg.rules.study.parts import SECTIONS, UNSET
from eaglecfg.schema.deployment import Deployment

OFF = "off"


@dataclass(frozen=True, slots=True)
class Arm:
    """A deployment to launch.

    ``key`` is the hash of what is launched: two ways to write one setting are one arm, and a space may be
    edited without losing launches. ``values`` are the space's choices that led here, ``changed`` the
    deployment keys whose value differs from the deployment as it stands.
    """

    key: str
    label: str
    deployment: Deployment
    values: Mapping[str, Any] = field(default_factory=dict)
    changed: tuple[str, ...] = ()

    @property
    def draft_tokens(self) -> int:
        """Tokens per verify: how much speculation the setting asks for; 1 when off."""
        shape = self.deployment.speculative
        if shape is None or isinstance(shape, str):
            return 1
        return shape.num_draft_tokens or (shape.num_steps or 0) + 1


def spelled(key: str) -> tuple[str, ...]:
    """The parts of a space key, spelled as the deployment's canonical keys are.

    ``nccl.NCCL_PROTO`` and ``nccl.PROTO`` become ``nccl.proto``; hyphens of server flags become underscores.
    """
    section, _, name = key.partition(".")
    if not name:
        return (section,)
    if section == "nccl":
        name = name.lower().removeprefix("nccl_")
    elif section in ("server", "parallel", "speculative"):
        name = name.replace("-", "_")
    return (section, name)


def tree(deployment: Deployment) -> dict[str, Any]:
    """What ``deployment`` launches, as plain data with canonical keys and without anything left unset."""
    dumped = in_blocks(deployment).model.model_dump(mode="python", exclude_unset=True)
    out: dict[str, Any] = {}
    for section in SECTIONS:
        value = dumped.get(section)
        if isinstance(value, dict):
            # Engines' switches only turn things on: false launches what leaving the key out launches.
            given = {name: item for name, item in value.items() if item is not None and item is not False}
            value = {spelled(f"{section}.{name}")[-1]: item for name, item in given.items()}
        if value not in (None, {}):
            out[section] = value
    if "draft" not in out and "speculative" not in out:
        out["speculative"] = OFF
    if out.get("speculative") == OFF:
        out.pop("draft", None)
    return out


def arm_key(deployment: Deployment) -> str:
    """Twelve hex digits that stand for everything ``deployment`` launches."""
    text = json.dumps(tree(deployment), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def apply(base: Deployment, values: Mapping[str, Any]) -> Deployment:
    """``base`` with the space's ``values`` set. Raises UsageError for a value that the schema refuses.

    A mapping is merged into its block; ``unset`` removes the key. A chain (topk 1) whose step count is chosen
    gets ``num_draft_tokens = num_steps + 1`` unless that is chosen too: the engine would rewrite it to that.
    Flags under ``server`` that a block has a key for end up in that block.
    """
    data = in_blocks(base).model.model_dump(mode="python", exclude_unset=True)
    chosen: dict[tuple[str, ...], Any] = {}
    for key in sorted(values, key=lambda name: name.count(".")):
        path = _home(spelled(key), data)
        chosen[path] = values[key]
        _put(data, path, values[key])
    _complete_chain(data, chosen)
    try:
        return in_blocks(Deployment.model_validate(data)).model
    except ValidationError as error:
        # A union reports every member; the one that got deepest is the one that was meant.
        first = max(error.errors(), key=lambda item: len(item["loc"]))
        where = ".".join(str(part) for part in first["loc"] if not str(part).startswith("<"))
        raise UsageError(
            f"space: {where} = {first.get('input')!r} does not fit the deployment: {first['msg'].lower()}."
        ) from None


def setting(key: str) -> tuple[str, ...]:
    """The parts of a space key's setting, in the block that it is of: ``server.tp_size`` is parallel's."""
    path = spelled(key)
    return BLOCKS.get(canonical(path[-1]), path) if path[0] == "server" and len(path) == 2 else path


def _home(path: tuple[str, ...], data: Mapping[str, Any]) -> tuple[str, ...]:
    """The place of a setting in ``data``: its own block, but no block that would turn speculation on."""
    home = setting(".".join(path))
    return home if home[0] in ("target", "parallel") or isinstance(data.get(home[0]), dict) else path


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    old: Any = data.get(path[0])
    if len(path) == 1:
        if value == UNSET:
            data.pop(path[0], None)
        elif isinstance(value, dict):
            block = dict(old) if isinstance(old, dict) else {}
            for name, item in value.items():
                _put_in(block, path[0], name, item)
            data[path[0]] = block
        else:
            data[path[0]] = value
        return
    section, name = path
    if old == OFF:
        return
    block = dict(old) if isinstance(old, dict) else {}
    _put_in(block, section, name, value)
    data[section] = block


def _put_in(block: dict[str, Any], section: str, name: str, value: Any) -> None:
    """Set one key of a block, replacing another spelling of the same key in place."""
    wanted = spelled(f"{section}.{name}")[-1]
    same = [old for old in block if spelled(f"{section}.{old}")[-1] == wanted]
    for old in same[1:] if value != UNSET else same:
        del block[old]
    if value != UNSET:
        block[same[0] if same else wanted] = value


def _complete_chain(data: dict[str, Any], values: Mapping[tuple[str, ...], Any]) -> None:
    shape = data.get("speculative")
    if not isinstance(shape, dict):
        return
    chosen = {path[1] for path in values if path[0] == "speculative" and len(path) == 2}
    whole = values.get(("speculative",))
    chosen |= set(whole) if isinstance(whole, dict) else set()
    if "num_steps" not in chosen or not isinstance(shape.get("num_steps"), int):
        return
    if shape.get("eagle_topk") is None:
        shape["eagle_topk"] = 1
    if shape["eagle_topk"] == 1 and "num_draft_tokens" not in chosen:
        shape["num_draft_tokens"] = shape["num_steps"] + 1


def changed_keys(base: Deployment, other: Deployment) -> tuple[str, ...]:
    """Deployment keys whose value differs, ``speculative`` as a whole when one side is off."""
    one, two = tree(base), tree(other)
    out: list[str] = []
    for section in SECTIONS:
        old, new = one.get(section), two.get(section)
        if old == new or (section == "draft" and new is None):
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            out += [f"{section}.{name}" for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
        elif isinstance(new, dict) and section != "speculative":
            out += [f"{section}.{name}" for name in sorted(new)]
        elif isinstance(old, dict) and section != "speculative":
            out += [f"{section}.{name}" for name in sorted(old)]
        else:
            out.append(section)
    return tuple(out)
