"""Greedy answers of a launch held against a baseline's, and when they are other answers.

The numerics of a server differ from launch to launch and from setting to setting: where two tokens are as
good as tied, one launch takes this one and another that, and from there on everything differs. So only the
place of the first difference tells anything, and what is compared is a rate: answers that part, per token
that could have. What rate is usual is learned from launches of the baselines, held against the first of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eaglecfg.tune.history import Launch

Answers = Mapping[str, Sequence[int]]
"""Token ids by a name that says which prompt, under which load, up to which length."""

GROSS, LEAST_GROSS = 0.5, 4
"""Until launches of baselines were compared: answers that part sooner than after two tokens are wrong ones,
where at least so many do."""

TIES = 1 / 50
"""Ties alone part answers of healthy servers with other numerics less often than once in so many tokens."""

KNOWN_TIES = 1 / 100
"""The same once the two baselines were compared with each other, so that it is known what other shapes of
batches come to with this model and these prompts."""

TIMES = 2.0
"""How much more often than the baselines' answers those of a setting have to part to be wrong. Two settings
with numerics of their own differ in how often they do."""

SURE, DOUBT = 1e-4, 0.05
"""Probability, were they to part equally often, below which a difference is taken for shown, and told."""


@dataclass(frozen=True, slots=True)
class Compared:
    """``answers`` were compared, ``parted`` of them differ somewhere, ``tokens`` were looked at up to the
    first differences, these included."""

    answers: int
    parted: int
    tokens: int

    @property
    def rate(self) -> float:
        """Partings per token."""
        return self.parted / self.tokens if self.tokens else 0.0


@dataclass(slots=True)
class Reference:
    """The greedy answers that others are held against, by whether they are from the rounds: those of the
    first launch of a baseline, and of later ones of the same arm what it lacks."""

    answers: dict[bool, dict[str, Sequence[int]]] = field(default_factory=dict)
    arms: dict[bool, str] = field(default_factory=dict)

    def compare(self, own: Answers, *, in_round: bool) -> tuple[Compared | None, float | None]:
        """``own`` against the reference."""
        return compare_answers(own, self.answers.get(in_round, {}))

    def learn(self, arm: str, own: Answers, *, in_round: bool) -> Answers:
        """Take in a baseline's answers; returns those that are part of the reference from now on."""
        if not own or self.arms.setdefault(in_round, arm) != arm:
            return {}
        known = self.answers.setdefault(in_round, {})
        new = {name: ids for name, ids in own.items() if name not in known}
        known.update(new)
        return new


def compare_answers(own: Answers, other: Answers) -> tuple[Compared | None, float | None]:
    """How often answers part, and the mean share of each up to the first difference; None where there is
    nothing to compare."""
    names = [name for name in own if name in other and (own[name] or other[name])]
    if not names:
        return None, None
    shares, parted, tokens = 0.0, 0, 0
    for name in names:
        one, two = own[name], other[name]
        same = _common(one, two)
        whole = len(one) == len(two) == same
        parted += not whole
        tokens += same + (not whole)
        shares += same / max(len(one), len(two))
    return Compared(len(names), parted, tokens), shares / len(names)


def _common(one: Sequence[int], two: Sequence[int]) -> int:
    """How many tokens both begin with. Found by halves, as slices are compared much faster than tokens."""
    one, two = list(one), list(two)
    same, parted = 0, min(len(one), len(two))
    if one[:parted] == two[:parted]:
        return parted
    while parted - same > 1:
        middle = (same + parted) // 2
        if one[same:middle] == two[same:middle]:
            same = middle
        else:
            parted = middle
    return same


def recorded_answers(data: Mapping[str, Any]) -> Answers:
    """The answers that an ``ended`` event holds; older ones hold but a few tokens, under another name."""
    own: Answers = data.get("answers", {})
    return own


