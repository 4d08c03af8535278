"""The messages of a topic, as they are stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from trimq.admin.messages.message import Message, read_messages, unwrapped
from trimq.broker.records import fetch_buffers
from trimq.codec.errors import CodecError
from trimq.hand.looks.answers import SeenMessage
from trimq.hand.operation import HandError
from trimq.store.message_store import MessageStore

# What one answer may have: more is for those who consume.
_MOST_BYTES: Final = 64 << 20
_SHOWN: Final = 5
_LONGEST_TEXT: Final = 60


def count(store: MessageStore, topic: str) -> int:
    """How many messages the topic has. Quick: it reads none."""
    total = 0
    for queue_id in store.queues(topic):
        low, high = store.bounds(topic, queue_id)
        total += max(high - max(low, 0), 0)
    return total


async def last(store: MessageStore, topic: str, most: int) -> list[SeenMessage]:
    """The last `most` messages of a topic in the order in which they were stored. HandError when they are too long."""
    positions: set[int] = set()
    size = 0
    for queue_id in store.queues(topic):
        low, high = store.bounds(topic, queue_id)
        for offset in range(max(low, high - most, 0), high):
            entry = store.queue_entry(topic, queue_id, offset)
            if entry is not None and entry.physical_offset not in positions:
                positions.add(entry.physical_offset)
                size += entry.size
    newest = sorted(positions)[-most:]
    if size > _MOST_BYTES:
        raise HandError(
            f"the messages of topic {topic} have {size} bytes, more than one answer may: ask for fewer with `most`"
        )
    return (await read(store, newest))[-most:]


async def read(store: MessageStore, positions: list[int]) -> list[SeenMessage]:
    """The messages of the records that begin there; those that are gone are left out."""
    found: list[SeenMessage] = []
    for data in await fetch_buffers(store, positions, 2 * _MOST_BYTES):
        try:
            for message in read_messages(bytes(data)):
                found += map(seen, unwrapped(message))
        except CodecError as error:
            raise HandError(f"a stored message cannot be read: {error}") from error
    return found


def seen(message: Message) -> SeenMessage:
    return SeenMessage(
        topic=message.topic,
        queue_id=message.queue_id,
        offset=message.queue_offset,
        position=message.physical_offset,
        id=message.message_id,
        tags=message.tags,
        keys=message.keys,
        properties=message.properties,
        body=message.body,
        text=text_of(message.body),
        store_millis=message.store_timestamp,
        born_millis=message.born_timestamp,
        reconsume_times=message.reconsume_times,
    )


def text_of(body: bytes) -> str | None:
    """None when it is not UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def described(messages: Iterable[SeenMessage]) -> str:
    """Some of them on one line, for an error."""
    all_of_them = list(messages)
    shown = "; ".join(_described(message) for message in all_of_them[-_SHOWN:])
    more = len(all_of_them) - _SHOWN
    return f"... {shown}" if more > 0 else shown


def _described(message: SeenMessage) -> str:
    said: str | bytes = message.body if message.text is None else message.text
    body = repr(said[:_LONGEST_TEXT])
    more = f"... ({len(message.body)} bytes)" if len(said) > _LONGEST_TEXT else ""
    words = [f"queue {message.queue_id} offset {message.offset}"]
    if message.tags:
        words.append(f"tags {message.tags}")
    if message.keys:
        words.append(f"keys {message.keys}")
    return f"{' '.join(words)} {body}{more}"
