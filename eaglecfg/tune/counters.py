"""Accept length from what a server reports per request.

The names changed with the versions of SGLang; a request is read by the names it carries.
``spec_accept_length`` and ``spec_accept_rate`` themselves are not used where there is better: the former is
completion tokens / verify steps, which counts the token of the prefill and loses what a length limit cut
off; the latter changed its denominator twice. Read in ``srt/managers/tokenizer_manager.py``,
``_calculate_spec_decoding_metrics``, of the wheels named below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

VERIFY_STEPS = "spec_verify_ct"

CORRECT_DRAFTS = (
    "spec_num_correct_drafts",  # 0.5.12 (:2135) to 0.5.23 (:3170)
    "spec_accepted_drafts",  # 0.5.11 (:2108); an alias until 0.5.20 (:2978)
    "spec_accept_token_num",  # 0.5.5.post3 (:1782) to 0.5.10.post1 (:1931); does not count the bonus token
)
"""Names of the number of drafts that the target accepted, newest first."""

HISTOGRAMS = (
    "spec_correct_drafts_histogram",  # 0.5.12 (:2149) to 0.5.23 (:3199)
    "spec_accept_histogram",  # 0.5.9 (:1865) to 0.5.20 (:2991)
)
"""Names of the histogram: entry i counts verify steps in which exactly i drafts were accepted."""

BY_RATE = "spec_accept_rate"
"""0.5.4.post1 (:1598-1605) to 0.5.5.post2 give no count, but a rate over verify steps x num_steps."""

BY_COMPLETION = "completion_tokens"
"""Last resort: (completion tokens - 1) / verify steps. The first token comes from the prefill. Biased low
by what the length limit cuts from the last step."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Sums over requests. ``source`` names the counter behind ``correct``; ``histogram`` is None where not
    given."""

    verify_steps: int
    correct: float
    histogram: tuple[int, ...] | None
    source: str

    @property
    def accept_length(self) -> float:
        """Tokens per verify step, the bonus token included."""
        return 1.0 + self.correct / self.verify_steps

    @property
    def per_position(self) -> tuple[float, ...] | None:
        """Share of verify steps in which more than i drafts were accepted, for i = 0, 1, ..."""
        if self.histogram is None or not sum(self.histogram):
            return None
        total = sum(self.histogram)
        return tuple(sum(self.histogram[i + 1 :]) / total for i in range(len(self.histogram) - 1))


def read_request(meta: Mapping[str, Any], num_steps: int | None) -> Acceptance | None:
    """The counters of one finished request; None when nothing was verified.

    ``num_steps`` is the server's speculative_num_steps, which the oldest versions need.
    """
    verify = meta.get(VERIFY_STEPS)
    if not isinstance(verify, int) or verify <= 0:
        return None
    histogram = next((tuple(meta[name]) for name in HISTOGRAMS if meta.get(name)), None)
    for name in CORRECT_DRAFTS:
        if isinstance(meta.get(name), (int, float)):
            return Acceptance(verify, meta[name], histogram, name)
    if meta.get(BY_RATE) and num_steps:
        return Acceptance(verify, meta[BY_RATE] * verify * num_steps, histogram, BY_RATE)
    completion = meta.get(BY_COMPLETION)
    if not isinstance(completion, int):
        return None
    return Acceptance(verify, max(0, completion - 1 - verify), histogram, BY_COMPLETION)


def add_up(requests: Iterable[Acceptance | None]) -> Acceptance | None:
    """The sum over requests; ``source`` lists every counter that was used."""
    given = [request for request in requests if request is not None]
    if not given:
        return None
    histograms = [request.histogram for request in given]
    complete = None if any(h is None for h in histograms) else _add_columns([h for h in histograms if h])
    return Acceptance(
        sum(request.verify_steps for request in given),
        sum(request.correct for request in given),
        complete,
        ", ".join(sorted({request.source for request in given})),
    )


def _add_columns(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    width = max(len(row) for row in rows)
    return tuple(sum(row[i] for row in rows if i < len(row)) for i in range(width))
