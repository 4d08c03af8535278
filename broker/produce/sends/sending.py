"""A producer's send: from a header and a body to staged records, or to a refusal.

The read loop calls this for every message, so the ordinary one takes a short path: its property
block is appended to, and not parsed. Whatever needs a decision (delays, retries, priorities,
transactions ...) takes the long path of SendMessageProcessor.sendMessage. Both stage, neither
writes: all records of one receive are written at its end (`receive_end`).

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Mapping
from typing import Final

from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.elastic.partition_routing import Placing
from trimq.broker.produce.puts.outcomes import Refused, Sender, Sent
from trimq.broker.produce.puts.rules import PutRefused, PutRules, delay_level
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.produce.puts.wait_stored import wait_stored, wait_stored_text
from trimq.broker.produce.sends.admission import Admission, random_queue
from trimq.broker.produce.sends.batches import BatchSending
from trimq.broker.produce.sends.dead_letters import RetrySends, Target
from trimq.broker.produce.sends.half_messages import check_not_delayed, make_half, move_half
from trimq.broker.produce.sends.properties import (
    SendProperties,
    add_lite_queue,
    check_compaction_key,
    choose_by_priority,
    is_prepared,
)
from trimq.broker.produce.sends.static_sends import lead_to_part, tell_global
from trimq.codec.bodies.static_topics import TopicQueueMappingDetail
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import SendHeader
from trimq.codec.names import RETRY_PREFIX
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import TRAN_MSG, UNIQ_KEY
from trimq.remoting.contract import RemotingError
from trimq.store.errors import StoreError

_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)
_HALF_MARK: Final = f"{TRAN_MSG}\x01"


class Sending:
    """What every protocol calls that lets producers send: remoting today."""

    __slots__ = (
        "_admission",
        "_batches",
        "_places",
        "_properties",
        "_retries",
        "_rules",
        "_special",
        "_staging",
        "_static_topics",
    )

    def __init__(
        self,
        admission: Admission,
        properties: SendProperties,
        retries: RetrySends,
        rules: PutRules,
        staging: Staging,
        static_topics: Mapping[str, TopicQueueMappingDetail],
        maps: ElasticMaps,
    ) -> None:
        self._admission = admission
        self._properties = properties
        self._retries = retries
        self._rules = rules
        self._staging = staging
        self._batches = BatchSending(admission, properties, rules, staging)
        self._static_topics = static_topics
        self._places = maps.places
        # Static and elastic topics: one look for both.
        self._special = maps.special

    @property
    def told(self) -> dict[str, str]:
        """What every answer to a producer says about this broker; must not be changed."""
        return self._properties.reply_fields

    def send(
        self,
        header: SendHeader,
        body: bytes,
        sender: Sender,
        version: int,
        own_queue: bool = False,
    ) -> Sent | Refused:
        """Stage a message, or those of a batch, as the header's flag says.

        `version` is that of the client's library; `own_queue`: for a static topic, the number is
        already that of this broker's queue. The header's queue may be changed. CodecError: the
        request cannot be understood.
        """
        if header.topic in self._special:
            placing = self._places.find(header.topic)
            if placing is not None:
                return self._send_elastic(header, body, sender, version, placing)
            static = self._static_topics.get(header.topic)
            if static is not None and not own_queue:
                queue = lead_to_part(static, header)
                if isinstance(queue, Refused):
                    return queue
                return tell_global(queue, self._send(header, body, sender, version, None))
        return self._send(header, body, sender, version, None)

    def _send_elastic(
        self, header: SendHeader, body: bytes, sender: Sender, version: int, placing: Placing
    ) -> Sent | Refused:
        outcome = self._send(header, body, sender, version, placing)
        old_lists = placing.old_lists
        if old_lists is not None and isinstance(outcome, Sent):
            old_lists.sent(sender, header.queue_id)
        return outcome

    def _send(
        self,
        header: SendHeader,
        body: bytes,
        sender: Sender,
        version: int,
        placing: Placing | None,
    ) -> Sent | Refused:
        """`placing`: of an elastic topic, whose queue is a logical partition."""
        if not body:
            # The real broker fails on its missing body array; only raw requests get here.
            return Refused(ResponseCode.SYSTEM_ERROR, "the message has no body", True)
        try:
            if header.batch:
                return self._batches.send(header, body, sender, placing)
            return self._send_one(header, body, sender, version, placing)
        except RemotingError as error:
            return Refused(error.code, error.remark)
        except (PutRefused, StoreError) as error:
            return self._staging.refused(header.topic, error)

    def _send_one(
        self,
        header: SendHeader,
        body: bytes,
        sender: Sender,
        version: int,
        placing: Placing | None,
    ) -> Sent | Refused:
        config = self._admission.admit(header, sender, placing)
        queue_id = header.queue_id
        if queue_id < 0:
            queue_id = random_queue(config)
        text = header.properties or ""
        plain: tuple[bytes, str, int] | None = None
        if not (
            config.attributes or header.sys_flag & _INNER_BATCH or header.topic.startswith("%")
        ):
            plain = self._properties.plain(text)
            if plain is None and _HALF_MARK in text:
                half = self._properties.half(text, header.topic, queue_id)
                if half is not None:
                    return self._send_half(header, body, sender, config, queue_id, half)
        if plain is None:
            target = Target(header.topic, queue_id, config)
            return self._send_with_care(header, body, sender, version, target)
        if placing is not None:
            queue_id = placing.place(queue_id)
        staging = self._staging
        message = staging.message(header, body, sender, config, queue_id)
        message.properties, unique, message.tag_hash = plain
        wait = staging.waits and wait_stored_text(text)
        return staging.stage(message, queue_id, unique, wait)

    def _send_half(
        self,
        header: SendHeader,
        body: bytes,
        sender: Sender,
        config: TopicConfig,
        queue_id: int,
        half: tuple[bytes, str, bool],
    ) -> Sent:
        """An ordinary half message, as `_send_with_care` would stage and answer it."""
        self._admission.check_transaction()
        staging = self._staging
        message = staging.message(header, body, sender, config, queue_id)
        move_half(message)
        message.properties, unique, wait = half
        self._rules.apply_ready(message)
        queue_id = self._places.queue_of(header.topic, queue_id)
        return staging.stage(message, queue_id, unique, staging.waits and wait)

    def _send_with_care(
        self, header: SendHeader, body: bytes, sender: Sender, version: int, target: Target
    ) -> Sent | Refused:
        properties = parse_properties(header.properties or "")
        # What the client is told even when the message goes to another queue in the end.
        queue_id = target.queue_id
        if header.topic.startswith(RETRY_PREFIX):
            target = self._retries.redirect(header, version, target, properties)
        self._properties.completed(properties)
        add_lite_queue(properties, header.topic)
        chosen = choose_by_priority(properties, target.queue_id, target.config)
        if chosen != target.queue_id:
            queue_id = chosen
        check_compaction_key(properties, target.config)
        message = self._staging.message(header, body, sender, target.config, chosen)
        message.topic = target.topic
        attributes: Mapping[str, str] | None = target.config.attributes
        if self._is_half_message(header, properties):
            self._admission.check_transaction()
            check_not_delayed(properties)
            make_half(message, properties)
            # Those of the topic that it is stored in.
            attributes = None
        self._rules.apply(message, properties, attributes)
        self._rules.check_light(message, properties)
        # What is delivered later is placed then. Its producer is told where it would lie now.
        message.queue_id = self._places.place(message.topic, message.queue_id)
        queue_id = self._places.queue_of(header.topic, queue_id)
        handle = self._staging.recall_handle(properties)
        wait = self._staging.waits and wait_stored(properties)
        sent = self._staging.stage(message, queue_id, properties[UNIQ_KEY], wait)
        sent.recall_handle = handle
        return sent

    def _is_half_message(self, header: SendHeader, properties: dict[str, str]) -> bool:
        """Clients before 4.6.1 send retries of a transaction with the mark still set: they are not half messages."""
        if not is_prepared(properties):
            return False
        return not ((header.reconsume_times or 0) > 0 and delay_level(properties) > 0)
