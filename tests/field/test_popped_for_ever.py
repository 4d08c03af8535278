"""What POP owes: a message that is not acknowledged comes again, one that is does not (apache/rocketmq 10985, 11180,
10736, 10276).

Each is a message that RocketMQ, with all its settings of POP, loses or brings twice: a read that fails when it is to
come again, an acknowledgement 2^32 beyond the batch, one that meets a checkpoint on its way to the disk, a changed
time that ends in the same millisecond. Right: as if none of that had happened.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.interpreted import needs_plain_revive
from tests.processors.conftest import Broker
from tests.processors.pop.conftest import PopClient
from tests.processors.pop.lives import SERVICES
from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.store.errors import StoreError

RETRY = "%RETRY%G_T"
HIDDEN = 10_000
# Two seconds after its time, and a round of the services.
BACK = 14


class Running:
    """A broker with its wheel on a mock clock; two messages were popped when that began."""

    def __init__(self, root: Path, nursery: trio.Nursery) -> None:
        self.broker = Broker(root, BrokerConfig(revive_interval=200), TrioClock())
        self.broker.store.open()
        self.broker.parts.load()
        for name in SERVICES:
            nursery.start_soon(self.broker.parts.services[name])
        self.pops = PopClient(self.broker)
        self.pops.put(b"0", b"1")
        self.popped: Any = self.pops.pop(invisibleTime=HIDDEN)

    async def until(self, second: float) -> list[bytes]:
        """What has come again by then."""
        await trio.sleep(max(0, second - trio.current_time()))
        return sorted(record.body for record in self.broker.records(RETRY))


@pytest.fixture
async def running(
    tmp_path: Path, nursery: trio.Nursery, no_threads: None
) -> AsyncIterator[Running]:
    """Tests that use it name `autojump_clock` too."""
    made = Running(tmp_path / "store", nursery)
    yield made
    made.pops.reviving._timers._files.close()
    made.broker.store.abandon()


@needs_plain_revive
@pytest.mark.parametrize("failure", [StoreError("no"), RuntimeError("a bug")])
async def test_a_read_that_fails_loses_no_message(
    autojump_clock: Any, running: Running, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """10985: the position is committed past the checkpoint, which nobody reads again."""
    running.pops.write()
    read = []

    async def fail(*_: Any) -> Any:
        read.append(1)
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(running.pops.reviving._revive_retry, "_piece", fail)
        while not read:
            assert await running.until(trio.current_time() + 0.1) == []
    assert await running.until(trio.current_time() + BACK) == [b"0", b"1"]


@pytest.mark.parametrize("far", [1 << 32, (1 << 32) + 1, -(1 << 32), 1 << 62])
async def test_an_acknowledgement_of_another_message_is_none_of_these(
    autojump_clock: Any, running: Running, far: int
) -> None:
    """11180: the distance is cut to 32 bits, and what was not consumed does not come again."""
    running.pops.write()
    running.pops.ack(running.popped, far)
    running.pops.write()
    assert await running.until(BACK) == [b"0", b"1"]


@pytest.mark.parametrize("written", [False, True])
async def test_an_acknowledgement_that_meets_its_checkpoint_on_the_way(
    autojump_clock: Any, running: Running, written: bool
) -> None:
    """10736: the checkpoint is written behind its acknowledgement, and the message comes twice."""
    if written:
        running.pops.write()
    running.pops.ack(running.popped, 0)
    running.pops.write()
    assert await running.until(BACK) == [b"1"]
    assert await running.until(5 * BACK) == [b"1"]


@pytest.mark.parametrize("later", [0, 1, 4000])
async def test_a_changed_time_that_ends_in_the_same_millisecond(
    autojump_clock: Any, running: Running, later: int
) -> None:
    """10276: the new checkpoint has the old one's key, and is deleted with it."""
    running.pops.write()
    await running.until(later / 1000)
    assert running.pops.change(running.popped, 0, HIDDEN - later).code == 0
    running.pops.write()
    assert await running.until(HIDDEN / 1000 - 1) == []
    assert await running.until(BACK) == [b"0", b"1"]
    assert await running.until(5 * BACK) == [b"0", b"1"]
