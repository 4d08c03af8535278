"""What POP notes in the revive topic: keys and bodies of its records (PopMessageProcessor, AckMessageProcessor).

Bodies are put together here, in FastJSON's order, as one is made for each pop and each acknowledgement; tests hold
them equal to `encode_body` of the Structs that they are read as.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from msgspec.json import encode

CHECKPOINT: Final = "ck"
ACK: Final = "ack"
BATCH_ACK: Final = "bAck"
# PopAckConstants.ackTimeInterval: a checkpoint is delivered that much earlier than its acknowledgements.
EARLIER: Final = 1000
_BITS_OF: Final = [[bit for bit in range(8) if byte >> bit & 1] for byte in range(256)]


class Popped:
    """Which checkpoint: the messages from `first` on that one pop got of a queue, and when that was."""

    __slots__ = ("broker_name", "first", "group", "pop_time", "queue_id", "topic")

    def __init__(
        self,
        group: str,
        topic: str,
        queue_id: int,
        first: int,
        pop_time: int,
        broker_name: str | None,
    ) -> None:
        self.group = group
        self.topic = topic
        self.queue_id = queue_id
        self.first = first
        self.pop_time = pop_time
        self.broker_name = broker_name

    def key(self, offset: int, kind: str) -> str:
        # A batch ack may name no broker: Java writes null into the text.
        name = "null" if self.broker_name is None else self.broker_name
        return f"{self.topic}@{self.queue_id}@{offset}@{self.group}@{self.pop_time}@{name}@{kind}"


def checkpoint_key(popped: Popped) -> str:
    return popped.key(popped.first, CHECKPOINT)


def ack_key(popped: Popped, offset: int = -1) -> str:
    """Of a batch without the offset: 5.5.0 replaces its key by that of an ack of the offset -1."""
    return popped.key(offset, ACK)


def checkpoint_body(
    popped: Popped, distances: list[int], invisible: int, suspend: bool = False
) -> bytes:
    """A PopCheckPoint. `distances` of its messages from the first; `invisible`: for how many milliseconds."""
    return (
        f'{{"bm":0,{_broker(popped)}"c":{_text(popped.group)},"d":{encode(distances).decode()}'
        f',"it":{invisible},"n":{len(distances)},"pt":{popped.pop_time},"q":{popped.queue_id}'
        f',"reviveTime":{popped.pop_time + invisible},"ro":0,"so":{popped.first}'
        f',"sp":{"true" if suspend else "false"},"t":{_text(popped.topic)}}}'
    ).encode()


def ack_body(popped: Popped, offset: int) -> bytes:
    """An AckMsg of one message."""
    return f'{{"ao":{offset},{_rest(popped)}'.encode()


def batch_ack_body(popped: Popped, offsets: list[int]) -> bytes:
    """An AckMsg of several."""
    return f'{{"ao":-1,"aol":{encode(offsets).decode()},{_rest(popped)}'.encode()


def _rest(popped: Popped) -> str:
    return (
        f'{_broker(popped)}"c":{_text(popped.group)},"pt":{popped.pop_time},"q":{popped.queue_id}'
        f',"so":{popped.first},"t":{_text(popped.topic)}}}'
    )


def _broker(popped: Popped) -> str:
    return "" if popped.broker_name is None else f'"bn":{_text(popped.broker_name)},'


def _text(text: str) -> str:
    return encode(text).decode()


def bits(data: bytes, most: int) -> list[int]:
    """The numbers of the bits that are set, lowest first, below `most` (java.util.BitSet.valueOf)."""
    found: list[int] = []
    start = 0
    for byte in data[: (most + 7) // 8]:
        if byte == 255:
            found.extend(range(start, start + 8))
        else:
            for bit in _BITS_OF[byte]:
                found.append(start + bit)
        start += 8
    while found and found[-1] >= most:
        found.pop()
    return found
