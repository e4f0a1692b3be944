"""Asks a running server what it runs, and for a few generations. Reads and generates; changes nothing."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglecfg.live.accept import accept_length, interval
from eaglecfg.live.folders import differing
from eaglecfg.live.http import Deadline, Server, Unanswered, parsed
from eaglecfg.live.prompts import Asked, choose
from eaglecfg.rules.context import Context
from eaglecfg.rules.live.running import Generations, Running
from eaglecfg.source.secrets import is_secret_name, redact_data, redact_text
from eaglecfg.tune.client import INFO_PATHS
from eaglecfg.tune.counters import HISTOGRAMS, Acceptance, add_up, read_request
from eaglecfg.tune.trial import Prompt

MOST_INFO = 8 << 20
"""Bytes of /server_info. That of 0.5.14 has 27 KB."""

MOST_SETTINGS = 5_000
"""Settings of one answer that are kept; an engine has some 530."""

MOST_ANSWER = 4 << 20
"""Bytes of one generation: text and ids of some hundred tokens take a few KB."""

AT_ONCE = 4
"""Requests in flight: a server in use should hardly notice them."""

ENOUGH_FAILURES = 3
"""Failures, before any answer, after which no more is sent."""

MOST_STEPS = 1_000_000
"""Verify steps of one answer, and drafts accepted in them, beyond which a counter is none."""

LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a check may ask for: ``requests`` generations of ``tokens`` (None: as the study has it), within
    ``seconds`` in all; ``prompts`` is a file of the user's."""

    requests: int = 24
    tokens: int | None = None
    seconds: float = 120.0
    prompts: Path | None = None


def ask_server(server: Server, context: Context, wanted: Wanted) -> Running:
    """What the server of the deployment of ``context`` says and generates. Raises UsageError for prompts that
    cannot be used; whatever the server does raises nothing."""
    deadline = Deadline.after(wanted.seconds)
    url = str(server.address)
    try:
        info = _info(server, deadline)
    except Unanswered as reason:
        return Running(url, str(reason), reason.help)
    kept = {name: value for name, value in list(info.items())[:MOST_SETTINGS] if _kept(name)}
    version = info.get("version")
    generations = None
    if wanted.requests:
        takes_text = not info.get("skip_tokenizer_init")
        asked = choose(context, wanted.requests, wanted.tokens, wanted.prompts, takes_text=takes_text)
        generations = _generate(server, asked, deadline, info)
    return Running(
        url,
        version=version if isinstance(version, str) else "",
        info=redact_data(kept),
        generations=generations,
        differing=differing(context, info) if server.address.loopback else {},
    )


def _kept(name: str) -> bool:
    """Whether a setting is looked at: no secrets, and not the whole state of every scheduler."""
    return name != "internal_states" and not is_secret_name(name)


def _info(server: Server, deadline: Deadline) -> Mapping[str, Any]:
    """The answer of /server_info, or of its older name. Raises Unanswered."""
    reason = Unanswered("it knows neither /server_info nor /get_server_info", "is this a server of SGLang?")
    for path in INFO_PATHS:
        status, body = server.ask(path, deadline, MOST_INFO)
        if status in (404, 405):
            continue
        _refuse(status, path, keyed=bool(server.key))
        info = parsed(body)
        if isinstance(info, dict) and info and ("model_path" in info or "version" in info):
            return info
        reason = Unanswered(
            f"{path} answers with something else than a server's settings",
            "name the server itself where a router answers for it",
        )
    raise reason


def _refuse(status: int, path: str, *, keyed: bool) -> None:
    """Raise Unanswered for a status that is no answer. ``keyed``: a key was sent."""
    if status in (401, 403) and keyed:
        raise Unanswered(
            f"{path} refuses the key that was sent (HTTP {status})",
            "put the server's key into the variable that --live-key names",
        )
    if status in (401, 403):
        raise Unanswered(
            f"{path} wants a key (HTTP {status})", "name the variable that holds it with --live-key"
        )
    if 300 <= status < 400:
        raise Unanswered(
            f"{path} sends us somewhere else (HTTP {status}), and a key is not carried there",
            "name the server itself",
        )
    if status == 503:
        raise Unanswered(f"{path} is not ready (HTTP 503)", "wait until it is, then check again")
    if status != 200:
        raise Unanswered(f"{path} answers with HTTP {status}", "look into the server's log")


