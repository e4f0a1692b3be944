"""From what one launch gave to what the ledger keeps of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.engines.arguments import arguments
from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.answers import Reference
from eaglecfg.tune.arm import OFF, Arm, apply, arm_key, changed_keys, spelled
from eaglecfg.tune.label import label_of
from eaglecfg.tune.limits import broken_limits
from eaglecfg.tune.space import Space
from eaglecfg.tune.step_cost import not_simulated
from eaglecfg.tune.trial import Block, LaunchResult


def rewritten(asked: Deployment, runs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Flags that the server runs with another value than was asked for: flag -> (asked, runs)."""
    out = {}
    for name, argument in arguments(asked).items():
        flag = name.replace("-", "_")
        if flag in runs and flag not in ("model_path", "speculative_draft_model_path", "revision"):
            ran = runs[flag]
            if not _equal(argument.value, ran):
                out[flag] = (argument.value, ran)
    if asked.speculative == OFF and runs.get("speculative_algorithm"):
        out["speculative_algorithm"] = (OFF, runs["speculative_algorithm"])
    return out


def _equal(asked: Any, ran: Any) -> bool:
    if asked == ran or str(asked).lower() == str(ran).lower():
        return True
    if isinstance(asked, (int, float)) and isinstance(ran, (int, float)):
        return math.isclose(asked, ran, rel_tol=1e-9)
    return False


def arm_that_ran(space: Space, arm: Arm, changes: Mapping[str, tuple[Any, Any]]) -> Arm:
    """The arm that really ran: searched keys, and the shape of speculation, at their running values."""
    searched = {spelled(key) for key in space.searched}
    values: dict[str, Any] = {}
    for flag, (_, ran) in changes.items():
        if flag == "speculative_algorithm" and ran is None:
            values["speculative"] = OFF
        elif flag.startswith("speculative_num") or flag == "speculative_eagle_topk":
            values[f"speculative.{flag.removeprefix('speculative_')}"] = ran
        else:
            for section in ("parallel", "server"):
                if (section, flag) in searched:
                    values[f"{section}.{flag}"] = ran
    if not values or any(value is None for value in values.values()):
        return arm
    deployment = apply(arm.deployment, values)
    return Arm(
        arm_key(deployment),
        label_of(deployment, space.searched, space.base),
        deployment,
        {**arm.values, **values},
        changed_keys(space.base, deployment),
    )


def scores_of(blocks: Sequence[Block]) -> dict[str, float]:
    """Log of output tokens per second by concurrency: all tokens over all seconds, never a mean of rates."""
    out = {}
    for level in sorted({block.concurrency for block in blocks}):
        rows = [block for block in blocks if block.concurrency == level]
        tokens, seconds = sum(row.output_tokens for row in rows), sum(row.seconds for row in rows)
        if tokens > 0 and seconds > 0:
            out[str(level)] = math.log(tokens / seconds)
    return out


def block_scores(blocks: Sequence[Block]) -> dict[str, list[float]]:
    """Log of output tokens per second of each block in its order, by concurrency."""
    out: dict[str, list[float]] = {}
    for block in blocks:
        if block.output_tokens > 0 and block.seconds > 0:
            speed = math.log(block.output_tokens / block.seconds)
            out.setdefault(str(block.concurrency), []).append(round(speed, 6))
    return out


def counters_of(blocks: Sequence[Block]) -> dict[str, list[float]]:
    """By concurrency [tokens accepted, verify steps, sum of step milliseconds, weight of that sum].

    Kept as sums so that launches pool: accept length is tokens over steps of all launches together.
    """
    out = {}
    for level in sorted({block.concurrency for block in blocks}):
        totals = [0.0, 0.0, 0.0, 0.0]
        for block in (block for block in blocks if block.concurrency == level):
            steps = float(block.verify_steps or 0)
            totals[0] += (block.accept_length or 0.0) * steps
            totals[1] += steps
            weight = steps or float(block.output_tokens)
            totals[2] += (block.step_ms or 0.0) * weight
            totals[3] += weight if block.step_ms is not None else 0.0
        out[str(level)] = [round(value, 6) for value in totals]
    return out


