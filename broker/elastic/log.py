"""The system topic that elastic topics are rebuilt from: one record for each thing that has changed.

A record takes effect when it is written, in the order of the log, and at start by being read once more
(`store.messages.effects`): running and recovery cannot differ, and a cut of the log leaves a state that
fits the messages before the cut.
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol

from trimq.base.clock import Clock
from trimq.broker.elastic.kept_records import ElasticRecords
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.elastic import (
    ElasticDeletion,
    ElasticRecord,
    decode_record,
    encode_record,
    encode_short,
)
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm, SysFlag
from trimq.codec.names import ELASTIC_MAP_TOPIC
from trimq.store.errors import MessageTooLarge
from trimq.store.messages.effects import Effect
from trimq.store.messages.message import Appended, Dispatched, Message

log = logging.getLogger("trimq.elastic")

_QUEUE: Final = 0
_IPV6_HOST: Final = 20
# Gets a record, and where in the commit log it lies.
Taker = Callable[[ElasticRecord, int], None]


class RecordStore(Protocol):
    def put(self, message: Message) -> Appended:
        """Stage and write. StoreError."""

    def put_again(self, message: Message) -> Appended:
        """The same even on a disk that counts as full."""

    def replay(self, topic: str, queue_id: int, begin: int, effect: Effect) -> int: ...


class ElasticLog:
    """Appends records, and gives each one that is written to those who know its kind."""

    def __init__(
        self, store: RecordStore, topics: Topics, identity: BrokerIdentity, clock: Clock
    ) -> None:
        self._store = store
        self._topics = topics
        self._clock = clock
        self._host = identity.packed_store_host
        # Which of them are read at a start; without it, all.
        self.kept: ElasticRecords | None = None
        self._takers: list[Taker] = []
        self._forgetters: list[Callable[[], None]] = []
        # What is being appended, as bytes and as it was given.
        self._appending: tuple[bytes, ElasticRecord] | None = None
        # Where the log ends behind the last record: what a reply about it waits for.
        self.end = -1

    def add_taker(self, take: Taker, forget: Callable[[], None]) -> None:
        """`take` gets every record, of whatever kind, in the order in which takers were added.

        `forget` is called when all of them will come anew.
        """
        self._takers.append(take)
        self._forgetters.append(forget)

    def millis(self) -> int:
        """What the clock says, in milliseconds since 1970."""
        return self._clock.millis()

    def append(self, record: ElasticRecord, again: bool = False) -> int:
        """The record is written, and in effect; where the log ends behind it. StoreError: nothing has changed.

        `again`: it only says what an older one says, whose file is about to be deleted. Such a record, and that
        something is deleted, is written on a disk that counts as full, too: that makes room.
        """
        again = again or isinstance(record, ElasticDeletion)
        self._topics.create_if_absent(
            TopicConfig(
                topic_name=ELASTIC_MAP_TOPIC,
                read_queue_nums=1,
                write_queue_nums=1,
                perm=Perm.READ | Perm.WRITE,
            )
        )
        try:
            self.end = self._put(encode_record(record), record, again)
        except MessageTooLarge:
            self.end = self._put(encode_short(record), record, again)
        return self.end

    def _put(self, body: bytes, record: ElasticRecord, again: bool) -> int:
        flags = 0
        if len(self._host) == _IPV6_HOST:
            flags = int(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6)
        now = self._clock.millis()
        message = Message(
            ELASTIC_MAP_TOPIC, _QUEUE, body, b"", 0, flags, now, self._host, self._host
        )
        self._appending = (body, record)
        try:
            return (self._store.put_again(message) if again else self._store.put(message)).end
        finally:
            self._appending = None

    def written(self, record: Dispatched, message: Message) -> None:
        """The effect of one that is in the log. What cannot be read changes nothing, and is logged."""
        own = self._appending
        if self.kept is not None:
            self.kept.written(record)
        try:
            is_own = own is not None and own[0] == message.body
            found = own[1] if own and is_own else decode_record(message.body)
        except CodecError as error:
            log.error(
                "elastic record not understood, it changes nothing: at=%d reason=%s",
                record.physical_offset,
                error,
            )
            return
        for take in self._takers:
            take(found, record.physical_offset)

    def replay(self) -> None:
        """Everything that is needed once more. Blocks: before anything is served."""
        if self.kept is None:
            self._replay(0)
        else:
            self.kept.read(self._replay)

    def _replay(self, begin: int) -> None:
        self._store.replay(ELASTIC_MAP_TOPIC, _QUEUE, begin, self.written)

    def recover(self, _: int) -> None:
        """The log was cut: what is left of it counts. Blocks."""
        for forget in self._forgetters:
            forget()
        if self.kept is not None:
            self.kept.cut()
        self.replay()
