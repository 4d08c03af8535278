"""How far each group has read each queue (ConsumerOffsetManager): `config/consumerOffset.json`.

With light queues the file is `lmqConsumerOffset.json`; as long as there is none, it begins with what
`consumerOffset.json` has. (In RocketMQ every group begins anew then.)

Offsets are kept as sent: nothing is clamped to what the queue holds. Beside the committed ones
there are pull offsets (how far messages have been handed out, for statistics) and reset offsets
(set by an operator, answered until the consumer has pulled from there); both in memory only.

What POP hands out moves offsets by records of the log, so the file also says where the log ended when it was
written (a key that RocketMQ does not know, and drops): records from there on move offsets once more at start. An
offset that was moved back must not be moved on again by older records: after that the file is written soon.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from collections.abc import Callable, Container, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Protocol

import trio

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.commit_guard import CommitGuard
from trimq.broker.groups.lmq_offsets import LightOffsets
from trimq.broker.groups.offset_table import OffsetTable, Queues
from trimq.broker.groups.read_topics import ReadTopics
from trimq.broker.pause import Pause
from trimq.broker.steps import Steps
from trimq.broker.tables.data_version import encoded_version, new_version, next_version
from trimq.broker.tables.file import TableFile
from trimq.broker.tables.pairs import SEPARATOR, Pairs
from trimq.codec.bodies.offsets import LmqConsumerOffsetSerializeWrapper
from trimq.codec.names import LIGHT_QUEUE_ID, is_light

log = logging.getLogger("trimq.broker")
NOT_FOUND = -1


class FileListener(Protocol):
    """Wants to know what the file on the disk has."""

    def noting(self) -> None:
        """It is being encoded: what it has of later changes, nobody knows."""

    def noted(self) -> None:
        """That one is on the disk now."""


# Called with group, topic, queue and offset.
ResetListener = Callable[[str, str, int, int], None]


class ConsumerOffsets:
    """Committed, pull and reset offsets of all groups."""

    def __init__(
        self, config: BrokerConfig, directory: Path, clock: Clock, has_light: bool = False
    ) -> None:
        """`directory` is the store's `config` folder. `has_light`: groups may be named as light queues are."""
        self._config = config
        self._clock = clock
        # Of the three tables that follow.
        self._pairs = Pairs()
        self._committed = OffsetTable(self._pairs)
        self._pulled: dict[str, Queues] = {}
        self._reset: dict[str, Queues] = {}
        self._read = ReadTopics()
        self._light = LightOffsets() if has_light else None
        self._file = TableFile(directory / "consumerOffset.json", self._pieces_of_file)
        self._older: TableFile | None = None
        if has_light:
            self._older = self._file
            self._file = TableFile(directory / "lmqConsumerOffset.json", self._pieces_of_file)
        self._commits = 0
        self._changed = False
        self.data_version = new_version(clock)
        # Where the commit log ends: noted in the file, what the loaded one says, and the one on the disk.
        self.log_end: Callable[[], int] | None = None
        self.noted_log_end: int | None = None
        self.written_log_end: int | None = None
        self.was_slave = False
        """The file is of a store that followed another broker's log, until now at least."""
        self._being_noted: int | None = None
        self._is_late = False
        self._turned = trio.Event()
        self._soon = Pause()
        self._writing = trio.Lock()
        self._reset_listeners: list[ResetListener] = []
        self._back_listeners: list[ResetListener] = []
        self._file_listeners: list[FileListener] = []
        self._guarded: Container[str] = ()
        self._guard: CommitGuard | None = None
        # Of guarded topics, since the start: when each queue was committed last.
        self._last_commits: dict[str, dict[int, int]] = {}

    def guard(self, topics: Container[str], guard: CommitGuard) -> None:
        """From now on commits to these topics, whichever they are at that time, are up to the guard."""
        self._guarded = topics
        self._guard = guard

    def add_back_listener(self, listener: ResetListener) -> None:
        """Told of each committed offset that is before the one that was there."""
        self._back_listeners.append(listener)

    def add_file_listener(self, listener: FileListener) -> None:
        self._file_listeners.append(listener)

    def add_reset_listener(self, listener: ResetListener) -> None:
        """Called when an operator has moved a group in a queue."""
        self._reset_listeners.append(listener)

    # --- committed offsets

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """The reset offset, if there is one, or the committed one, or -1."""
        key = f"{topic}@{group}"
        if self._light is not None and is_light(group):
            return self._light.offsets.get(key, NOT_FOUND)
        if self._reset and self.keeps_resets(topic):
            reset = self._reset.get(key, {}).get(queue_id)
            if reset is not None:
                return reset
        queues = self._committed.queues.get(key)
        return NOT_FOUND if queues is None else queues.get(queue_id, NOT_FOUND)

    def query_all(self, group: str, topic: str) -> Mapping[int, int] | None:
        if self._light is not None and is_light(group):
            offset = self._light.offsets.get(f"{topic}@{group}")
            return None if offset is None else {LIGHT_QUEUE_ID: offset}
        return self._committed.queues.get(f"{topic}@{group}")

    def table_size(self) -> int:
        """How many pairs of a topic and a group have offsets."""
        return len(self._committed.queues)

    def commit(self, client: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        guard = self._guard if topic in self._guarded else None
        if guard is not None and not guard.may_commit(client, group, topic, queue_id, offset):
            return
        self._commit(client, group, topic, queue_id, offset)
        if guard is not None:
            times = self._last_commits.setdefault(f"{topic}@{group}", {})
            times[queue_id] = self._clock.millis()
            guard.committed(group, topic)

    def last_commit(self, group: str, topic: str, queue_id: int) -> int:
        """When a queue of a guarded topic was committed, in milliseconds since 1970; 0: not since the start."""
        return self._last_commits.get(f"{topic}@{group}", {}).get(queue_id, 0)

    def _commit(self, client: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        key = f"{topic}@{group}"
        self._changed = True
        if self._light is not None and is_light(group):
            old = self._light.commit(key, offset)
            if old is not None and offset < old:
                self.turn()
            return
        if key not in self._committed.queues:
            self._read.add(key)
        old = self._committed.put(key, queue_id, offset)
        if old is not None and offset < old:
            log.warning(
                "offset went back: group=%s topic=%s queue=%d from=%d to=%d client=%s",
                group,
                topic,
                queue_id,
                old,
                offset,
                client,
            )
            self.turn()
            for listener in self._back_listeners:
                listener(group, topic, queue_id, offset)
        self._commits += 1
        if self._commits % self._config.consumer_offset_update_version_step == 0:
            next_version(self.data_version, self._clock)

    # --- pull offsets

    def commit_pull(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """How far messages have been handed out; called for every pull."""
        key = f"{topic}@{group}"
        queues = self._pulled.get(key)
        if queues is None:
            queues = self._pulled[key] = {}
            self._pairs.add(key)
        queues[queue_id] = offset

    def query_pull(self, group: str, topic: str, queue_id: int) -> int:
        """The pull offset, or the committed one where there is none."""
        queues = self._pulled.get(f"{topic}@{group}")
        found = None if queues is None else queues.get(queue_id)
        return self.query(group, topic, queue_id) if found is None else found

    def clear_pull(self, group: str, topic: str) -> None:
        self._pulled.pop(f"{topic}@{group}", None)

    # --- reset offsets

    def assign_reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """An operator's offset: answered to queries and pulls until a pull has taken it."""
        if not topic or not group or queue_id < 0 or offset < 0:
            log.warning(
                "reset offset refused: group=%s topic=%s queue=%d offset=%d",
                group,
                topic,
                queue_id,
                offset,
            )
            return
        if self._guard is not None and topic in self._guarded:
            self._guard.moving(group, topic, {queue_id: offset}, told=True)
        self._tell(group, topic, queue_id, offset)

    def _tell(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        key = f"{topic}@{group}"
        self._reset.setdefault(key, {})[queue_id] = offset
        self._pairs.add(key)
        self._changed = True
        self.turn()
        self._put_reset(group, topic, queue_id, offset)
        for listener in self._reset_listeners:
            listener(group, topic, queue_id, offset)

    def _put_reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        key = f"{topic}@{group}"
        if self._light is not None and is_light(topic) and is_light(group):
            if key in self._light.offsets:
                self._light.commit(key, offset)
            return
        if key not in self._committed.queues:
            self._read.add(key)
        self._committed.put(key, queue_id, offset)

    def keeps_resets(self, topic: str) -> bool:
        """Whether the broker tells consumers of resets. Guarded topics know no other kind, whatever the setting."""
        return self._config.use_server_side_reset_offset or topic in self._guarded

    def has_reset(self, group: str, topic: str, queue_id: int) -> bool:
        return bool(self._reset) and queue_id in self._reset.get(f"{topic}@{group}", {})

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """The reset offset, which this consumes. StoreError: not now."""
        if not self._reset:
            return None
        key = f"{topic}@{group}"
        queues = self._reset.get(key)
        if queues is None or queue_id not in queues:
            return None
        if self._guard is not None and topic in self._guarded:
            self._guard.taking(group, topic, queue_id)
        taken = queues.pop(queue_id)
        if not queues:
            del self._reset[key]
        return taken

    def resets(self, group: str, topic: str) -> Mapping[int, int]:
        """Queue -> offset, for those that no consumer has taken yet."""
        return self._reset.get(f"{topic}@{group}", {})

    def restore_reset(
        self, group: str, topic: str, moved: Mapping[int, int], pending: Mapping[int, int]
    ) -> None:
        """At start: a reset that is in the log. `moved`: what the file may not have; all that is `pending`."""
        key = f"{topic}@{group}"
        if key not in self._committed.queues and moved:
            self._read.add(key)
        for queue_id, offset in moved.items():
            self._committed.put(key, queue_id, offset)
        self._changed = True
        self._reset.pop(key, None)
        if pending:
            self._reset[key] = dict(pending)
            self._pairs.add(key)

    # --- who reads what

    def topics_of(self, group: str) -> set[str]:
        """Topics that a group has offsets for (whichTopicByConsumer)."""
        return self._read.of_group(group)

    def groups_of(self, topic: str) -> set[str]:
        """Groups that have offsets for a topic (whichGroupByTopic)."""
        return set(self.each_group_of(topic))

    def each_group_of(self, topic: str) -> Iterator[str]:
        """The same one by one."""
        for key in self._pairs.of_topic(topic):
            group = key[len(topic) + 1 :]
            if self._read.has(group, topic):
                yield group

    def is_read(self, topic: str, queue_id: int) -> bool:
        """Whether a group has got somewhere in this queue. Not for light queues."""
        return any(self.query(group, topic, queue_id) > 0 for group in self.groups_of(topic))

    def light_topics(self) -> set[str]:
        """The light queues in which groups have offsets."""
        light = {} if self._light is None else self._light.offsets
        return {key.partition(SEPARATOR)[0] for key in light}

    def copy_group(self, source: str, target: str, topic: str) -> None:
        """Give a group another's offsets (cloneOffset). Of a guarded topic, consumers that are there hear of it."""
        queues = self._committed.queues.get(f"{topic}@{source}")
        if queues is None:
            return
        guard = self._guard if topic in self._guarded else None
        if guard is not None and guard.has_to_tell(target, topic, queues):
            moved = {queue_id: offset for queue_id, offset in queues.items() if offset >= 0}
            guard.moving(target, topic, moved, told=True)
            for queue_id, offset in moved.items():
                self._tell(target, topic, queue_id, offset)
            return
        if guard is not None:
            guard.moving(target, topic, queues)
        key = f"{topic}@{target}"
        self._read.add(key)
        self._committed.replace(key, dict(queues))
        self._changed = True

    def forget_topic(self, topic: str) -> Steps[None]:
        """A deleted topic's offsets (cleanOffsetByTopic)."""
        for key in self._pairs.of_topic(topic):
            self._forget(key)
            log.info("offsets deleted with their topic: offsets=%s", key)
            yield
        if self._light is not None:
            count = yield from self._light.forget_topic(topic)
            self._light_forgotten(count)

    def forget_group(self, group: str) -> Steps[None]:
        """A deleted group's offsets, all kinds (removeOffset)."""
        keys = self._pairs.of_group(group)
        for key in keys:
            self._forget(key)
            yield
        if self._light is not None:
            count = yield from self._light.forget_group(group)
            self._light_forgotten(count)
        log.info("offsets deleted with their group: group=%s topics=%d", group, len(keys))

    # --- files

    def load(self) -> None:
        """Read the file, if there is one. Blocks: before the loop runs.

        As the real one it takes only committed offsets and the version from the file.
        """
        loaded = self._file.load_as(LmqConsumerOffsetSerializeWrapper)
        if loaded is None and self._older is not None:
            loaded = self._older.load_as(LmqConsumerOffsetSerializeWrapper)
            self._changed = loaded is not None
        if loaded is None:
            return
        if self._light is not None:
            for key, offset in (loaded.lmq_offset_table or {}).items():
                self._light.commit(key, offset)
        for key, queues in loaded.offset_table.items():
            self._read.add(key)
            self._committed.replace(key, dict(queues))
        if loaded.data_version is not None:
            self.data_version = loaded.data_version
        self.noted_log_end = self._being_noted = loaded.trimq_log_end

    def begin(self) -> None:
        """After `load`: a file that is new, or RocketMQ's, says where the log ends from now on. What pops move until it
        is written the next time would be forgotten with a crash otherwise. Blocks: before the loop runs.
        """
        noted, log_end = self.noted_log_end, self.log_end
        # A power loss may have taken the end of the log: what comes in its place is not known to the file.
        if noted is None or (log_end is not None and noted > log_end()):
            self._file.begin()
            self.written_log_end = self._being_noted if self._file.saved else None
        else:
            self.written_log_end = self.noted_log_end

    def lower(self, end_of: Callable[[str, int], int]) -> None:
        """The log was cut: nobody goes on behind a queue's end, or messages to come would be passed over."""
        for group, topic, queue_id, _, end in self._behind(end_of):
            self.commit("cut", group, topic, queue_id, end)
        self._pulled.clear()

    def clamp(self, end_of: Callable[[str, int], int]) -> None:
        """The same at the start of a master: it may have been a slave, to which its master's offsets came sooner than
        its log. Before the topics' guard knows anything."""
        for group, topic, queue_id, offset, end in self._behind(end_of):
            log.warning(
                "offset behind its queue's end, its group goes on at the end: group=%s topic=%s queue=%d from=%d to=%d",
                group,
                topic,
                queue_id,
                offset,
                end,
            )
            self._commit("start", group, topic, queue_id, end)

    def begin_without(self, has_queues: Callable[[str], bool]) -> None:
        """At the start of a master: in a topic that has no queue at all, its folder being gone and its records too,
        messages get offsets from 0 on. Groups begin there, or they would pass over as many as they had read before."""
        for key, queues in list(self._committed.queues.items()):
            topic, _, group = key.partition(SEPARATOR)
            if has_queues(topic):
                continue
            for queue_id, offset in list(queues.items()):
                if offset > 0:
                    log.warning(
                        "the queues are gone, a group begins anew: topic=%s queue=%d",
                        topic,
                        queue_id,
                    )
                    self._commit("start", group, topic, queue_id, 0)
        if self._light is not None:
            for key in [key for key, offset in self._light.offsets.items() if offset > 0]:
                if not has_queues(key.partition(SEPARATOR)[0]):
                    self._light.commit(key, 0)

    def _behind(
        self, end_of: Callable[[str, int], int]
    ) -> Iterator[tuple[str, str, int, int, int]]:
        """Group, topic, queue, offset and the queue's end, which is before it."""
        light = {} if self._light is None else self._light.offsets
        offsets = [
            *((key, list(queues.items())) for key, queues in self._committed.queues.items()),
            *((key, [(LIGHT_QUEUE_ID, offset)]) for key, offset in light.items()),
        ]
        for key, queues in offsets:
            topic, _, group = key.partition(SEPARATOR)
            for queue_id, offset in queues:
                if offset > (end := end_of(topic, queue_id)):
                    yield group, topic, queue_id, offset, end

    def merge(self, master: LmqConsumerOffsetSerializeWrapper) -> Steps[None]:
        """Take over the master's offsets; what it does not have stays."""
        for key, queues in master.offset_table.items():
            self._merge(key, queues)
            yield
        if self._light is not None:
            for key, offset in (master.lmq_offset_table or {}).items():
                self._light.commit(key, offset)
                self._changed = True
                yield
        if master.data_version is not None and master.data_version != self.data_version:
            self.data_version = master.data_version
            self._changed = True

    def _merge(self, key: str, queues: Queues) -> None:
        old = self._committed.queues.get(key)
        if old is None:
            self._read.add(key)
        elif all([old.get(queue_id) == offset for queue_id, offset in queues.items()]):
            return
        self._committed.replace(key, {**(old or {}), **queues})
        self._changed = True

    def turn(self) -> None:
        """What is in the file must not be taken for newer than this change: it is written soon."""
        self._turned.set()

    def hurry(self) -> None:
        """A start would have to read too much again: the file is written now, if only for where the log ends."""
        self._is_late = True
        self._turned.set()
        self._soon.end()

    async def keep_written(self, seconds: float, soon: float = 0.1) -> None:
        """Until cancelled: the file follows every so often, and soon after a turn."""
        while True:
            with trio.move_on_after(seconds):
                await self._turned.wait()
                await self._soon.wait(soon)
            self._turned = trio.Event()
            await self.persist_in_steps()

    async def persist_in_steps(self) -> None:
        """Write what has changed since the last time; no step holds the loop for long.

        What was changed before the call is on the disk after it; a failure is logged, and the next call tries again.
        """
        async with self._writing:
            if not self._changed and not self._is_late:
                return
            self._changed, self._is_late, saved = False, False, False
            try:
                await self._file.write_in_steps()
                saved = self._file.saved
            finally:
                if saved:
                    self.written_log_end = self._being_noted
                    for listener in self._file_listeners:
                        listener.noted()
                else:
                    self._changed = True

    def persist(self) -> None:
        """Write everything at once and make it durable. Blocks: for the shutdown."""
        self._changed = False
        self._file.close()

    def encoded(self) -> Iterator[bytes]:
        """The table as JSON, for GET_ALL_CONSUMER_OFFSET."""
        return self._pieces(None)

    # --- inside

    def _light_forgotten(self, count: int) -> None:
        if count:
            self._changed = True
            self.turn()

    def _forget(self, key: str) -> None:
        self._committed.remove(key)
        self._pulled.pop(key, None)
        self._reset.pop(key, None)
        self._last_commits.pop(key, None)
        self._changed = True
        self.turn()
        self._read.remove(key)
        self._pairs.remove(key)

    def _pieces_of_file(self) -> Iterator[bytes]:
        """What comes while it is encoded may be in it as well: moving on to the same offset changes nothing."""
        if self.log_end is None:
            return self._pieces(None)
        self._being_noted = self.log_end()
        for listener in self._file_listeners:
            listener.noting()
        return self._pieces(self._being_noted)

    def _pieces(self, log_end: int | None) -> Iterator[bytes]:
        noted = b"" if log_end is None else f',\n\t"trimqLogEnd":{log_end}'.encode()
        head = f'{{\n\t"dataVersion":{encoded_version(self.data_version)},\n\t"groupTopicMap":'
        return chain(
            (head.encode(),),
            self._read.object_pieces(),
            self._light_pieces(),
            (b',\n\t"offsetTable":',),
            self._committed.members.object_pieces(),
            (noted + b"\n}",),
        )

    def _light_pieces(self) -> Iterator[bytes]:
        if self._light is not None:
            yield b',\n\t"lmqOffsetTable":'
            yield from self._light.members.object_pieces()