def latency_of(blocks: Sequence[Block]) -> dict[str, dict[str, float]]:
    """By concurrency the percentiles of waiting in ms (``ttft_p50`` ...): means over blocks, weighted by
    requests."""
    out: dict[str, dict[str, float]] = {}
    for level, rows in _by_level(blocks).items():
        total = max(1, sum(row.requests for row in rows))
        out[str(level)] = {
            f"{what}_{name}": round(
                sum(getattr(row, f"{what}_ms").get(name, 0.0) * row.requests for row in rows) / total, 4
            )
            for what in ("ttft", "tpot", "itl")
            for name in getattr(rows[0], f"{what}_ms")
        }
    return out


def positions_of(blocks: Sequence[Block]) -> dict[str, list[float]]:
    """By concurrency the share of verify steps in which more than i drafts were accepted; a concurrency of
    which the server did not tell is left out."""
    out: dict[str, list[float]] = {}
    for level, rows in _by_level(blocks).items():
        given = [
            (row.per_position, row.verify_steps) for row in rows if row.per_position and row.verify_steps
        ]
        if len(given) == len(rows):
            width, total = min(len(shares) for shares, _ in given), sum(steps for _, steps in given)
            sums = [sum(shares[place] * steps for shares, steps in given) for place in range(width)]
            out[str(level)] = [round(value / total, 6) for value in sums]
    return out


def _by_level(blocks: Sequence[Block]) -> dict[int, list[Block]]:
    levels = sorted({block.concurrency for block in blocks})
    return {level: [block for block in blocks if block.concurrency == level] for level in levels}


def wander(blocks: Sequence[Block]) -> float | None:
    """How far passes over the same prompts differ within a launch: fastest over slowest pass of the widest
    block, as a share. None where no block has two."""
    spans = [max(block.passes) / min(block.passes) - 1 for block in blocks if len(block.passes) > 1]
    return round(max(spans), 4) if spans else None


def ended(
    result: LaunchResult,
    space: Space,
    arm: Arm,
    limits: Mapping[str, float],
    reference: Reference,
    *,
    in_round: bool,
    step_cost: float | None = None,
) -> dict[str, Any]:
    """The fields of the ledger's ``ended`` event for one result.

    ``reference`` has the baseline's greedy answers; what comes of the comparison is judged where the ledger
    is folded. ``step_cost`` is the accept length that the server was to simulate.
    """
    failure, message = result.failure or "", result.message
    compared, same = reference.compare(result.answers, in_round=in_round)
    if not failure and not scores_of(result.blocks):
        failure, message = "output", "no tokens were measured"
    if not failure and step_cost is not None:
        message = not_simulated(arm.deployment, step_cost, result.blocks)
        failure = "output" if message else ""
    changes = rewritten(arm.deployment, result.runs) if not failure else {}
    ran = arm_that_ran(space, arm, changes)
    return {
        "failure": failure,
        "message": message,
        "lines": list(result.lines),
        "doubtful": result.doubtful,
        "scores": scores_of(result.blocks) if not failure else {},
        "counters": counters_of(result.blocks) if not failure else {},
        "blocks": block_scores(result.blocks) if not failure else {},
        "latency": latency_of(result.blocks) if not failure else {},
        "positions": positions_of(result.blocks) if not failure else {},
        "startup_s": result.startup_s,
        "timings": dict(result.timings),
        "seconds": round(result.timings.get("total", 0.0), 3),
        "agreement": None if same is None else round(same, 4),
        "compared": None if compared is None else [compared.answers, compared.parted, compared.tokens],
        "against": reference.arms.get(in_round, "") if compared is not None else "",
        "engine_version": str(result.server_info.get("version") or ""),
        "rewritten": {flag: list(pair) for flag, pair in changes.items()},
        "limits": list(broken_limits(limits, result.blocks)) if not failure else [],
        "unsettled": [item.concurrency for item in result.warmups if not item.agreed] if not failure else [],
        "curtailed": list(result.curtailed) if not failure else [],
        "held_back": dict(result.held_back),
        "wander": wander(result.blocks) if not failure else None,
        "ran": ran.key,
        "ran_arm": None if ran.key == arm.key else described(ran),
        "cleanup": {
            "proven": result.cleanup.proven,
            "seconds": result.cleanup.seconds,
            "leftovers": list(result.cleanup.leftovers),
            "note": result.cleanup.note,
        },
    }


def described(arm: Arm) -> dict[str, Any]:
    """An arm as the ledger keeps it."""
    return {"key": arm.key, "label": arm.label, "values": dict(arm.values), "changed": list(arm.changed)}
