"""A port for a server, and room for the ports that the server derives from it."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Callable, Iterable

FIRST, LAST = 12000, 21999
"""Servers get a port from here. What the kernel chooses (bind to port 0) comes from its ephemeral range, on
Linux from 32768 on unless it was changed (/proc/sys/net/ipv4/ip_local_port_range): there port + 10000 can
pass 65535, and any outgoing connection may take a derived port between our look and the server's bind."""

DERIVED = (
    # --port + 1: metrics and profiling beside gRPC; 0.5.14 srt/server_args.py:1033
    1,
    # --port + 13: handshake of data-parallel attention; 0.5.14 srt/server_args.py:7236, 0.5.23 :729
    13,
    # --port + 233 and those that follow it: ZeroMQ between processes under data-parallel attention
    # (tokenizer, detokenizer, rpc, metrics, scheduler, load, one for each rank); 0.5.14
    # srt/server_args.py:7235 and 7303-7334, 0.5.23 :728 and 820-855
    *range(233, 260),
    # --port + 10000: gRPC, checked on every start even where it is not served; 0.5.14
    # srt/server_args.py:2761-2768, 0.5.23 srt/arg_groups/serving_hook.py:375-385 in the older gRPC mode
    10000,
)
"""What SGLang adds to --port."""

MOST_TRIES = 200


def is_free(port: int) -> bool:
    """Whether a server could listen on this port, on any address. Connections that linger are no obstacle."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError:
            return False
        return True


def free_port(candidates: Iterable[int] | None = None, free: Callable[[int], bool] = is_free) -> int:
    """A port that is free together with all that is derived from it; at random, for studies side by side.

    Whoever binds it first has it, so that a server may still lose it. Raises OSError where none was found.
    """
    for port in candidates if candidates is not None else random.sample(range(FIRST, LAST + 1), MOST_TRIES):
        if all(free(port + offset) for offset in (0, *DERIVED)):
            return port
    raise OSError(errno.EADDRINUSE, f"no port between {FIRST} and {LAST} is free with those derived from it")
