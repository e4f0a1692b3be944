"""Greedy decoding with chain drafting and verification; without a draft, plain greedy decoding."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch

from eaglecfg.reference.draft import Draft
from eaglecfg.reference.target import Target, TargetOutput
from eaglecfg.reference.wiring import Wiring


@dataclass(slots=True)
class Counters:
    """What verification saw of one request. As in SGLang, the last step counts in full."""

    verify_steps: int = 0
    correct_drafts: int = 0
    histogram: list[int] = field(default_factory=list)

    def add(self, correct: int) -> None:
        """Count one verify step with ``correct`` correct drafts."""
        self.verify_steps += 1
        self.correct_drafts += correct
        self.histogram += [0] * (correct + 1 - len(self.histogram))
        self.histogram[correct] += 1


@dataclass(frozen=True, slots=True)
class Finish:
    """Why a generation ended: ``length`` with the length, or ``stop`` with the matched token id."""

    kind: Literal["length", "stop"]
    value: int


class Decoder:
    """A target, and a draft wired to it. ``num_steps`` drafts are proposed before each verification."""

    def __init__(self, target: Target, draft: Draft | None, wiring: Wiring | None, num_steps: int) -> None:
        self.target = target
        self.draft = draft
        self.wiring = wiring
        self.num_steps = num_steps

    def fused(self, output: TargetOutput, keep: int) -> torch.Tensor:
        """The draft's input hidden states for the first ``keep`` positions of a target pass, [keep, H]."""
        assert self.draft is not None, "only called with a draft"
        assert self.wiring is not None, "a draft comes with its wiring"
        if not self.wiring.use_fc:
            return output.final[:keep]
        states = output.states[:keep]
        if self.wiring.fc_order is not None:
            blocks = states.chunk(len(self.wiring.fc_order), dim=-1)
            states = torch.cat([blocks[j] for j in self.wiring.fc_order], dim=-1)
        return self.draft.fuse(states)


class Generation:
    """One request on its way: ``step`` until ``finish`` is set; ``output`` grows with every step."""

    def __init__(
        self, decoder: Decoder, prompt: Sequence[int], max_new_tokens: int, stop_ids: Collection[int] = ()
    ) -> None:
        self.prompt = list(prompt)
        self.output: list[int] = []
        self.counters = Counters()
        self.finish: Finish | None = None if max_new_tokens > 0 else Finish("length", 0)
        self._limit = max_new_tokens
        self._stop = frozenset(stop_ids)
        self._decoder = decoder
        self._cache = decoder.target.new_cache()
        self._draft_cache = decoder.draft.new_cache() if decoder.draft is not None else None
        self._next_draft = torch.empty(0)
        self._hidden = torch.empty(0)

    @torch.inference_mode()
    def step(self) -> list[int]:
        """Advance by the prompt, or by one verification. Returns the new tokens; none after the finish."""
        if self.finish is not None:
            return []
        if not self.output:
            return self._take(self._prefill())
        if self._draft_cache is None:
            return self._take(self._plain())
        return self._take(self._speculate())

    def _take(self, tokens: list[int]) -> list[int]:
        kept: list[int] = []
        for token in tokens:
            self.output.append(token)
            kept.append(token)
            if token in self._stop:
                self.finish = Finish("stop", token)
                break
            if len(self.output) >= self._limit:
                self.finish = Finish("length", self._limit)
                break
        return kept

    def _prefill(self) -> list[int]:
        output = self._decoder.target.forward(self.prompt, self._cache, last_only=True)
        token = int(output.logits[-1].argmax())
        self._extend_draft([*self.prompt[1:], token], output)
        return [token]

    def _plain(self) -> list[int]:
        output = self._decoder.target.forward(self.output[-1:], self._cache)
        return [int(output.logits[-1].argmax())]

    def _extend_draft(self, shifted: list[int], output: TargetOutput) -> None:
        """Feed the draft the true states, each beside the token that follows its position."""
        draft, cache = self._decoder.draft, self._draft_cache
        if draft is None or cache is None:
            return
        ids = torch.tensor(shifted, device=output.final.device)
        logits, self._hidden = draft(ids, self._decoder.fused(output, len(shifted)), cache)
        self._next_draft = draft.target_ids[logits.argmax()]

    def _chain(self) -> list[int]:
        """``num_steps`` draft tokens. The draft's own hidden state recurs; its cache ends as it began."""
        draft, cache = self._decoder.draft, self._draft_cache
        assert draft is not None, "only called with a draft"
        assert cache is not None, "a draft comes with its cache"
        before, token, hidden = cache.length, self._next_draft, self._hidden
        tokens = [token]
        for _ in range(self._decoder.num_steps - 1):
            logits, hidden = draft(token[None], hidden, cache)
            token = draft.target_ids[logits.argmax()]
            tokens.append(token)
        cache.length = before
        chain: list[int] = torch.stack(tokens).tolist()
        return chain

    def _speculate(self) -> list[int]:
        chain = self._chain()
        output = self._decoder.target.forward([self.output[-1], *chain], self._cache)
        wanted: list[int] = output.logits.argmax(dim=-1).tolist()
        correct = 0
        while correct < len(chain) and chain[correct] == wanted[correct]:
            correct += 1
        self.counters.add(correct)
        self._cache.shorten(len(chain) - correct)
        accepted = wanted[: correct + 1]
        self._extend_draft(accepted, output)
        return accepted


def generate(
    decoder: Decoder, prompt: Sequence[int], max_new_tokens: int, stop_ids: Collection[int] = ()
) -> Generation:
    """Run one request to its end."""
    generation = Generation(decoder, prompt, max_new_tokens, stop_ids)
    while generation.finish is None:
        generation.step()
    return generation
