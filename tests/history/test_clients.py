"""What the clients note when nobody answers, and whom they ask next."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.history.calls import Journal, Outcome, Place, Role
from tests.history.clients import Consumer, Line, Members, Producer, lines

Q = Place("a", "T", 0)
TIMEOUT = 0.05


@pytest.fixture
def silent() -> Iterator[list[str]]:
    """The addresses of two that take connections and never say a word."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    yield ["{}:{}".format(*one.getsockname()) for one in sockets]
    for one in sockets:
        one.close()


def target(line: Line) -> tuple[Role, str] | None:
    try:
        return (line.role, line.addr) if line.connect() else None
    finally:
        line.close()


def test_whom_a_line_asks(silent: list[str]) -> None:
    one, other = silent
    members = Members("a", one, [other])
    masters = Line(members, Role.MASTER, TIMEOUT)
    readers = Line(members, Role.SLAVE, TIMEOUT, or_other=True)
    offsets = Line(members, Role.MASTER, TIMEOUT, or_other=True)
    master, slave = (Role.MASTER, one), (Role.SLAVE, other)
    assert [*map(target, (masters, readers, offsets))] == [master, slave, master]
    members.master = None
    assert [*map(target, (masters, readers, offsets))] == [None, slave, slave]
    members.master, members.slaves = other, []
    master = (Role.MASTER, other)
    assert [*map(target, (masters, readers, offsets))] == [master] * 3


def test_a_line_follows_a_new_master(silent: list[str]) -> None:
    members = Members("a", silent[0])
    line = Line(members, Role.MASTER, TIMEOUT)
    assert line.connect()
    members.master = silent[1]
    assert line.connect()
    assert line.addr == silent[1]
    line.close()


def test_what_gets_no_answer_is_unknown_and_not_tried_again(
    tmp_path: Path, silent: list[str]
) -> None:
    journal = Journal(tmp_path / "journal")
    members = Members("a", silent[0])
    producer = Producer("P", 1, journal, lines([members], Role.MASTER, TIMEOUT), [Q])
    for _ in range(3):
        producer.step()
    producer.close()
    sends = journal.read().sends
    journal.close()
    assert [send.outcome for send in sends] == [Outcome.UNKNOWN] * 3
    assert all(send.end - send.begin >= TIMEOUT for send in sends)
    attempts = [attempt for send in sends for attempt in send.attempts]
    assert len(set(attempts)) == len(attempts)


def test_nothing_is_noted_where_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        addr = "{}:{}".format(*gone.getsockname())
    journal = Journal(tmp_path / "journal")
    members = [Members("a", addr)]
    to_all = [lines(members, Role.MASTER, TIMEOUT) for _ in range(3)]
    producer = Producer("P", 1, journal, to_all[0], [Q])
    consumer = Consumer("C", 1, journal, "g", [Q], to_all[1], to_all[2])
    producer.step()
    consumer.step()
    assert len(journal.read()) == 0
    journal.close()


def test_a_consumer_begins_with_what_is_committed(tmp_path: Path, silent: list[str]) -> None:
    """And pulls nothing before it knows that."""
    journal = Journal(tmp_path / "journal")
    members = [Members("a", silent[0])]
    to_all = [lines(members, Role.MASTER, TIMEOUT) for _ in range(2)]
    consumer = Consumer("C", 1, journal, "g", [Q], *to_all)
    consumer.step()
    consumer.close()
    history = journal.read()
    journal.close()
    assert [query.outcome for query in history.queries] == [Outcome.UNKNOWN]
    assert len(history) == 1
