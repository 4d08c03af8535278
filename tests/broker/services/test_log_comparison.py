"""Whether a slave's log is still a copy of its master's, and what the slave says to do when it is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.identities import named
from tests.store.conftest import Bench
from trimq.broker.services.log_comparison import KEEP, LogComparison
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.headers.messages import ViewMessageRequestHeader
from trimq.remoting.contract import RemotingError
from trimq.store.message_store import MessageStore


class Master:
    """Has a store, and answers as every version of RocketMQ does."""

    def __init__(self, store: MessageStore) -> None:
        self.store = store
        self.answers = True

    async def ask(self, _: str, code: int, header: Header) -> RemotingCommand:
        if not self.answers:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "gone")
        if code == RequestCode.GET_BROKER_RUNTIME_INFO:
            begin, end = self.store.min_physical_offset, self.store.max_physical_offset
            table = {"commitLogMinOffset": str(begin), "commitLogMaxOffset": str(end)}
            return RemotingCommand(0, 0, body=encode_body(KVTable(table=table)))
        assert code == RequestCode.VIEW_MESSAGE_BY_ID
        assert isinstance(header, ViewMessageRequestHeader)
        record = self.store.record_at(header.offset)
        if record is None:
            return RemotingCommand(ResponseCode.SYSTEM_ERROR, 0)
        return RemotingCommand(0, 0, body=record)


class Pair:
    def __init__(self, home: Path) -> None:
        self.master, self.slave = Bench(home / "master"), Bench(home / "slave")

    def look(self, master: MessageStore, slave: MessageStore) -> LogComparison:
        self.asked = Master(master)
        return LogComparison(named("broker-a"), self.asked, slave)  # type: ignore[arg-type]

    def end(self) -> None:
        self.master.end()
        self.slave.end()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.end()


def filled(bench: Bench, bodies: str) -> MessageStore:
    store = bench.open()
    for body in bodies:
        store.put(bench.message(body.encode() * 20))
    return store


async def test_a_copy(pair: Pair) -> None:
    """Whole, or a part of it, or nothing yet."""
    for slave in ("", "a", "abc"):
        bench = Bench(pair.slave.root.parent / f"slave {len(slave)}")
        master = filled(Bench(bench.root.with_name(f"master {len(slave)}")), "abcdef")
        assert await pair.look(master, filled(bench, slave)).why_not() is None


@pytest.mark.parametrize("master", ["", "a", "ab"])
async def test_a_master_with_less(pair: Pair, master: str) -> None:
    why = await pair.look(filled(pair.master, master), filled(pair.slave, "abc")).why_not()
    assert why is not None
    assert KEEP in why


async def test_a_master_that_began_anew_and_has_more(pair: Pair) -> None:
    why = await pair.look(filled(pair.master, "uvwxyz"), filled(pair.slave, "abc")).why_not()
    assert why is not None
    assert KEEP in why


async def test_logs_that_part_later(pair: Pair) -> None:
    """The old advice: the master has more."""
    why = await pair.look(filled(pair.master, "abxyz"), filled(pair.slave, "abc")).why_not()
    assert why is not None
    assert KEEP not in why
    assert "remove its store" in why


async def test_a_log_that_ends_before_its_master_s(pair: Pair) -> None:
    """Of a slave that was away for long: it gets nothing, and has nothing that is of use to anybody."""
    master = filled(pair.master, "abcdefghijklmnopqrstuvwxyz" * 2)
    look = pair.look(master, filled(pair.slave, "a"))

    async def began_later(_: str, code: int, __: Header) -> RemotingCommand:
        assert code == RequestCode.GET_BROKER_RUNTIME_INFO
        table = {"commitLogMinOffset": "2048", "commitLogMaxOffset": "4000"}
        return RemotingCommand(0, 0, body=encode_body(KVTable(table=table)))

    pair.asked.ask = began_later  # type: ignore[method-assign]
    why = await look.why_not()
    assert why is not None
    assert KEEP not in why
    assert "remove its store" in why


async def test_nobody_answers(pair: Pair) -> None:
    look = pair.look(filled(pair.master, "a"), filled(pair.slave, "a"))
    pair.asked.answers = False
    with pytest.raises(RemotingError):
        await look.why_not()
    with pytest.raises(RemotingError):
        await look.masters_end()
