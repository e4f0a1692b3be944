"""An accept length that no measurement can give."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.numerals import whole
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.source.span import KeyPath

KEY = "expected_accept_length"
CHAINS = ("EAGLE", "EAGLE3", "STANDALONE")
"""Algorithms that draft num_steps deep; what others can accept follows from other settings."""


def check(ctx: Context) -> Iterator[Item]:
    """Every verify step yields one token at least, and one more than the draft's depth at most."""
    expected = ctx.model.expected_accept_length
    if expected is None:
        yield NotApplicable()
        return
    if expected < 1:
        yield _finding(ctx, expected, "at least 1", "every verify step yields a token of the target's own")
        return
    most, key, path = _most(ctx)
    if most is None:
        if expected == float("inf"):
            yield _finding(ctx, expected, "a number of tokens", "no verify step yields more than it verifies")
        return
    if expected > most:
        accepted = f"at most {most - 1} drafted tokens are accepted, and one of the target's own is added"
        yield _finding(ctx, expected, f"at most {most} ({key})", accepted, path)


def _most(ctx: Context) -> tuple[int | None, str, KeyPath]:
    """The most tokens of a verify step, the setting that says so, and where it stands."""
    unknown: tuple[None, str, KeyPath] = (None, "", ())
    if ctx.resolution is None or ctx.resolution.runs("speculative_algorithm") not in CHAINS:
        return unknown
    if ctx.resolution.runs("speculative_adaptive"):
        return unknown  # the steps change as the server runs
    steps, tokens = (
        whole(ctx.resolution.runs(f"speculative_{name}")) for name in ("num_steps", "num_draft_tokens")
    )
    if steps is None or steps < 1:
        return unknown
    path = ctx.argument_path("speculative_num_steps")
    if tokens is not None and 1 < tokens <= steps:
        path = ctx.argument_path("speculative_num_draft_tokens")
        return tokens, f"num_draft_tokens {tokens}", path
    return steps + 1, f"num_steps {steps} + 1", path


def _finding(ctx: Context, expected: float, bound: str, why: str, path: KeyPath = ()) -> Finding:
    return Finding(
        f"{KEY} must be {bound}, but is {expected:g}",
        path=ctx.where(KEY),
        why=f"{why}: no server can reach it, so that validate --live would report a loss that is none",
        help="write the accept length that was measured with these settings, or remove the key",
        related=((path, "how deep the draft goes"),) if path else (),
        values={KEY: expected},
    )


RULE = Rule(
    id="EC108",
    slug="expected-accept-length",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    follows=("EC503", "EC510"),
)
