"""The reference server's command line: SGLang's flags of one version, and a few of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.flags import FlagFact
from eaglecfg.engines.table import load_facts
from eaglecfg.reference.failure import ReferenceFailure

DIALECT = "0.5.14"
"""The version whose flags and HTTP dialect are spoken unless ``--emulate-version`` says otherwise."""

DTYPES = {
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "float32": "float32",
}
OBEYED = frozenset(
    {
        "model_path", "speculative_draft_model_path", "speculative_algorithm", "speculative_num_steps",
        "speculative_eagle_topk", "speculative_num_draft_tokens", "host", "port", "dtype", "device",
        "max_running_requests", "tp_size", "skip_tokenizer_init", "context_length",
    }
)  # fmt: skip
OWN = frozenset({"emulate_version", "threads", "boundaries", "fc_order", "drop_d2t", "skip_fc"})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server runs. ``algorithm`` is EAGLE3 or None, ``dtype`` torch's name or None for the config's.

    ``boundaries``, ``fc_order``, ``drop_d2t``, ``skip_fc``: a wrong wiring on purpose. ``ignored``: flags
    that SGLang knows and this decoder has no use for, as given. ``given``: every flag by its field name.
    """

    model_path: Path
    draft_path: Path | None
    algorithm: str | None
    num_steps: int
    host: str
    port: int
    dtype: str | None
    device: str
    max_running_requests: int
    skip_tokenizer: bool
    context_length: int | None
    version: str
    threads: int
    boundaries: tuple[int, ...] | None
    fc_order: tuple[int, ...] | None
    drop_d2t: bool
    skip_fc: bool
    ignored: tuple[str, ...]
    rewritten: tuple[str, ...]
    given: dict[str, Any]


class _Parser(argparse.ArgumentParser):
    """argparse that raises one sentence in the place of a usage text of four hundred flags."""

    def error(self, message: str) -> NoReturn:
        raise ReferenceFailure(message)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _add_own(parser: argparse.ArgumentParser) -> None:
    own = parser.add_argument_group("flags of the reference decoder")
    own.add_argument(
        "--emulate-version", default=DIALECT, help="version of sglang whose flags and layers apply"
    )
    own.add_argument("--threads", type=int, default=1, help="torch threads; 1 leaves the client a core")
    own.add_argument(
        "--boundaries", type=_numbers, help="capture these boundaries, whatever the draft says: 2,4,6"
    )
    own.add_argument("--fc-order", type=_numbers, help="permute the blocks of the fc input: 1,2,0")
    own.add_argument("--drop-d2t", action="store_true", help="take draft ids for target ids")
    own.add_argument("--skip-fc", action="store_true", help="feed the target's final hidden state past fc")


def _add_engine(parser: argparse.ArgumentParser, flag: FlagFact) -> None:
    names = [flag.option or "--" + flag.name.replace("_", "-")]
    names += ["--" + alias.replace("_", "-") for alias in flag.aliases]
    names = [name for name in dict.fromkeys(names) if name not in parser._option_string_actions]
    if not names:
        return
    # ``default=None`` tells given from not given; the defaults that matter here are set in ``_settings``.
    if flag.type == "bool":
        parser.add_argument(*names, dest=flag.name, action="store_true", default=None, help=argparse.SUPPRESS)
        return
    kind: Any = {"int": int, "float": float}.get(flag.type, str)
    nargs = "+" if flag.type == "list" else None
    choices = flag.choices if flag.name in ("dtype",) else None
    parser.add_argument(
        *names, dest=flag.name, type=kind, nargs=nargs, choices=choices, help=argparse.SUPPRESS
    )


def _facts(arguments: Sequence[str]) -> EngineFacts:
    early = argparse.ArgumentParser(add_help=False)
    early.add_argument("--emulate-version", default=DIALECT)
    version = early.parse_known_args(list(arguments))[0].emulate_version
    facts = load_facts("sglang", version)
    if facts is None:
        raise ReferenceFailure(
            f"--emulate-version takes a release of sglang, such as {DIALECT}, not {version}"
        )
    return facts


