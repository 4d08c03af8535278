"""Transactions that are open: half messages that nobody has committed or rolled back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from trimq.admin.messages.message import read_messages
from trimq.broker.records import fetch_buffers
from trimq.hand.looks.answers import HalfMessage
from trimq.hand.looks.messages import text_of
from trimq.hand.operation import HandError, Nothing, Operation

if TYPE_CHECKING:
    from trimq.hand.hand import Hand

_MOST: Final = 10_000
_MOST_BYTES: Final = 256 << 20


def operations(hand: Hand) -> list[Operation[Any]]:
    return [
        Operation(
            "looks/half_messages",
            Nothing,
            partial(_half_messages, hand),
            "Half messages whose transaction is open, the oldest first, and how often producers were asked about each.",
        )
    ]


async def _half_messages(hand: Hand, _: Nothing) -> list[HalfMessage]:
    pending = hand.broker.common.features.transactions.pending
    if len(pending) > _MOST:
        raise HandError(f"{len(pending)} transactions are open: more than one answer may have")
    halves = {
        half.physical_offset: half
        for half in map(pending.at, pending.offsets())
        if half is not None
    }
    found = []
    for data in await fetch_buffers(hand.context.store, [*halves], _MOST_BYTES):
        for message in read_messages(bytes(data)):
            half = halves[message.physical_offset]
            found.append(
                HalfMessage(
                    topic=half.topic,
                    id=message.message_id,
                    born_millis=half.born,
                    checks=max(half.checks, 0),
                    keys=message.keys,
                    text=text_of(message.body),
                )
            )
    return sorted(found, key=lambda one: one.born_millis)
