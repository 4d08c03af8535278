"""The work that is measured, through MessageStore as the broker uses it, and how it is timed."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

PULL_COUNT: Final = 32
PULL_BYTES: Final = 4 << 20
BATCH: Final = 16
_CHUNK: Final = 50


class Ticks:
    """A clock for store timestamps: a millisecond later at each look."""

    def __init__(self, millis: int) -> None:
        self.millis = millis

    def __call__(self) -> int:
        self.millis += 1
        return self.millis


def open_store(config: StoreConfig, clock: Callable[[], int]) -> MessageStore:
    store = MessageStore(config, clock)
    store.open()
    return store


def write_behind(store: MessageStore) -> None:
    while store.write_derived():
        pass


def pull(store: MessageStore, topic: str, queue_id: int, offset: int) -> tuple[int, int]:
    """What one pull costs the store; the next offset and the bytes it got."""
    found = store.read(topic, queue_id, offset, PULL_COUNT, PULL_BYTES, None)
    buffers = store.load(found.extents)
    if buffers is None:
        # The broker does this in a worker thread.
        buffers = store.load_blocking(found.extents)
    size = sum(map(len, buffers))
    if size != found.byte_count or found.message_count == 0:
        raise RuntimeError(f"offset {offset} of {topic}: {size} of {found.byte_count} bytes")
    return found.next_begin_offset, size


def micros(act: Callable[[int], object], arguments: Sequence[int]) -> float:
    """Microseconds a call: the median over chunks of calls, so that a hiccup does not count."""
    chunks: list[float] = []
    for start in range(0, len(arguments), _CHUNK):
        chunk = arguments[start : start + _CHUNK]
        began = time.perf_counter()
        for argument in chunk:
            act(argument)
        chunks.append((time.perf_counter() - began) / len(chunk) * 1e6)
    return statistics.median(chunks)


def append_micros(store: MessageStore, messages: Iterable[Message]) -> float:
    """Microseconds a message, in batches as one receive of a busy broker gives them."""
    chunks: list[float] = []
    began = time.perf_counter()
    for number, message in enumerate(messages, 1):
        store.stage(message)
        if number % BATCH == 0:
            store.write_staged()
        if number % (BATCH * _CHUNK) == 0:
            now = time.perf_counter()
            chunks.append((now - began) / (BATCH * _CHUNK) * 1e6)
            began = now
    store.write_staged()
    # Too few for the median to mean anything, and nobody asks.
    return statistics.median(chunks) if chunks else 0.0


def spread(low: int, high: int, count: int, seed: int = 1) -> list[int]:
    """Places all over a range, the same ones in every run."""
    chosen = random.Random(seed)
    return [chosen.randrange(low, high) for _ in range(count)]


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
