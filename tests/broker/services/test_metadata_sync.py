"""Tables of a master that speak of its log: taken over when the copy has come as far as the master's log was then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import trio
import trio.testing

from trimq.broker.services.metadata_sync import TABLES_SECONDS, MetadataSync
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand

TOPICS, DELAYS = RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_DELAY_OFFSET
TIMERS = RequestCode.GET_TIMER_CHECK_POINT


@dataclass
class Master:
    """Answers with the number of the question; `end` is where its log ends."""

    end: int = 100
    knows_ends: bool = True
    asked: list[int] = field(default_factory=list)

    async def ask(self, _: str, code: int, __: Any) -> RemotingCommand:
        if code == RequestCode.GET_BROKER_HA_STATUS:
            info = HARuntimeInfo(master=True, master_commit_log_max_offset=self.end)
            return RemotingCommand(ResponseCode.SUCCESS, 0, body=encode_body(info))
        self.asked.append(code)
        return RemotingCommand(ResponseCode.SUCCESS, 0, body=b"%d" % self.asked.count(code))

    async def ask_courteously(self, name: str, code: int, header: Any) -> RemotingCommand | None:
        if code == RequestCode.GET_BROKER_HA_STATUS and not self.knows_ends:
            return None
        return await self.ask(name, code, header)


class Bench:
    def __init__(self, master: Master) -> None:
        self.copied = 0
        self.taken: list[tuple[int, bytes]] = []

        def follow(code: int) -> Any:
            async def take(body: bytes) -> None:
                self.taken.append((code, body))

            return take

        tables = {TOPICS: follow(TOPICS), DELAYS: follow(DELAYS)}
        self.sync = MetadataSync(
            "broker-a",
            master,  # type: ignore[arg-type]
            tables,
            follow(TIMERS),
            lambda: self.copied,
            of_log=(DELAYS,),
        )


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


async def test_a_master_that_does_not_say_where_it_ends(nursery: Any, autojump_clock: Any) -> None:
    bench = Bench(Master(knows_ends=False))
    nursery.start_soon(bench.sync.follow_tables)
    await trio.sleep(1)
    assert (DELAYS, b"1") in bench.taken