def _generate(server: Server, asked: Asked, deadline: Deadline, info: Mapping[str, Any]) -> Generations:
    """Send the prompts, a few at a time, and read the counters of the answers."""
    if not asked.prompts:
        return Generations(asked.origin, asked.tokens, problem=asked.problem or "there are no prompts")
    steps = info.get("speculative_num_steps")
    num_steps = steps if isinstance(steps, int) else None
    found: list[Acceptance | None] = []
    failures: list[str] = []
    for meta in _answers(server, asked, deadline):
        if isinstance(meta, str):
            failures.append(meta)
        else:
            found.append(_counted(meta, num_steps))
    counted = [one for one in found if one is not None]
    pairs = [(one.correct, one.verify_steps) for one in counted]
    total, bounds = add_up(counted), interval(pairs)
    return Generations(
        origin=asked.origin,
        tokens=asked.tokens,
        answered=len(found),
        failed=len(failures),
        planned=len(asked.prompts),
        problem=failures[0] if failures else "",
        counted=len(counted),
        counters=total.source if total is not None else "",
        verify_steps=total.verify_steps if total is not None else 0,
        accept_length=accept_length(pairs),
        low=bounds[0] if bounds else None,
        high=bounds[1] if bounds else None,
    )


def _counted(meta: Mapping[str, Any], num_steps: int | None) -> Acceptance | None:
    """The counters of one answer; None for none, and for such as no version of the engine has."""
    plain = {name: value for name, value in meta.items() if name not in HISTOGRAMS}
    try:
        found = read_request(plain, num_steps)
    except (TypeError, ValueError, OverflowError):
        return None
    if found is None or not isinstance(found.correct, int | float):
        return None
    return found if found.verify_steps <= MOST_STEPS and 0 <= found.correct <= MOST_STEPS else None


def _answers(server: Server, asked: Asked, deadline: Deadline) -> list[Mapping[str, Any] | str]:
    """meta_info of each prompt's answer, or why there is none. Threads end with the process, so that an
    interrupt does not wait for a slow server."""
    waiting: queue.SimpleQueue[Prompt] = queue.SimpleQueue()
    answers: queue.SimpleQueue[Mapping[str, Any] | str] = queue.SimpleQueue()
    for prompt in asked.prompts:
        waiting.put(prompt)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                prompt = waiting.get_nowait()
            except queue.Empty:
                return
            answers.put(_one(server, prompt, asked.tokens, deadline))

    for _ in range(min(AT_ONCE, len(asked.prompts))):
        threading.Thread(target=work, daemon=True).start()
    out: list[Mapping[str, Any] | str] = []
    while len(out) < len(asked.prompts):
        out.append(answers.get())
        failed = sum(isinstance(one, str) for one in out)
        if failed >= ENOUGH_FAILURES and failed == len(out):
            break
    stop.set()
    return out


def _one(server: Server, prompt: Prompt, tokens: int, deadline: Deadline) -> Mapping[str, Any] | str:
    """One greedy generation: its meta_info, or what went wrong."""
    body: dict[str, Any] = {
        "sampling_params": {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True},
        "stream": False,
    }
    if prompt.input_ids is not None:
        body["input_ids"] = list(prompt.input_ids)
    else:
        body["text"] = prompt.text
    try:
        status, raw = server.ask("/generate", deadline, MOST_ANSWER, body, silence=deadline.left)
    except Unanswered as reason:
        return str(reason)
    except Exception as error:  # of a thread that nobody looks into
        return f"{type(error).__name__}"
    answer = parsed(raw)
    answer = answer[0] if isinstance(answer, list) and answer else answer
    if status != 200 or not isinstance(answer, dict) or "error" in answer:
        return f"HTTP {status}: {_reason(answer)}" if status != 200 else _reason(answer)
    meta = answer.get("meta_info")
    if not isinstance(meta, dict):
        return "the answer has no meta_info"
    finish = meta.get("finish_reason")
    kind = finish.get("type") if isinstance(finish, dict) else finish
    if kind == "abort":
        return f"aborted: {_reason(finish)}"
    count = meta.get("completion_tokens")
    if isinstance(count, int) and count < tokens:
        return f"{count} of {tokens} tokens although ignore_eos was set"
    return meta


def _reason(answer: Any) -> str:
    """What an answer says went wrong, short and without secrets."""
    error = answer.get("error", answer.get("message", answer)) if isinstance(answer, dict) else answer
    text = error.get("message", error) if isinstance(error, dict) else error
    if text is None:
        return "no JSON in the answer"
    return redact_text(" ".join(str(text).split()))[:LONGEST_REASON]
