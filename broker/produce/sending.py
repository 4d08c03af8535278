"""A producer's send: from a header and a body to staged records, or to a refusal.

The read loop calls this for every message, so the ordinary one takes a short path: its property
block is appended to, and not parsed. Whatever needs a decision (delays, retries, priorities,
transactions ...) takes the long path of SendMessageProcessor.sendMessage. Both stage, neither
writes: all records of one receive are written at its end (`receive_end`).

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Mapping
from typing import Final

from trimq.broker.produce.admission import Admission, random_queue
from trimq.broker.produce.batches import BatchSending
from trimq.broker.produce.half_messages import check_not_delayed, make_half
from trimq.broker.produce.outcomes import Refused, Sender, Sent
from trimq.broker.produce.properties import (
    SendProperties,
    add_lite_queue,
    check_compaction_key,
    choose_by_priority,
    is_prepared,
)
from trimq.broker.produce.puts import PutRefused, PutRules, delay_level
from trimq.broker.produce.retries import RetrySends, Target
from trimq.broker.produce.staging import Staging, wait_stored
from trimq.broker.produce.static_sends import lead_to_part, tell_global
from trimq.codec.bodies.static_topics import TopicQueueMappingDetail
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import SendHeader
from trimq.codec.names import RETRY_PREFIX
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import UNIQ_KEY
from trimq.remoting.contract import RemotingError
from trimq.store.errors import StoreError

_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)


class Sending:
    """What every protocol calls that lets producers send: remoting today."""

    __slots__ = (
        "_admission",
        "_batches",
        "_properties",
        "_retries",
        "_rules",
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
    ) -> None:
        self._admission = admission
        self._properties = properties
        self._retries = retries
        self._rules = rules
        self._staging = staging
        self._batches = BatchSending(admission, properties, rules, staging)
        self._static_topics = static_topics

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
        if header.topic in self._static_topics and not own_queue:
            queue = lead_to_part(self._static_topics[header.topic], header)
            if isinstance(queue, Refused):
                return queue
            return tell_global(queue, self._send(header, body, sender, version))
        return self._send(header, body, sender, version)

    def _send(
        self, header: SendHeader, body: bytes, sender: Sender, version: int
    ) -> Sent | Refused:
        if not body:
            # The real broker fails on its missing body array; only raw requests get here.
            return Refused(ResponseCode.SYSTEM_ERROR, "the message has no body", True)
        try:
            if header.batch:
                return self._batches.send(header, body, sender)
            return self._send_one(header, body, sender, version)
        except RemotingError as error:
            return Refused(error.code, error.remark)
        except (PutRefused, StoreError) as error:
            return self._staging.refused(header.topic, error)

    def _send_one(
        self, header: SendHeader, body: bytes, sender: Sender, version: int
    ) -> Sent | Refused:
        config = self._admission.admit(header, sender)
        queue_id = header.queue_id
        if queue_id < 0:
            queue_id = random_queue(config)
        text = header.properties or ""
        plain: tuple[bytes, str, int] | None = None
        if not (
            config.attributes or header.sys_flag & _INNER_BATCH or header.topic.startswith("%")
        ):
            plain = self._properties.plain(text)
        if plain is None:
            target = Target(header.topic, queue_id, config)
            return self._send_with_care(header, body, sender, version, target)
        staging = self._staging
        message = staging.message(header, body, sender, config, queue_id)
        message.properties, unique, message.tag_hash = plain
        wait = staging.waits and ("WAIT\x01" not in text or wait_stored(parse_properties(text)))
        return staging.stage(message, queue_id, unique, wait)

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
