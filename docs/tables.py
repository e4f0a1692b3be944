"""Tables of docs/wiring.md and docs/measuring.md, from the engine facts and from the tuner itself.

``python docs/tables.py NAME`` prints one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from eaglecfg.engines.boundaries import Boundaries, effective_boundaries
from eaglecfg.engines.capture import RULES
from eaglecfg.engines.facts import CaptureFact
from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.tune.profiles import PROFILES
from eaglecfg.tune.statistics import resolvable

VERSIONS = known_versions("sglang")
IDS: tuple[Sequence[int] | None, ...] = ([1, 29, 57], [2, 30, 58], [3, 31, 59], [3, 31, 61], None)
LAYERS = 61
SHOWN = ("LlamaForCausalLM", "GptOssForCausalLM", "DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration")


def history(part: Callable[[CaptureFact], str]) -> Mapping[tuple[tuple[str, str], ...], list[str]]:
    """Classes by what ``part`` of their facts was, as pairs of versions and words, the oldest first."""
    spans: dict[str, list[list[str]]] = {}
    for version in VERSIONS:
        facts = load_facts("sglang", version)
        assert facts is not None
        for name, fact in facts.captures.items():
            if not fact.usable:
                continue
            words = part(fact)
            seen = spans.setdefault(name, [])
            if seen and seen[-1][2] == words:
                seen[-1][1] = version
            else:
                seen.append([version, version, words])
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, found in sorted(spans.items()):
        # When a class was first taken up is another table's matter.
        key = tuple(
            (_range("" if n == 0 else first, last), words) for n, (first, last, words) in enumerate(found)
        )
        groups.setdefault(key, []).append(name)
    return groups


def _range(first: str, last: str) -> str:
    newest = last == VERSIONS[-1]
    if not first:
        return "all" if newest else f"to {last}"
    return f"from {first}" if newest else first if first == last else f"{first} to {last}"


def by_history(head: str, part: Callable[[CaptureFact], str]) -> Iterator[str]:
    """The largest group in a line of its own, the others row by row."""
    groups = sorted(history(part).items(), key=lambda item: -len(item[1]))
    yield f"| versions | {head} | target classes |"
    yield "|---|---|---|"
    for spans, names in groups:
        shown = ", ".join(f"`{name}`" for name in names) if len(names) <= 12 else f"the other {len(names)}"
        for n, (versions, words) in enumerate(spans):
            yield f"| {versions} | {words} | {shown if n == 0 else 'the same'} |"


def ids() -> Iterator[str]:
    """What is added to capture ids."""
    return by_history("what becomes of ids", lambda fact: RULES[fact.rule])


def ends() -> Iterator[str]:
    """What becomes of the first and the last boundary."""
    words = {
        "captured": "captured",
        "crash": "crash at the first request",
        "short": "never captured: crash at the first request",
        "crash_at_start": "crash at start",
    }

    def part(fact: CaptureFact) -> str:
        return f"{words[fact.embedding]} | {words[fact.last]}"

    return by_history("boundary 0, the embedding | boundary n, after the last layer", part)


def worked() -> Iterator[str]:
    """Boundaries that some lists of ids come to, by class and version, on a target of 61 layers."""
    yield "| target class | versions | " + " | ".join(str(each) if each else "no ids" for each in IDS) + " |"
    yield "|---" * (len(IDS) + 2) + "|"
    for name in SHOWN:
        rows: list[list[str]] = []
        for version in VERSIONS:
            facts = load_facts("sglang", version)
            assert facts is not None
            if name not in facts.captures:
                continue
            cells = " | ".join(_cell(effective_boundaries(facts, name, LAYERS, each)) for each in IDS)
            if rows and rows[-1][2] == cells:
                rows[-1][1] = version
            else:
                rows.append([version, version, cells])
        for n, (first, last, cells) in enumerate(rows):
            yield f"| {f'`{name}`' if n == 0 else ''} | {_range(first, last)} | {cells} |"


def _cell(found: Boundaries | None) -> str:
    if found is None:
        return "-"
    if found.outcome != "captured":
        return "crash" if "start" in found.outcome else "crash at the first request"
    text = str(list(found.captured))
    if found.decode is not None and found.decode != found.captured:
        text += f", in graphs {list(found.decode)}"
    return text


def defaults() -> Iterator[str]:
    """What is captured without ids, by depth."""
    yield "| layers of the target | captured without ids | `MiniMaxM3SparseForConditionalGeneration` |"
    yield "|---|---|---|"
    facts = load_facts("sglang", VERSIONS[-1])
    assert facts is not None
    for layers in (8, 32, 36, 61, 80):
        cells = [
            _cell(effective_boundaries(facts, name, layers, None))
            for name in ("LlamaForCausalLM", "MiniMaxM3SparseForConditionalGeneration")
        ]
        yield f"| {layers} | {cells[0]} | {cells[1]} |"


def since() -> Iterator[str]:
    """The first version, of those that were read, in which a class captures for a draft."""
    first: dict[str, str] = {}
    for version in VERSIONS:
        facts = load_facts("sglang", version)
        assert facts is not None
        for name, fact in facts.captures.items():
            if fact.usable:
                first.setdefault(name, version)
    yield "| from | target classes |"
    yield "|---|---|"
    for version in VERSIONS:
        names = sorted(name for name, one in first.items() if one == version)
        if names:
            yield f"| {version} | {', '.join(f'`{name}`' for name in names)} |"


def gains() -> Iterator[str]:
    """The gain that is found 4 times in 5, by launches and by how far launches of one setting differ."""
    spreads, settings = (0.01, 0.02, 0.05, 0.1), 5
    yield "| launches a setting | " + " | ".join(f"{spread:.0%}" for spread in spreads) + " |"
    yield "|---" * (len(spreads) + 1) + "|"
    for rounds in (2, 3, 5, 8, 16):
        found = (resolvable(spread, rounds, settings) for spread in spreads)
        yield f"| {rounds} | " + " | ".join(f"{gain:.1%}" for gain in found) + " |"


def profiles() -> Iterator[str]:
    """The sizes of a study."""
    heads = ("profile", "blocks", "requests", "seconds a block", "finalists", "rounds", "launches")
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|---|---|---|---|---|"
    for one in PROFILES.values():
        rounds = str(one.rounds) if one.rounds == one.most_rounds else f"{one.rounds} to {one.most_rounds}"
        cells = (one.name, one.blocks, one.requests, one.block_seconds, one.finalists, rounds, one.launches)
        yield "| " + " | ".join(map(str, cells)) + " |"


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    made.__name__: made for made in (ids, ends, worked, defaults, since, gains, profiles)
}

if __name__ == "__main__":
    sys.stdout.write("".join(line + "\n" for line in TABLES[sys.argv[1]]()))
