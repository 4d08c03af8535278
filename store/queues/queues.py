"""All queues of the store, of every kind: found on disk lazily, written behind (`rounds`), and taken out.

A queue's files are examined when the queue is first used, so that a store with tens of thousands of
queues opens at once.

The broker knows from its topic table which topics have queues of another kind than the plain one;
what is found on disk counts too. A topic's kind never changes, but a topic may be deleted and
created again with another one.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from trimq.codec.names import LMQ_PREFIX
from trimq.store.config import StoreConfig
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import StoreError
from trimq.store.messages.effects import Effect
from trimq.store.queues.files.bounds import Believed
from trimq.store.queues.files.loading import unreadable_is_damage
from trimq.store.queues.files.removal import Leaving, Removal
from trimq.store.queues.kinds import PLAIN, bit_maps_of, kinds_of
from trimq.store.queues.light.names import LightNames
from trimq.store.queues.light.queue import light_kind
from trimq.store.queues.queue import FoundEntries, Queue, QueueKind
from trimq.store.queues.rounds import WriteRounds

# So many queues of a topic are deleted in one step.
_FEW_QUEUES: Final = 16
# Folders that a thread removes for a topic between two steps.
_MOST_FOLDERS: Final = 64


class Queues:
    __slots__ = (
        "_at_once",
        "_bounds",
        "_compacted",
        "_effects",
        "_kinds",
        "_leaving",
        "_light_kind",
        "_open_files",
        "_plain",
        "_special",
        "_topics",
        "_unchecked",
        "_unlisted",
        "bit_maps",
        "light",
        "rounds",
    )

    def __init__(self, config: StoreConfig, open_files: OpenFiles) -> None:
        self.rounds = WriteRounds(config.queue_buffer_bytes)
        self._compacted = str(config.root / "compaction" / "compactionLog")
        self._open_files = open_files
        self._kinds = kinds_of(config, open_files)
        self._plain = self._kinds[PLAIN]
        self.bit_maps = bit_maps_of(self._kinds)
        self._light_kind = light_kind(
            self._plain.roots[0], config.mapped_file_size_consume_queue, open_files
        )
        # The names of light queues that exist.
        self.light = LightNames()
        # The kind of topics whose queues are not plain: most stores have none.
        self._special: dict[str, QueueKind] = {}
        self._topics: dict[str, dict[int, Queue]] = {}
        self._effects: dict[str, Effect] = {}
        # Topics whose entries do not wait for the disk.
        self._at_once: set[str] = set()
        # Topics that have a folder and whose queues nobody has used yet.
        self._unlisted: set[str] = set()
        self._leaving = Leaving(open_files.unsynced)
        self._bounds = Believed()
        self._unchecked: list[str] = []

    # --- kinds

    def kind_of(self, topic: str) -> QueueKind:
        kind = self._special.get(topic)
        if kind is not None:
            return kind
        return self._light_kind if topic.startswith(LMQ_PREFIX) else self._plain

    def is_plain(self, topic: str) -> bool:
        """Whether its queues have an entry for each record, and no more."""
        return topic not in self._special

    def is_compacted(self, topic: str) -> bool:
        """Whether its messages are kept in files of their own too, which count by its queues' offsets.

        They may outlive the queues. Then these go on where the files end, so offsets may leap.
        """
        return os.path.isdir(f"{self._compacted}/{topic}")

    def exists(self, topic: str) -> bool:
        """Whether it has queues, loaded or not."""
        return topic in self._topics or topic in self._unlisted or self._leaving.stays(topic)

    def declare(self, topic: str, queue_type: str) -> None:
        """From now on the topic's queues are of the kind with this name: before it has a message.

        Of no kind that is not plain: what was found on disk decides.
        """
        kind = self._kinds.get(queue_type, self._plain)
        if kind is self._plain:
            return
        if self.kind_of(topic) is not kind:
            # Queues of another kind are left for the next start, which refuses them.
            self._topics.pop(topic, None)
            self._unlisted.discard(topic)
        self._special[topic] = kind

    def forget_all(self) -> dict[str, str]:
        """As before `open`, whatever is in memory; the queue types to open them with again."""
        declared = {topic: kind.name for topic, kind in self._special.items()}
        self._leaving.finish_all()
        self._topics = {}
        self._unlisted = set()
        self._unchecked = []
        self._special = {}
        self.light = LightNames()
        self.rounds.forget_all()
        return declared

    # --- finding

    def open(self, declared: Mapping[str, str]) -> None:
        """List the existing topics. `declared`: the `queue.type` of those that have one."""
        for topic, queue_type in declared.items():
            self.declare(topic, queue_type)
        for kind in self._kinds.values():
            for topic in folders_in(kind.roots[0]):
                if kind is self._plain:
                    if topic not in self._special:
                        self._unlisted.add(topic)
                elif numbered(kind.directory_of(topic)):
                    self._special[topic] = kind
                    self._unlisted.add(topic)
        self.light = LightNames()
        for topic in self._unlisted:
            if topic.startswith(LMQ_PREFIX):
                self.light.add(topic)
        self._refuse_two_kinds()

    def _refuse_two_kinds(self) -> None:
        """A topic must not have queues of two kinds (queueTypeShouldBe)."""
        for topic, kind in self._special.items():
            for other in self._kinds.values():
                directory = other.directory_of(topic)
                if other is not kind and numbered(directory):
                    raise StoreError(
                        f"{directory} has consume queues, but the queue.type of {topic} is "
                        f"{kind.name}. Remove that folder: the queues are then rebuilt from the "
                        "commit log"
                    )

    def believe(self, bounds: Believed, unchecked: bool) -> None:
        """Load queues by these bounds. `unchecked`: all must be checked before a checkpoint."""
        self._bounds = bounds
        self._unchecked = list(self._unlisted) if unchecked else []

    def log_begins_at(self, log_min: int) -> None:
        """Files of the commit log were deleted; queues loaded from now on take it into account."""
        self._bounds.log_min = log_min

    def find(self, topic: str, queue_id: int) -> Queue:
        """The queue as readers see it; if there is none, one that never has messages."""
        queues = self._topics.get(topic)
        if queues is None:
            if topic not in self._unlisted:
                return self.kind_of(topic).empty
            queues = self._load_topic(topic)
        queue = queues.get(queue_id)
        return self.kind_of(topic).empty if queue is None else queue

    def get(self, topic: str, queue_id: int) -> Queue:
        """The queue, created if it does not exist; no file is created before it has an entry."""
        queues = self._topics.get(topic)
        if queues is None:
            queues = self._load_topic(topic)
        queue = queues.get(queue_id)
        if queue is None:
            queue = self._make(topic, queue_id)
            queue.prepare()
            queues[queue_id] = queue
            if topic.startswith(LMQ_PREFIX):
                self.light.add(topic)
        return queue

    def _make(self, topic: str, queue_id: int) -> Queue:
        if topic in self._leaving:
            self._leaving.finish(topic)
        queue = self.kind_of(topic).make(topic, queue_id)
        queue.effect = self._effects.get(topic)
        queue.at_once = topic in self._at_once
        return queue

    def give_effect(self, topic: str, effect: Effect) -> None:
        """From now on each record of the topic has this effect when it is written, and its entry too."""
        self._effects[topic] = effect
        for queue in self.of_topic(topic):
            queue.effect = effect
        self.enter_at_once(topic)

    def enter_at_once(self, topic: str) -> None:
        """Only the broker itself reads this topic: its queues need not wait for the disk."""
        self._at_once.add(topic)
        for queue in self.of_topic(topic):
            queue.at_once = True

    def _load_topic(
        self, topic: str, found: Mapping[int, FoundEntries] | None = None
    ) -> dict[int, Queue]:
        """With the entries that were found, it is known where queues probably end."""
        if not topic or "/" in topic or "\0" in topic or topic in (".", ".."):
            raise StoreError(f"{topic!r} cannot be a topic's name")
        queues: dict[int, Queue] = {}
        if topic in self._unlisted:
            directory = self.kind_of(topic).directory_of(topic)
            with unreadable_is_damage(directory):
                for queue_id in numbered(directory):
                    queue = queues[queue_id] = self._make(topic, queue_id)
                    entries = found.get(queue_id) if found is not None else None
                    queue.load(self._bounds, -1 if entries is None else entries.first)
                    queue.prepare()
            self._unlisted.discard(topic)
        self._topics[topic] = queues
        return queues

    def not_loaded(self) -> list[str]:
        """Topics whose queues nobody has used yet."""
        return list(self._unlisted)

    def topics(self) -> list[str]:
        return sorted({*self._topics, *self._unlisted, *self._leaving.staying()})

    def topic_names(self) -> list[str]:
        """The same in any order: to sort a hundred thousand takes long."""
        others = self._unlisted.union(self._leaving.staying())
        return [*self._topics, *others.difference(self._topics)]

    def queue_ids(self, topic: str) -> list[int]:
        if topic in self._unlisted:
            self._load_topic(topic)
        return sorted(self._topics.get(topic, ()))

    def loaded_topics(self) -> list[str]:
        return list(self._topics)

    def of_topic(self, topic: str) -> list[Queue]:
        """The topic's queues that are loaded."""
        return list(self._topics.get(topic, {}).values())

    # --- recovering

    def restore(
        self, topic: str, found: Mapping[int, FoundEntries], complete: bool
    ) -> tuple[int, dict[int, int]]:
        """Give queues of a topic their newest entries.

        Returns how many were compared or are new, and the queues that lack entries before these, with
        the offset where they end. `complete`: no record comes before theirs.
        """
        known = topic in self._special or topic in self._topics or topic in self._unlisted
        if topic not in self._topics:
            self._load_topic(topic, found)
        count = 0
        behind: dict[int, int] = {}
        for queue_id, entries in found.items():
            queue = self.get(topic, queue_id)
            if queue.is_behind(entries, complete, known):
                behind[queue_id] = queue.max_offset
                continue
            count += queue.restore(entries, self._bounds, complete)
            if queue.unwritten_bytes:
                self.rounds.appended(queue)
        return count, behind

    def check_some(self, limit: int) -> bool:
        """Check some queues that were not used since a crash; True when no more are left.

        A queue may hold entries that point beyond the log's old end. They have to be removed before
        a checkpoint vouches for the records that are there now.
        """
        while self._unchecked and limit > 0:
            topic = self._unchecked.pop()
            if topic in self._unlisted:
                limit -= max(len(self._load_topic(topic)), 1)
        return not self._unchecked

    # --- deleting

    def delete_queue(self, queue: Queue) -> None:
        """Remove one queue; its offsets start again with its next message."""
        topic = queue.topic
        queues = self._topics[topic]
        parents = self._folders_of(topic) if len(queues) == 1 else []
        removal = Removal(f"queue {queue.queue_id} of {topic}", parents)
        queue.leave(removal)
        del queues[queue.queue_id]
        if not queues:
            del self._topics[topic]
            self.light.discard(topic)
        self.settle_removal(topic, self._leaving.begin(topic, removal))

    def take_out_most(self, topic: str) -> Iterator[Removal]:
        """The queues of a topic that is about to be deleted, some at a time, but for a few."""
        queue_ids = self.queue_ids(topic)[_FEW_QUEUES:]
        for first in range(0, len(queue_ids), _MOST_FOLDERS):
            queues = self._topics.get(topic, {})
            removal = Removal(f"queues of {topic}", [])
            for queue_id in queue_ids[first : first + _MOST_FOLDERS]:
                queue = queues.pop(queue_id, None)
                if queue is not None:
                    queue.leave(removal)
            yield self._leaving.begin(topic, removal)

    def take_out(self, topic: str) -> Removal | None:
        """A topic's queues, and what is known of their kind, are gone for everybody (deleteTopic): their folders are
        when the removal has run, in any thread. `settle` it then. None: it has no queues.
        """
        if topic in self._unlisted:
            self._load_topic(topic)
        failed = self._leaving.take_failed(topic)
        queues = self._topics.pop(topic, None)
        if queues is None and topic not in self._special and not failed:
            return None
        # Queues that wait for their turn have nothing to write any more, and a checkpoint knows
        # that files may be gone: with tens of thousands of them, searching for these would take
        # long.
        removal = Removal(f"the queues of {topic}", self._folders_of(topic))
        for queue in (queues or {}).values():
            queue.leave(removal)
        for one in failed:
            removal.take_over(one)
        self._special.pop(topic, None)
        self.light.discard(topic)
        return self._leaving.begin(topic, removal)

    def settle_removal(self, topic: str, removal: Removal) -> None:
        """It has run, or does so now. StoreError: its topic is still there, without messages, and what is left of it
        goes when it is deleted again, or before it has its next message.
        """
        try:
            self._leaving.settle(topic, removal)
        except StoreError:
            if topic.startswith(LMQ_PREFIX):
                self.light.add(topic)
            raise

    def finish_removals(self) -> None:
        """Remove on the loop what a thread has not. StoreError."""
        self._leaving.finish_all()

    def _folders_of(self, topic: str) -> list[str]:
        return [f"{root}/{topic}" for root in self.kind_of(topic).roots]


def folders_in(directory: str) -> list[str]:
    if not os.path.isdir(directory):
        return []
    with os.scandir(directory) as found:
        return [entry.name for entry in found if entry.is_dir()]


def numbered(directory: str) -> list[int]:
    """Folders whose names are numbers."""
    try:
        return [int(name) for name in os.listdir(directory) if name.isdigit()]
    except FileNotFoundError:
        return []
