"""``python -m eaglecfg.reference.serve``: the reference decoder with SGLang's flags and HTTP dialect."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.flags import Settings, parse

if TYPE_CHECKING:
    from eaglecfg.reference.dialect import Engine
    from eaglecfg.reference.wiring import Wiring

log = logging.getLogger("eaglecfg.reference")


def wiring_of(settings: Settings, layers: int, architecture: str) -> Wiring:
    """How this engine version wires the draft, with what the command line breaks on purpose."""
    from eaglecfg.engines.boundaries import effective_boundaries
    from eaglecfg.engines.table import load_facts
    from eaglecfg.reference.load import read_config
    from eaglecfg.reference.wiring import Wiring, check_boundaries, listed_ids

    assert settings.draft_path is not None, "only called with a draft"
    boundaries = settings.boundaries
    if boundaries is None:
        facts = load_facts("sglang", settings.version)
        ids = listed_ids(read_config(settings.draft_path))
        # The reference decoder has no CUDA graphs, so a fault of the graphs is none of its own.
        found = effective_boundaries(facts, architecture, layers, ids, graphs=False) if facts else None
        if found is None or found.outcome != "captured":
            reason = found.reason if found else "its layers are not known"
            raise ReferenceFailure(
                f"sglang {settings.version} captures nothing from {architecture}: {reason}"
            )
        boundaries = found.captured
    check_boundaries(boundaries, layers)
    order = settings.fc_order
    if order is not None and sorted(order) != list(range(len(boundaries))):
        raise ReferenceFailure(f"--fc-order: expected a permutation of 0..{len(boundaries) - 1}, got {order}")
    return Wiring(tuple(sorted(set(boundaries))), order, not settings.drop_d2t, not settings.skip_fc)


def build(settings: Settings) -> Engine:
    """Load everything. Raises ReferenceFailure for what cannot be served."""
    import torch

    torch.set_num_threads(settings.threads)
    from eaglecfg.reference.decode import Decoder, generate
    from eaglecfg.reference.dialect import Engine
    from eaglecfg.reference.load import load_draft, read_config
    from eaglecfg.reference.request import Limits
    from eaglecfg.reference.target import load_target
    from eaglecfg.reference.worker import Worker

    raw = read_config(settings.model_path)
    name = settings.dtype or raw.get("dtype") or raw.get("torch_dtype") or "bfloat16"
    dtype = getattr(torch, str(name))
    wiring = None
    if settings.draft_path is not None:
        architecture = str((raw.get("architectures") or ["unknown"])[0])
        wiring = wiring_of(settings, int(raw["num_hidden_layers"]), architecture)
    device = settings.device
    target = load_target(
        settings.model_path, dtype=dtype, device=device, boundaries=wiring.boundaries if wiring else ()
    )
    draft = None
    if wiring is not None and settings.draft_path is not None:
        draft = load_draft(settings.draft_path, target.embedding(), dtype=dtype, use_d2t=wiring.use_d2t)
        if len(wiring.boundaries) != draft.shape.states and wiring.use_fc:
            raise ReferenceFailure(
                f"{settings.draft_path}: fc takes {draft.shape.states} states, "
                f"the boundaries captured are {wiring.boundaries}"
            )
    decoder = Decoder(target, draft, wiring, settings.num_steps)
    generate(decoder, [0, 0], 4)  # the first pass through torch is slow; no client should see it
    tokenizer = None if settings.skip_tokenizer else _tokenizer(settings)
    limits = Limits(
        vocab=target.embedding().shape[0],
        context=min(settings.context_length or 1 << 62, int(raw.get("max_position_embeddings", 2048))),
        stop_ids=_stop_ids(raw, target.model.generation_config),
    )
    worker = Worker(decoder, settings.max_running_requests, tokenizer.decode if tokenizer else None)
    encode = (lambda text: tokenizer.encode(text).ids) if tokenizer else None
    return Engine(worker, limits, wiring, str(name), encode)


def _stop_ids(raw: dict[str, Any], generation_config: Any) -> frozenset[int]:
    found: set[int] = set()
    for value in (raw.get("eos_token_id"), getattr(generation_config, "eos_token_id", None)):
        found |= {value} if isinstance(value, int) else set(value or ())
    return frozenset(found)


def _tokenizer(settings: Settings) -> Any:
    path = settings.model_path / "tokenizer.json"
    if not path.is_file():
        log.info("%s is missing: text is neither read nor written, as with --skip-tokenizer-init", path)
        return None
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


def _leave(_number: int, _frame: FrameType | None) -> None:
    """While loading there is nothing to put in order; an exception here could be swallowed by an import."""
    os._exit(0)


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def run(arguments: Sequence[str]) -> int:
    """Serve until a signal. Returns the exit status."""
    begun = time.monotonic()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="[%(asctime)s] %(message)s")
    _on_signals(_leave)
    try:
        settings = parse(arguments)
        for flag in settings.ignored:
            log.info("ignored by the reference decoder: %s", flag)
        for sentence in settings.rewritten:
            log.warning(sentence)
        return _serve(settings, begun)
    except ModuleNotFoundError as missing:
        # As Python says it, so that whoever reads logs knows it; and what to do.
        sys.stderr.write(f"ModuleNotFoundError: {missing}; pip install 'eaglecfg[reference]' brings it\n")
        return ReferenceFailure.exit_code
    except ReferenceFailure as failure:
        log.error("error: %s", failure)
        return failure.exit_code


def _serve(settings: Settings, begun: float) -> int:
    from eaglecfg.reference.dialect import Server

    try:
        server = Server(settings)
    except OSError as error:
        raise ReferenceFailure(f"{settings.host}:{settings.port}: {error.strerror or error}") from error
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    engine = None
    try:
        engine = build(settings)
        engine.worker.start()
        server.engine = engine
        shown = engine.wiring.boundaries if engine.wiring else "no speculation"
        log.info(
            "The server is fired up and ready to roll: %s, %s, %s steps, boundaries %s, after %.1f s",
            settings.model_path, engine.dtype, settings.num_steps, shown, time.monotonic() - begun,
        )  # fmt: skip
        asked = threading.Event()
        _on_signals(lambda _number, _frame: asked.set())
        asked.wait()
    finally:
        server.engine = None
        server.shutdown()
        server.server_close()
        if engine is not None:
            engine.worker.stop()
    return 0


def main() -> None:
    """The entry point. Leaves without the interpreter's farewell: threads of torch could hold it up."""
    try:
        status = run(sys.argv[1:])
    except SystemExit as stop:
        status = int(stop.code or 0)
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
