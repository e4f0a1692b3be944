"""What a live check asks for: prompts of the user's, of the study that measured it, or our own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eaglecfg.errors import ConfigUnreadable, UsageError
from eaglecfg.rules.context import Context
from eaglecfg.schema.load_study import kind_of, load_study
from eaglecfg.schema.study import StudyFile
from eaglecfg.source.read import read_document
from eaglecfg.tune.prompts import read_prompts
from eaglecfg.tune.trial import Prompt

TOKENS = 64
"""New tokens per prompt where nothing says otherwise."""

MOST_TOKENS = 256
"""New tokens per prompt taken from a study; what comes later in a long answer is accepted alike."""

MOST_STUDIES = 100

BUILT_IN = (
    "Explain to a colleague why a cache that is too large can make a program slower.",
    "Write a Python function that merges two sorted lists, with a docstring and type hints.",
    "What happened in Europe in the year 1848? Answer in five short paragraphs.",
    "A train leaves at 9:40 and arrives at 13:05. It stops for 12 minutes in all. How long does it move?",
    "Summarise the plot of Hamlet for a child of ten.",
    "List the steps to change a tyre, with a warning where it can go wrong.",
    "Translate into German: The committee will meet on Thursday, unless the room is taken.",
    "Write a SQL query that finds customers who ordered in every month of last year.",
    "Compare bicycles and trams as ways to get about a city of 300,000 people.",
    "Draft a polite e-mail that asks a supplier for a delayed invoice.",
    "def quicksort(values):\n    '''Sort a list of numbers.'''\n",
    "Describe how a vaccine works without using the word immune.",
    "Once upon a time, in a village by the sea, there lived a clockmaker who",
    "Give three arguments for and three against a four-day week.",
    "Explain the difference between TCP and UDP, and name a use for each.",
    "#include <stdio.h>\n\n/* Print the first n prime numbers. */\nint main(int argc, char **argv) {\n",
    "Write a haiku about rain on a tin roof, then say what a haiku is.",
    "Which materials expand when they freeze, and what follows from that for pipes?",
    "Plan a weekend in Lisbon for two people who like music and hate queues.",
    "Rewrite in plain words: The aforementioned party shall indemnify and hold harmless the lessor.",
    "A shop takes 20 % off and then another 10 %. What is that as one discount? Show the arithmetic.",
    "Explain recursion with an example from a kitchen.",
    "{\"name\": \"Ada\", \"born\": 1815, \"known_for\": [",
    "What should a post-mortem of an outage contain? Give headings and a sentence for each.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """Prompts and how much to generate for each. ``problem``: why there are none; ``origin`` in words."""

    prompts: tuple[Prompt, ...]
    tokens: int
    origin: str
    problem: str = ""


def choose(
    context: Context, requests: int, tokens: int | None, file: Path | None, *, takes_text: bool
) -> Asked:
    """The prompts of a check: ``file``, else those of a study of this deployment, else our own texts.

    At most ``requests`` are taken, evenly over the file. Raises UsageError for a file of the user's that
    cannot be used.
    """
    if file is not None:
        every = read_prompts(file, tokenizer=_tokenizer(context))
        return _taken(every, requests, tokens or TOKENS, str(file), takes_text=takes_text)
    for name, study in _studies(context):
        if study.workload.prompts is None:
            continue  # random tokens tell nothing about a draft
        path = Path(os.path.normpath(Path(context.config.document.folder) / name)).parent
        try:
            every = read_prompts(path / study.workload.prompts, tokenizer=_tokenizer(context))
        except UsageError:
            continue  # a rule about the study says why
        most = tokens or min(study.workload.output_tokens, MOST_TOKENS)
        return _taken(every, requests, most, name, takes_text=takes_text)
    if not takes_text:
        problem = (
            "the server takes token ids only (--skip-tokenizer-init), and there are none to send; give a "
            "file whose lines have input_ids with --live-prompts"
        )
        return Asked((), tokens or TOKENS, "", problem)
    own = tuple(Prompt(str(number), text=text) for number, text in enumerate(BUILT_IN))
    return _taken(own, requests, tokens or TOKENS, "", takes_text=True)


def _taken(every: Sequence[Prompt], requests: int, tokens: int, name: str, *, takes_text: bool) -> Asked:
    usable = [each for each in every if takes_text or each.input_ids is not None]
    if not usable:
        problem = (
            f"the server takes token ids only (--skip-tokenizer-init), and {name} has no line with input_ids"
        )
        return Asked((), tokens, name, problem)
    count = min(requests, len(usable))
    chosen = tuple(usable[place * len(usable) // count] for place in range(count)) if count else ()
    origin = f"prompts of {name}" if name else "prompts of eaglecfg's own"
    return Asked(chosen, tokens, f"{origin}, {tokens} tokens each")


def _tokenizer(context: Context) -> Path | None:
    """The folder whose chat template renders messages."""
    folder = Path(context.config.document.folder) / context.model.target.checkpoint
    try:
        return folder if folder.is_dir() else None
    except ValueError:
        return None


def _studies(context: Context) -> list[tuple[str, StudyFile]]:
    """Studies beside the config that tune this deployment, by path from the config's folder."""
    assert context.deployment is not None
    document = context.config.document
    folder = Path(document.folder) / "studies"
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith((".yaml", ".yml")))  # noqa: PTH208
    except OSError:
        return []
    found = []
    for name in names[:MOST_STUDIES]:
        try:
            read = read_document(folder / name)
        except ConfigUnreadable:
            continue
        model = load_study(read).model if kind_of(read) == "study" else None
        home = os.path.normpath(Path(document.folder) / Path(document.name).name)
        if (
            model is not None
            and model.deployment == context.deployment.name
            and os.path.normpath(folder / model.config) == home
        ):
            found.append((f"studies/{name}", model))
    return found
