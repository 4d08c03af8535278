"""Messages to one client never mix, and a torn one is the last."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from trimq.proxy.client_stream import ClientStream
from trimq.proxy.grpc.methods import Gone, Message


class Slow:
    """Takes two steps for a message."""

    def __init__(self) -> None:
        self.pieces: list[Any] = []
        self.is_stuck = False

    async def send(self, message: Message) -> None:
        self.pieces.append(message)
        await trio.sleep(1)
        if self.is_stuck:
            await trio.sleep_forever()
        self.pieces.append(message)


async def test_one_after_the_other(autojump_clock: object) -> None:
    out, broken = Slow(), []
    stream = ClientStream(out, lambda: broken.append(1))
    messages: list[Any] = ["a", "b", "c"]
    async with trio.open_nursery() as nursery:
        for message in messages:
            nursery.start_soon(stream.send, message)
    pairs = [out.pieces[at : at + 2] for at in range(0, 6, 2)]
    assert sorted(pairs) == [["a", "a"], ["b", "b"], ["c", "c"]]
    assert not broken


async def test_a_torn_message_is_the_last(autojump_clock: object) -> None:
    out, broken = Slow(), []
    out.is_stuck = True
    stream = ClientStream(out, lambda: broken.append(1))
    message: Any = "a"

    async def send(seconds: float) -> None:
        with trio.move_on_after(seconds):
            await stream.send(message)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send, 10)
        await trio.testing.wait_all_tasks_blocked()
        # Nothing of this one has left: it breaks nothing.
        await send(2)
        assert not broken
    assert broken == [1]
    with pytest.raises(Gone):
        await stream.send(message)
    assert out.pieces == ["a"]
