"""How many replies wait is known."""

from __future__ import annotations

from typing import Any

import trio

from trimq.remoting.contract import Response
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.gate import Awaited, Gate
from trimq.remoting.serving.durable_replies import ParkedReplies
from trimq.remoting.serving.receive_frames import Reply
from trimq.remoting.wire.outbox import Outbox
from trimq.remoting.wire.streams import Wire


def outbox() -> Outbox:
    """Nothing is sent by it: what waits is only reserved."""
    return Outbox(Wire(), 1 << 20, RemotingCounters(), [].append)


def reply(offset: int) -> Reply:
    response = Response()
    response.durable_at = offset
    return Reply(0, 0, response)


async def test_replies_that_wait_are_counted(nursery: Any, autojump_clock: Any) -> None:
    disk, slaves = Gate(100), Gate(0)
    sent: list[Reply] = []
    gates = (Awaited(disk, 5, 10), Awaited(slaves, 3, 12))
    parked = [ParkedReplies(gates, outbox(), sent.extend) for _ in range(2)]
    for one in parked:
        one.open(nursery)
        assert len(one.park([reply(at) for at in (-1, 10, 20)], one.term)) == 1
    assert (disk.parked, slaves.parked) == (4, 4)
    slaves.advance(10)
    assert slaves.parked == len(sent) == 2
    parked[0].close()
    assert slaves.parked == 1
    await trio.sleep(4)
    assert slaves.parked == disk.parked == 0
    assert sent[-1].response.code == 12
