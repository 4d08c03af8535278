"""Tables of a master: of one whose log is the one that is copied; what speaks of its log waits until the copy has come
as far as the master's log was then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import trio
import trio.testing

from tests.identities import named
from trimq.broker.services.metadata_sync import TABLES_SECONDS, Copy, MetadataSync
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand

TOPICS, DELAYS = RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_DELAY_OFFSET
TIMERS = RequestCode.GET_TIMER_CHECK_POINT


@dataclass
class Master:
    """Answers with the number of the question; `end` is where its log ends."""

    end: int = 100
    asked: list[int] = field(default_factory=list)

    async def ask(self, _: str, code: int, __: Any) -> RemotingCommand:
        self.asked.append(code)
        return RemotingCommand(ResponseCode.SUCCESS, 0, body=b"%d" % self.asked.count(code))

    async def ask_courteously(self, name: str, code: int, header: Any) -> RemotingCommand | None:
        return await self.ask(name, code, header)

    async def masters_end(self) -> int:
        return self.end


class Bench:
    def __init__(self, master: Master, end: Callable[[], Awaitable[int]] | None = None) -> None:
        self.copied = 0
        self.is_same = True
        self.taken: list[tuple[int, bytes]] = []

        def follow(code: int) -> Any:
            async def take(body: bytes) -> None:
                self.taken.append((code, body))

            return take

        tables = {TOPICS: follow(TOPICS), DELAYS: follow(DELAYS)}
        self.sync = MetadataSync(
            named("broker-a"),
            master,
            tables,
            follow(TIMERS),
            Copy(lambda: self.copied, lambda: self.is_same, end or master.masters_end),
            of_log=(DELAYS,),
        )

    def start(self, nursery: trio.Nursery) -> None:
        nursery.start_soon(self.sync.follow_tables)
        nursery.start_soon(self.sync.follow_timers)


async def test_it_is_held_until_the_log_has_come_that_far(
    nursery: Any, autojump_clock: Any
) -> None:
    master = Master()
    bench = Bench(master)
    nursery.start_soon(bench.sync.follow_tables)
    bench.copied = 99
    await trio.sleep(TABLES_SECONDS * 1.5)
    # Asked for once: what is newer needs more of the log.
    assert bench.taken == [(TOPICS, b"1"), (TOPICS, b"2")]
    assert master.asked.count(DELAYS) == 1
    master.end = 200
    bench.copied = 100
    await trio.sleep(1)
    assert bench.taken[2:] == [(DELAYS, b"1")]
    bench.copied = 200
    await trio.sleep(TABLES_SECONDS)
    assert bench.taken[3:] == [(TOPICS, b"3"), (DELAYS, b"2")]


async def test_a_log_that_is_even_is_not_waited_for(nursery: Any, autojump_clock: Any) -> None:
    bench = Bench(Master())
    bench.copied = 100
    nursery.start_soon(bench.sync.follow_tables)
    nursery.start_soon(bench.sync.follow_timers)
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(bench.taken) == sorted([(TOPICS, b"1"), (DELAYS, b"1"), (TIMERS, b"1")])


async def test_what_a_master_has_lost_is_not_waited_for(nursery: Any, autojump_clock: Any) -> None:
    master = Master()
    bench = Bench(master)
    nursery.start_soon(bench.sync.follow_tables)
    await trio.sleep(1)
    master.end = bench.copied = 50
    await trio.sleep(2.5 * TABLES_SECONDS)
    assert (DELAYS, b"1") not in bench.taken
    assert (DELAYS, b"2") in bench.taken


async def test_nothing_without_a_link_to_a_master_with_the_same_log(
    nursery: Any, autojump_clock: Any
) -> None:
    master = Master()
    bench = Bench(master)
    bench.copied, bench.is_same = 100, False
    bench.start(nursery)
    await trio.sleep(3 * TABLES_SECONDS)
    assert (master.asked, bench.taken) == ([], [])
    bench.is_same = True
    bench.sync.found()
    await trio.sleep(5)
    assert {TOPICS, DELAYS, TIMERS} == {code for code, _ in bench.taken}


async def test_nothing_of_a_master_whose_log_ends_before_the_copy(
    nursery: Any, autojump_clock: Any
) -> None:
    bench = Bench(Master(end=99))
    bench.copied = 100
    bench.start(nursery)
    await trio.sleep(3 * TABLES_SECONDS)
    assert bench.taken == []


async def test_nothing_of_a_master_that_is_lost_meanwhile(
    nursery: Any, autojump_clock: Any
) -> None:
    master = Master()

    async def lost() -> int:
        bench.is_same = False
        return 100

    bench = Bench(master, lost)
    bench.copied = 100
    bench.start(nursery)
    await trio.sleep(3 * TABLES_SECONDS)
    assert bench.taken == []
