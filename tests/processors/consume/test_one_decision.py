"""A pull decides once, whatever it then waits for: through the dispatcher, as a connection has it."""

from typing import Any

import pytest
import trio
import trio.testing

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.processors.offsets.update_consumer_offset import UpdateConsumerOffset
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.remoting.wire.streams import StreamWire
from trimq.store.errors import MessagesGone

COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4
PULL, UPDATE = 1, 2


class Connected:
    """A client's end of a connection to the pulls and commits of one broker."""

    def __init__(self, consuming: Any, stream: trio.abc.Stream) -> None:
        self.consuming = consuming
        self.broker = consuming.broker
        self._stream = stream
        self._frames = FrameBuffer()

    async def send(self, *commands: RemotingCommand) -> None:
        """All of them in one receive."""
        await self._stream.send_all(b"".join(encode_command(command) for command in commands))

    async def answer(self) -> RemotingCommand:
        while (frame := self._frames.next_frame()) is None:
            self._frames.feed(bytes(await self._stream.receive_some()))
        return decode_command(frame)

    def pull(self, **fields: object) -> RemotingCommand:
        ext = self.consuming.ext_fields(**fields)
        return RemotingCommand(RequestCode.PULL_MESSAGE, PULL, ext_fields=ext)

    def update(self, offset: int) -> RemotingCommand:
        ext = {"consumerGroup": "CG", "topic": "T", "queueId": "0", "commitOffset": str(offset)}
        return RemotingCommand(RequestCode.UPDATE_CONSUMER_OFFSET, UPDATE, ext_fields=ext)

    @property
    def committed(self) -> int:
        return self.broker.offsets.query("CG", "T", 0)


@pytest.fixture
async def connected(consuming: Any, nursery: trio.Nursery) -> Connected:
    broker = consuming.broker
    broker.groups.find("CG", "c")
    update = broker.processor(UpdateConsumerOffset)
    server = Server(Dispatcher([consuming.pull_message, update]))
    near, far = trio.testing.memory_stream_pair()
    nursery.start_soon(server.serve_wire, StreamWire(far), "127.0.0.1:50000")
    return Connected(consuming, near)


async def test_a_held_pull_does_not_take_back_what_was_committed_meanwhile(
    connected: Connected, autojump_clock: Any
) -> None:
    held = connected.pull(sysFlag=SUBSCRIPTION | SUSPEND | COMMIT, commitOffset=3)
    await connected.send(held, connected.update(9))
    assert (await connected.answer()).opaque == UPDATE
    await trio.testing.wait_all_tasks_blocked()
    assert connected.consuming.arrivals.waiting == 1
    assert connected.committed == 9
    connected.consuming.put()
    answer = await connected.answer()
    assert (answer.opaque, answer.code) == (PULL, 0)
    assert connected.committed == 9


async def test_a_message_that_lands_before_the_pull_is_held_is_not_missed(
    connected: Connected, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision falls in the read loop, the waiting begins in a task."""
    end = connected.consuming.broker.store.read

    def read(*args: Any) -> Any:
        monkeypatch.setattr(connected.broker.store, "read", end)
        found = end(*args)
        connected.consuming.put()
        return found

    monkeypatch.setattr(connected.broker.store, "read", read)
    began = trio.current_time()
    await connected.send(connected.pull(sysFlag=SUBSCRIPTION | SUSPEND))
    assert (await connected.answer()).code == 0
    assert trio.current_time() == began


async def test_a_reset_that_comes_before_the_pull_is_held_is_not_missed(
    connected: Connected, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes in the same receive: nobody waits yet who could be woken."""
    connected.consuming.put()
    end = connected.broker.store.read

    def read(*args: Any) -> Any:
        monkeypatch.setattr(connected.broker.store, "read", end)
        found = end(*args)
        connected.broker.offsets.assign_reset("CG", "T", 0, 0)
        return found

    monkeypatch.setattr(connected.broker.store, "read", read)
    began = trio.current_time()
    await connected.send(connected.pull(sysFlag=SUBSCRIPTION | SUSPEND, queueOffset=1))
    assert (await connected.answer()).code == ResponseCode.PULL_OFFSET_MOVED
    assert trio.current_time() == began


@pytest.fixture
def five(connected: Connected) -> Connected:
    for _ in range(5):
        connected.consuming.put(body=b"12345")
    return connected


def counted(broker: Any) -> tuple[int, int, int, tuple[int, int, int]]:
    """What the counters say: pulls that found something, messages, pulls in vain, of the group."""
    traffic = broker.traffic
    return traffic.found, traffic.pulled, traffic.missed, traffic.pulls["T@CG"].values()


async def test_a_cold_pull_counts_once(five: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    await five.send(five.pull())
    hot = await five.answer()
    assert counted(five.broker)[:3] == (1, 5, 0)
    monkeypatch.setattr(five.broker.store, "join", lambda found: None)
    monkeypatch.setattr(five.broker.store, "load", lambda extents: None)
    await five.send(five.pull(sysFlag=SUBSCRIPTION | COMMIT, commitOffset=3))
    cold = await five.answer()
    assert cold.body == hot.body
    size = len(hot.body)
    assert counted(five.broker) == (2, 10, 0, (10, 2 * size, 2))
    assert five.committed == 3


async def test_what_is_deleted_while_it_is_read_is_searched_for_again_and_counts_once(
    five: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = five.broker.store
    join, load = store.join, store.load

    def deleted(extents: Any) -> Any:
        monkeypatch.setattr(store, "join", join)
        monkeypatch.setattr(store, "load", load)
        raise MessagesGone("its file was deleted")

    monkeypatch.setattr(store, "join", lambda found: None)
    monkeypatch.setattr(store, "load", lambda extents: None)
    monkeypatch.setattr(store, "hold", deleted)
    pull = five.pull(sysFlag=SUBSCRIPTION | COMMIT, commitOffset=3)
    await five.send(pull, five.update(9))
    answers = [await five.answer(), await five.answer()]
    assert [(answer.opaque, answer.code) for answer in answers] == [(UPDATE, 0), (PULL, 0)]
    assert answers[1].body.count(b"12345") == 5
    assert counted(five.broker)[:3] == (1, 5, 0)
    assert five.committed == 9


async def test_a_reset_is_taken_by_the_pull_that_wakes_and_by_no_other(
    connected: Connected, autojump_clock: Any
) -> None:
    await connected.send(connected.pull(sysFlag=SUBSCRIPTION | SUSPEND))
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(3):
        connected.consuming.put()
    connected.broker.offsets.assign_reset("CG", "T", 0, 2)
    answer = await connected.answer()
    assert (answer.code, answer.ext_fields["nextBeginOffset"]) == (21, "2")
    await connected.send(connected.pull(queueOffset=2))
    assert (await connected.answer()).code == 0