def parse(arguments: Sequence[str]) -> Settings:
    """Read a command line. Raises ReferenceFailure for what SGLang or this decoder refuses."""
    facts = _facts(arguments)
    parser = _Parser(
        prog="python -m eaglecfg.reference.serve",
        description=f"The {len(facts.flags)} flags of SGLang {facts.version} are accepted: those that mean "
        "something to a plain greedy decoder are obeyed, the others logged.",
    )
    _add_own(parser)
    for name in facts.flags:
        _add_engine(parser, facts.flags[name])
    given = {
        key: value for key, value in vars(parser.parse_args(list(arguments))).items() if value is not None
    }
    return _settings(given, facts)


def _settings(given: dict[str, Any], facts: EngineFacts) -> Settings:
    if "model_path" not in given:
        raise ReferenceFailure("--model-path is required")
    if given.get("tp_size", 1) != 1:
        raise ReferenceFailure(
            f"--tp-size: the reference decoder is one process, expected 1, got {given['tp_size']}"
        )
    steps, rewritten = _speculation(given)
    dtype = given.get("dtype", "auto")
    engine = {key: value for key, value in given.items() if key not in OWN}
    return Settings(
        model_path=Path(given["model_path"]),
        draft_path=Path(given["speculative_draft_model_path"]) if steps else None,
        algorithm="EAGLE3" if steps else None,
        num_steps=steps,
        host=given.get("host", "127.0.0.1"),
        port=given.get("port", 30000),
        dtype=None if dtype == "auto" else DTYPES[dtype],
        device=given.get("device", "cpu"),
        max_running_requests=_at_least_one(given, "max_running_requests", 8),
        skip_tokenizer=given.get("skip_tokenizer_init", False),
        context_length=given.get("context_length"),
        version=facts.version,
        threads=_at_least_one(given, "threads", 1),
        boundaries=given.get("boundaries"),
        fc_order=given.get("fc_order"),
        drop_d2t=given["drop_d2t"],
        skip_fc=given["skip_fc"],
        ignored=tuple(_shown(key, value) for key, value in engine.items() if key not in OBEYED),
        rewritten=rewritten,
        given=engine,
    )


def _at_least_one(given: dict[str, Any], key: str, default: int) -> int:
    value: int = given.get(key, default)
    if value < 1:
        raise ReferenceFailure(f"--{key.replace('_', '-')}: expected at least 1, got {value}")
    return value


def _shown(key: str, value: Any) -> str:
    words = [] if value is True else [str(one) for one in (value if isinstance(value, list) else [value])]
    return " ".join(["--" + key.replace("_", "-"), *words])


def _speculation(given: dict[str, Any]) -> tuple[int, tuple[str, ...]]:
    """Draft steps (0: none) and what was rewritten, each in one sentence."""
    algorithm = given.get("speculative_algorithm")
    if algorithm is None:
        return 0, ()
    if algorithm != "EAGLE3":
        raise ReferenceFailure(f"--speculative-algorithm: the reference decoder runs EAGLE3, got {algorithm}")
    if not given.get("speculative_draft_model_path"):
        raise ReferenceFailure("--speculative-draft-model-path is required by --speculative-algorithm EAGLE3")
    steps = given.get("speculative_num_steps")
    if steps is None or steps < 1:
        shown = "nothing" if steps is None else steps
        raise ReferenceFailure(f"--speculative-num-steps: expected at least 1, got {shown}")
    topk = given.get("speculative_eagle_topk", 1)
    if topk != 1:
        raise ReferenceFailure(
            f"--speculative-eagle-topk: the reference decoder drafts chains, expected 1, got {topk}"
        )
    tokens = given.get("speculative_num_draft_tokens", steps + 1)
    if tokens == steps + 1:
        return steps, ()
    # SGLang pins the relation for chains (0.5.14 srt/arg_groups/speculative_hook.py).
    return steps, (
        f"--speculative-num-draft-tokens {tokens} is adjusted to {steps + 1}: steps + 1, as eagle topk is 1",
    )
