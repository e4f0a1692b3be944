"""Ports that a server can use, with those that it derives from them."""

from __future__ import annotations

import socket

import pytest

from eaglecfg.machine.ports import DERIVED, FIRST, LAST, free_port, is_free


def test_whatever_is_derived_from_a_port_is_valid_and_below_the_kernels_own_choice() -> None:
    assert 10000 in DERIVED
    assert max(DERIVED) + LAST < 32768
    assert min(DERIVED) > 0
    assert FIRST > 1024


def test_a_port_is_chosen_from_the_range_and_can_be_listened_on() -> None:
    port = free_port()
    assert FIRST <= port <= LAST
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: connections may linger
        server.bind(("127.0.0.1", port))
        server.listen(1)


@pytest.mark.parametrize("derived", [0, 1, 233, 10000])
def test_a_port_is_passed_over_when_one_derived_from_it_is_taken(derived: int) -> None:
    taken = {12000 + derived}
    assert free_port([12000, 12600], lambda port: port not in taken) == 12600


def test_a_listening_port_is_not_free_and_a_closed_one_is() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        port = server.getsockname()[1]
        assert not is_free(port)
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()
    assert is_free(port)


def test_a_machine_without_a_free_port_is_told_so() -> None:
    with pytest.raises(OSError, match="no port between 12000 and 21999 is free"):
        free_port([12000, 12001], lambda port: False)
