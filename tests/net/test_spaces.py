"""The networks themselves: faults are what they are called, and nothing is left of them."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.net.spaces import Net, remove_leftovers
from tests.patience import until
from tests.trimq.supervising.test_running_family import is_gone

ROOT = Path(__file__).parents[2]
# Seconds in which a byte comes that comes at all, mostly.
SOON = 0.3
MAKER = """
import subprocess, sys
from tests.net.spaces import Net
net = Net(["a"])
with net.inside("a"):
    child = subprocess.Popen(["sleep", "600"])
print(net.space("a"), child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def net() -> Iterator[Net]:
    made = Net(["a", "b"], late=["b"])
    yield made
    made.close()


class Talk:
    """A connection from a to b."""

    def __init__(self, net: Net) -> None:
        with net.inside("b"):
            listener = socket.create_server((net.address("b"), 0))
        with net.inside("a"):
            self.near = socket.create_connection(listener.getsockname(), 20)
        self.far, _ = listener.accept()
        listener.close()
        for sock in (self.near, self.far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.near.close()
        self.far.close()


@pytest.fixture
def talk(net: Net) -> Iterator[Talk]:
    made = Talk(net)
    yield made
    made.close()


def passes(source: socket.socket, sink: socket.socket, seconds: float = 20) -> bool:
    """Whether a byte comes through."""
    source.sendall(b"x")
    sink.settimeout(seconds)
    try:
        return sink.recv(100) != b""
    except TimeoutError:
        return False


def test_a_cut_in_one_direction_heals(net: Net, talk: Talk) -> None:
    assert passes(talk.near, talk.far)
    assert passes(talk.far, talk.near)
    net.drop("a", "b")
    assert not passes(talk.near, talk.far, SOON)
    # What is sent back arrives, and its acknowledgement does not.
    assert passes(talk.far, talk.near)
    net.heal()
    talk.far.settimeout(20)
    assert talk.far.recv(100)


def test_a_cut_in_both(net: Net, talk: Talk) -> None:
    net.cut("a", "b")
    assert not passes(talk.near, talk.far, SOON)
    assert not passes(talk.far, talk.near, SOON)


def test_a_host_that_nobody_reaches(net: Net, talk: Talk) -> None:
    net.isolate("b")
    assert not passes(talk.near, talk.far, SOON)
    assert not passes(talk.far, talk.near, SOON)


def test_every_packet_is_late(net: Net, talk: Talk) -> None:
    net.delay("b", 0.2)
    began = time.monotonic()
    talk.near.sendall(b"x")
    assert talk.far.recv(1) == b"x"
    talk.far.sendall(b"y")
    assert talk.near.recv(1) == b"y"
    assert time.monotonic() - began >= 0.4
    net.heal()
    assert passes(talk.near, talk.far)


def test_no_more_bytes_than_are_allowed(net: Net, talk: Talk) -> None:
    net.throttle("b", 1_000_000)
    sender = threading.Thread(target=talk.near.sendall, args=(bytes(1_000_000),))
    began = time.monotonic()
    sender.start()
    left = 1_000_000
    while left:
        left -= len(talk.far.recv(100_000))
    sender.join()
    # A burst is let through at once.
    assert time.monotonic() - began > 0.8


def test_of_a_killed_process_nothing_is_left() -> None:
    maker = subprocess.Popen(
        [sys.executable, "-c", MAKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert maker.stdout is not None
    assert maker.stdin is not None
    space, child = maker.stdout.readline().split()
    assert (Path("/run/netns") / space).exists()
    remove_leftovers()
    assert (Path("/run/netns") / space).exists(), "it is still at work"
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    maker.stdin.close()
    maker.stdout.close()
    remove_leftovers()
    until(lambda: not (Path("/run/netns") / space).exists(), "the space is removed")
    # Nobody waits for it but init: gone, or dead. The kernel ends it a moment after the signal.
    until(lambda: is_gone(int(child)), "the process has ended")


def test_what_was_made_is_removed() -> None:
    net = Net(["a"])
    spaces = [Path("/run/netns") / net.space(host) for host in ("switch", "a")]
    assert all(path.exists() for path in spaces)
    net.close()
    assert not any(path.exists() for path in spaces)
