"""From what was sent to a staged record, and what its producer is told about it.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from typing import Final

from trimq.broker.identity import BrokerIdentity
from trimq.broker.produce.puts.outcomes import Refused, Sender, Sent
from trimq.broker.produce.puts.rules import PutRefused, PutStatus, put_answer, put_status
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import SendHeader
from trimq.codec.names import RETRY_PREFIX
from trimq.codec.native import message_id, message_ids
from trimq.codec.records.property_keys import REAL_TOPIC, TIMER_OUT_MS, UNIQ_KEY
from trimq.codec.records.recall_handle import build_recall_handle
from trimq.codec.records.record import Record
from trimq.remoting.log_throttle import LogThrottle
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError, StoreNotWritable
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Appended, Message

log = logging.getLogger("trimq.produce")

_IPV6_HOST: Final = 20
_BORN_HOST_V6: Final = int(SysFlag.BORN_HOST_V6)
_STORE_HOST_V6: Final = int(SysFlag.STORE_HOST_V6)
_NO_HOST_FLAGS: Final = ~(_BORN_HOST_V6 | _STORE_HOST_V6)
_OF_TIMERS: Final = (PutStatus.WHEEL_TIMER_NOT_ENABLE, PutStatus.WHEEL_TIMER_FLOW_CONTROL)
_MULTI_TAGS: Final = int(SysFlag.MULTI_TAGS)


class Staging:
    """Adds finished messages to the others of a receive, which are written together at its end."""

    __slots__ = (
        "_config",
        "_host_flags",
        "_id_start",
        "_identity",
        "_store_host",
        "_throttle",
        "store",
        "waits",
    )

    def __init__(
        self, store: MessageStore, config: StoreConfig, identity: BrokerIdentity, waits: bool
    ) -> None:
        """`waits`: producers that ask for it wait for the disk, or for slaves."""
        self.store = store
        self._config = config
        self._identity = identity
        self._store_host = identity.packed_store_host
        self._host_flags: int = _STORE_HOST_V6 if len(self._store_host) == _IPV6_HOST else 0
        self._id_start = self._store_host.hex().upper()
        self._throttle = LogThrottle()
        self.waits = waits

    @property
    def broker_name(self) -> str:
        """The present one."""
        return self._identity.name

    @property
    def longest_body(self) -> int:
        """Bytes (maxMessageSize)."""
        return self._config.max_message_size

    @property
    def longest_wait(self) -> int:
        """Milliseconds that a timer message may wait (timerMaxDelaySec)."""
        return self._config.timer_max_delay_sec * 1000

    def message(
        self, header: SendHeader, body: bytes, sender: Sender, config: TopicConfig, queue_id: int
    ) -> Message:
        """What header and sender say; the caller handles the properties."""
        born_host = sender.packed_host
        # A client's own idea of address lengths would make the record unreadable.
        sys_flag = header.sys_flag & _NO_HOST_FLAGS | self._host_flags
        if config.topic_filter_type == "MULTI_TAG":
            sys_flag |= _MULTI_TAGS
        if len(born_host) == _IPV6_HOST:
            sys_flag |= _BORN_HOST_V6
        return Message(
            header.topic,
            queue_id,
            body,
            b"",
            header.flag,
            sys_flag,
            header.born_timestamp,
            born_host,
            self._store_host,
            header.reconsume_times or 0,
        )

    def own_message(self, topic: str, body: bytes, sender: Sender, now: int) -> Message:
        """One that the broker makes at a client's request, for queue 0."""
        born_host = sender.packed_host
        sys_flag = self._host_flags
        if len(born_host) == _IPV6_HOST:
            sys_flag |= _BORN_HOST_V6
        return Message(topic, 0, body, b"", 0, sys_flag, now, born_host, self._store_host, 0)

    def own(self, topic: str, body: bytes, properties: bytes, now: int) -> Message:
        """A message of this broker's, for queue 0 of a topic of its own."""
        flags = self._host_flags
        if flags:
            flags |= _BORN_HOST_V6
        host = self._store_host
        return Message(topic, 0, body, properties, 0, flags, now, host, host)

    def copy(self, record: Record, topic: str, queue_id: int) -> Message:
        """A stored message for another topic, tried once more."""
        return Message(
            topic,
            queue_id,
            record.body,
            b"",
            record.flag,
            record.sys_flag & ~_STORE_HOST_V6 | self._host_flags,
            record.born_timestamp,
            record.born_host,
            self._store_host,
            record.reconsume_times + 1,
            0,
        )

    def stage(
        self,
        message: Message,
        queue_id: int,
        unique: str,
        wait: bool,
        batch_unique: str | None = None,
    ) -> Sent:
        """`queue_id`: what the producer is told. `wait`: it waits for the disk. StoreError."""
        appended = self.store.stage(message)
        return Sent(
            message_id(self._id_start, appended.physical_offset),
            queue_id,
            appended.queue_offset,
            unique,
            appended.end if wait else -1,
            batch_unique,
        )

    def id_of(self, appended: Appended) -> str:
        """Address and place of a stored message as one text (msgId of an answer)."""
        return message_id(self._id_start, appended.physical_offset)

    def recall_handle(self, properties: dict[str, str]) -> str | None:
        """What the producer of a stored message can take it back with (attachRecallHandle).

        None for all but timer messages. CodecError: a TIMER_OUT_MS of the producer's own is no number.
        """
        out_ms = properties.get(TIMER_OUT_MS)
        topic = properties.get(REAL_TOPIC)
        if out_ms is None or topic is None or topic.startswith(RETRY_PREFIX):
            return None
        return build_recall_handle(topic, self.broker_name, out_ms, properties[UNIQ_KEY])

    def stage_batch(self, message: Message, unique: str | None, wait: bool) -> Sent:
        """A record for each message of the body. StoreError, or CodecError if it is not a batch."""
        appended = self.store.stage_batch(message)
        return Sent(
            message_ids(self._id_start, appended.physical_offset, appended.sizes),
            message.queue_id,
            appended.queue_offset,
            unique,
            appended.end if wait else -1,
        )

    def refused(
        self, topic: str, error: PutRefused | StoreError, batch_unique: str | None = None
    ) -> Refused:
        """What the producer is told about a message that could not be staged, which is logged."""
        status = put_status(error)
        if status in _OF_TIMERS:
            # Whoever sends them goes on sending.
            times = self._throttle.times(status.value)
            if times:
                log.warning("send refused topic=%s reason=%s times=%d", topic, error, times)
        else:
            # A full disk was reported when it was found; its producers keep trying.
            level = logging.DEBUG if isinstance(error, StoreNotWritable) else logging.WARNING
            log.log(level, "send refused topic=%s reason=%s", topic, error)
        code, remark = put_answer(error, self._config, self.store.disk_use)
        return Refused(code, remark, False, batch_unique)
