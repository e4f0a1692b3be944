"""What a result says of greedy answers: which settings' differ more than those of the baselines do."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.tune.answers import TIES, learned
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.history import History, Launch
from eaglecfg.tune.statistics import mean


def agreement_words(history: History) -> tuple[str, ...]:
    """Agreement by setting where it is below that of the baselines; nothing where none is."""
    margin = learned((*history.checks, *history.launches))
    usual = margin.agreement if margin.agreement is not None else 1.0
    below: list[tuple[float, str]] = []
    doubted: list[str] = []
    for key in dict.fromkeys(item.ran for item in history.launches):
        shares = _shares([item for item in history.of(key) if not item.baseline])
        if shares and mean(shares) < usual:
            label = str(history.arms[key]["label"])
            below.append((mean(shares), label))
            if any(item.compared and margin.doubtful(item.compared) for item in history.of(key)):
                doubted.append(label)
    out = []
    if below:
        named = ", ".join(f"{label} {share:.1%}" for share, label in sorted(below, reverse=True))
        among = "no two launches of baselines were compared"
        if margin.agreement is not None:
            among = f"launches of the baselines among each other in {_at_least(margin.agreement)}"
        out.append(
            f"Greedy answers agree with the baseline's, up to the first difference, in: {named}; {among}. "
            + (
                f"Less than rounding explains: {'; '.join(doubted)}."
                if doubted
                else "Near-ties that fall the other way can explain that much."
            )
        )
    if margin.worst is not None and margin.worst.rate > TIES:
        out.append(
            f"Launches of the baselines themselves part after {1 / margin.worst.rate:.0f} tokens on average: "
            f"a setting that answers wrongly may not be told from that."
        )
    return tuple(out)


def doubt_words(history: History, winner: Arm | None) -> tuple[str, ...]:
    """That the answers of the winner part more often than those of the baselines do."""
    if winner is None:
        return ()
    own = history.of(winner.key)
    margin = learned((*history.checks, *history.launches))
    doubtful = [item for item in own if item.compared is not None and margin.doubtful(item.compared)]
    shares = _shares(doubtful)
    if not shares or margin.agreement is None:
        return ()
    return (
        f"Greedy answers of {winner.label} agree with the baseline's in {min(shares):.0%} up to the first "
        f"difference, launches of the baselines in {_at_least(margin.agreement)}: other numerics part "
        f"answers, too, but "
        f"look at the quality of its answers before it is used.",
    )


def _at_least(share: float) -> str:
    return "all of it" if share == 1.0 else f"{share:.1%} or more"


def _shares(launches: Sequence[Launch]) -> list[float]:
    return [item.agreement for item in launches if item.agreement is not None]