def chance(own: Compared, other: Compared) -> float:
    """The probability that so many of ``own`` part if they part as often as ``other``; 1.0 where they do not
    part more often. Exact, given how many part in both."""
    if not own.parted or own.rate <= other.rate:
        return 1.0
    count, share = own.parted + other.parted, own.tokens / (own.tokens + other.tokens)
    if share >= 1.0:
        return 1.0
    return math.fsum(
        math.exp(
            math.lgamma(count + 1)
            - math.lgamma(k + 1)
            - math.lgamma(count - k + 1)
            + k * math.log(share)
            + (count - k) * math.log1p(-share)
        )
        for k in range(own.parted, count + 1)
    )


def luck(parted: int, expected: float) -> float:
    """The probability of ``parted`` or more where ``expected`` would be usual (Poisson)."""
    below = math.fsum(math.exp(k * math.log(expected) - expected - math.lgamma(k + 1)) for k in range(parted))
    return max(0.0, 1.0 - below)


@dataclass(frozen=True, slots=True)
class Margin:
    """What is usual: the launches together of that baseline whose answers part most often from the
    reference, None before there are any, and the least agreement of a baseline's launch. ``ties`` is the
    rate that ties may come to."""

    worst: Compared | None = None
    agreement: float | None = None
    ties: float = TIES

    def wrong(self, own: Compared) -> bool:
        """Whether answers are others than the baseline's beyond doubt."""
        if self.worst is None:
            return own.rate > GROSS and own.parted >= LEAST_GROSS
        usual = max(self.ties, TIMES * self.worst.rate)
        return own.rate > usual and max(luck(own.parted, usual * own.tokens), chance(own, self.worst)) < SURE

    def doubtful(self, own: Compared) -> bool:
        """Whether they part more often than the baselines' do, as far as can be told."""
        return self.worst is not None and chance(own, self.worst) < DOUBT


def learned(launches: Iterable[Launch], *, same_arm: bool = False) -> Margin:
    """The margin from good launches of baselines; ``same_arm``: from those of the reference's own arm."""
    arms: dict[tuple[str, str], list[Compared]] = {}
    agreements = []
    for item in launches:
        if item.ok and item.baseline and item.compared and (item.arm == item.against or not same_arm):
            arms.setdefault((item.arm, item.against), []).append(item.compared)
            agreements += [item.agreement] if item.agreement is not None else []
    if not arms:
        return Margin()
    worst = max((_together(rows) for rows in arms.values()), key=lambda one: (one.rate, -one.tokens))
    crossed = any(arm != against for arm, against in arms)
    return Margin(worst, min(agreements, default=None), KNOWN_TIES if crossed else TIES)


def _together(rows: Sequence[Compared]) -> Compared:
    return Compared(
        sum(row.answers for row in rows), sum(row.parted for row in rows), sum(row.tokens for row in rows)
    )


def judged(
    launches: Sequence[Launch], checks: Sequence[Launch], arms: Mapping[str, Mapping[str, Any]]
) -> tuple[Launch, ...]:
    """Launches with those failed whose answers are wrong by what is known now.

    Not decided when a launch ends, since the margin is learned later: a setting that passed the first wide
    one is judged again. Baselines first, against other launches of the reference's own arm: a baseline that
    answers wrongly is no measure for settings.
    """
    out = list(launches)
    for baselines in (True, False):
        pool = (*checks, *out)
        whole = None if baselines else learned(pool)
        for place, item in enumerate(out):
            if not item.ok or item.compared is None or item.baseline != baselines:
                continue
            margin = whole or learned((one for one in pool if one is not item), same_arm=True)
            if margin.wrong(item.compared):
                out[place] = _failed(item, margin, str(arms.get(item.against, {}).get("label", "a baseline")))
    return tuple(out)


def _failed(item: Launch, margin: Margin, against: str) -> Launch:
    assert item.compared is not None
    own = item.compared
    message = (
        f"greedy answers are not those of {against}: {own.parted} of {own.answers} part from them, at "
        f"token {own.tokens / max(own.parted, 1):.0f} on average"
    )
    if margin.agreement is not None and item.agreement is not None:
        message += (
            f" (they agree in {item.agreement:.0%}, launches of the baselines in {margin.agreement:.0%})"
        )
    return replace(
        item,
        failure="output",
        message=message,
        scores={},
        counters={},
        blocks={},
        latency={},
        positions={},
        limits=(),
        unsettled=(),
        curtailed=(),
        wander=None,
    )
