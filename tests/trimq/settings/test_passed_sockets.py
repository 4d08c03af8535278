"""Sockets that a process is given, as systemd gives them: from descriptor 3 on, in a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from tests.passed import command_with
from trimq.settings.endpoints import AddressError, Endpoint
from trimq.settings.listening import bind_broker, listen
from trimq.settings.passed_sockets import BROKER, METRICS, NAMESRV, Passed, PassedSockets

ASKING = """
import json, os, sys
from trimq.settings.passed_sockets import PassedSockets
try:
    passed = PassedSockets.of_environment(os.environ)
    left = [str(one) for one in passed._left]
    kept = [one.sock.get_inheritable() or one.sock.getblocking() for one in passed._left]
except Exception as error:
    left, kept = str(error), []
print(json.dumps([left, kept, [name for name in os.environ if name.startswith("LISTEN_")]]))
"""


def given(socks: Sequence[socket.socket], **environ: str) -> Any:
    """What a process finds that gets them."""
    numbers = [sock.fileno() for sock in socks]
    command = command_with(numbers, "-c", ASKING, **environ)
    done = subprocess.run(command, pass_fds=numbers, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    left, kept, named = json.loads(done.stdout)
    assert named == []
    assert not any(kept)
    return left


def local() -> socket.socket:
    return listen(Endpoint("127.0.0.1", 0))


def test_they_are_found_with_their_names() -> None:
    with local() as one, local() as two:
        ports = [sock.getsockname()[1] for sock in (one, two)]
        found = given([one, two], LISTEN_FDNAMES="broker:trimq.socket")
        assert found == [f"127.0.0.1:{ports[0]} (broker)", f"127.0.0.1:{ports[1]} (trimq.socket)"]
        assert given([one, two]) == [f"127.0.0.1:{port}" for port in ports]
        assert given([one], LISTEN_FDNAMES="a:b:c") == [f"127.0.0.1:{ports[0]} (a)"]


def test_those_of_another_process_are_none() -> None:
    with local() as one:
        assert given([one], LISTEN_PID="1") == []
        assert given([one], LISTEN_FDS="") == []


@pytest.mark.parametrize("count", ["-1", "many", "1001"])
def test_a_number_that_is_none(count: str) -> None:
    with local() as one:
        assert given([one], LISTEN_FDS=count).startswith(f"LISTEN_FDS={count}: no number")


def test_what_does_not_listen_is_refused() -> None:
    with local() as one, socket.create_connection(one.getsockname()) as connected:
        assert "Accept=" in given([connected])
        assert "descriptor 4 of LISTEN_FDS: Bad file descriptor" in given([one], LISTEN_FDS="2")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        assert "is no TCP socket that listens" in given([datagrams])
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"\0trimq-test-unix-{os.getpid()}")
        unix.listen()
        assert "is no TCP socket that listens" in given([unix])


def passed(sock: socket.socket, name: str = "", host: str = "127.0.0.1") -> Passed:
    return Passed(name, Endpoint(host, sock.getsockname()[1]), sock)


def test_one_is_taken_once_by_its_address() -> None:
    with local() as sock:
        at = Endpoint("localhost", sock.getsockname()[1])
        left = PassedSockets([passed(sock, "trimq.socket")])
        assert left.take(BROKER, Endpoint("127.0.0.1", 1)) is None
        assert left.take(BROKER, at) is sock
        assert left.take(BROKER, at) is None


def test_a_name_of_ours_keeps_it_for_that() -> None:
    with local() as sock:
        at = Endpoint("127.0.0.1", sock.getsockname()[1])
        left = PassedSockets([passed(sock, METRICS)])
        assert left.take(BROKER, at) is None
        assert left.take(METRICS, at) is sock


@pytest.mark.parametrize(
    ("host", "wanted"), [("0.0.0.0", ""), ("0.0.0.0", "0.0.0.0"), ("::", "::")]
)
def test_wildcards(host: str, wanted: str) -> None:
    with local() as sock:
        port = sock.getsockname()[1]
        left = PassedSockets([passed(sock, host=host)])
        assert left.take(BROKER, Endpoint("127.0.0.1", port)) is None
        assert left.take(BROKER, Endpoint(wanted, port)) is sock


def test_one_that_nobody_would_serve_is_refused() -> None:
    with local() as sock:
        port = sock.getsockname()[1]
        left = PassedSockets([passed(sock, "trimq.socket")])
        left.check([(NAMESRV, Endpoint("127.0.0.1", port))])
        wanted = [(NAMESRV, Endpoint("127.0.0.1", 1)), (BROKER, Endpoint("0.0.0.0", port))]
        with pytest.raises(AddressError) as refused:
            left.check(wanted)
    for part in (f"127.0.0.1:{port} (trimq.socket)", "127.0.0.1:1 (namesrv)", "ListenStream="):
        assert part in str(refused.value)


def test_a_broker_takes_what_there_is_and_opens_the_rest() -> None:
    first = bind_broker(Endpoint("127.0.0.1", 0))
    (main,), (vip,), (ha,) = first.main, first.vip, first.ha
    vip.close()
    second = bind_broker(
        Endpoint("127.0.0.1", first.port), passed=PassedSockets([passed(main), passed(ha)])
    )
    try:
        assert second.main == [main]
        assert second.ha == [ha]
        assert second.vip[0].getsockname() == ("127.0.0.1", first.port - 2)
    finally:
        second.close()
