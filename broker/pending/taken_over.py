"""A store that was taken over, as the counters see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from trimq.broker.pending.wheel import Wheel, look_at_wheel
from trimq.broker.tables.kept import read_table
from trimq.codec.bodies.offsets import ConsumerOffsetSerializeWrapper
from trimq.codec.bodies.topics import TopicConfig, TopicConfigSerializeWrapper
from trimq.codec.errors import CodecError
from trimq.codec.names import REVIVE_TOPIC_PREFIX
from trimq.codec.records.record import Record, parse_record
from trimq.store.message_store import MessageStore

# At most this many records are read for one kind; a start should not wait for more.
MOST_READ: Final = 10_000


@dataclass(frozen=True, slots=True)
class Found:
    """How many there are; `at_most` if some could not be examined."""

    count: int
    at_most: bool = False

    def __str__(self) -> str:
        return f"up to {self.count}" if self.at_most else str(self.count)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of pending messages: its names in a sentence (one, several), and what counts them."""

    one: str
    several: str
    count: Callable[[TakenOver], Found]

    def said(self, found: Found) -> str:
        return f"{found} {self.one if found.count == 1 else self.several}"


class TakenOver:
    """The open store with its `config` folder, whose files are read on demand. Blocks."""

    def __init__(self, store: MessageStore, root: Path) -> None:
        self.store = store
        self.root = root

    @cached_property
    def offsets(self) -> dict[str, dict[int, int]]:
        """topic@group -> queue -> committed offset."""
        path = self.root / "config" / "consumerOffset.json"
        loaded = read_table(path, ConsumerOffsetSerializeWrapper)
        return {} if loaded is None else loaded.offset_table

    @cached_property
    def topics(self) -> dict[str, TopicConfig]:
        loaded = read_table(self.root / "config" / "topics.json", TopicConfigSerializeWrapper)
        return {} if loaded is None else dict(loaded.topic_config_table)

    @cached_property
    def revive_topics(self) -> list[str]:
        """Where POP keeps its records; more than one if the cluster once had another name."""
        names = {*self.topics, *self.store.topics()}
        return sorted(name for name in names if name.startswith(REVIVE_TOPIC_PREFIX))

    @cached_property
    def wheel(self) -> Wheel:
        return look_at_wheel(self, MOST_READ)

    def committed(self, topic: str, group: str, queue_id: int) -> int:
        """How far the group is; the beginning of the queue, if that is missing or less."""
        offset = self.offsets.get(f"{topic}@{group}", {}).get(queue_id, 0)
        return max(offset, self.store.min_offset(topic, queue_id))

    def record(self, physical_offset: int) -> Record | None:
        """The record there, or None when it is gone."""
        data = self.store.record_at(physical_offset)
        if data is None:
            return None
        try:
            return parse_record(data)
        except CodecError:
            return None

    def records(self, topic: str, queue_id: int, begin: int, most: int) -> Iterator[Record]:
        """The queue's records from `begin` on, up to a limit."""
        end = min(self.store.max_offset(topic, queue_id), begin + most)
        for offset in range(begin, end):
            entry = self.store.queue_entry(topic, queue_id, offset)
            found = None if entry is None else self.record(entry.physical_offset)
            if found is not None:
                yield found
