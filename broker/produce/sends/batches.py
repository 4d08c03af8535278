"""Batch sends: several messages for one queue, as separate records or kept in one record.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.broker.elastic.partition_routing import Placing
from trimq.broker.produce.puts.outcomes import Refused, Sender, Sent
from trimq.broker.produce.puts.rules import LONGEST_TOPIC, PutRefused, PutRules, PutStatus
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.produce.puts.wait_stored import wait_stored
from trimq.broker.produce.sends.admission import Admission, random_queue
from trimq.broker.produce.sends.properties import SendProperties
from trimq.broker.topics.queue_types import has_batch_queues
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import SendHeader
from trimq.codec.names import RETRY_PREFIX
from trimq.codec.records.batch import count_items
from trimq.codec.records.property_keys import INNER_NUM, UNIQ_KEY
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message

# What producers are shown by the real broker, whose encoder throws.
_TOO_LARGE: Final = (
    "java.lang.RuntimeException: message body size exceeded, "
    "org.apache.rocketmq.store.MessageExtEncoder.encode(MessageExtEncoder.java:290)"
)
_WRAPPED: Final = int(SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH)
_TRANSACTION: Final = int(SysFlag.TRANSACTION_MASK)


class BatchSending:
    """SendMessageProcessor.sendBatchMessage."""

    __slots__ = ("_admission", "_properties", "_rules", "_staging")

    def __init__(
        self,
        admission: Admission,
        properties: SendProperties,
        rules: PutRules,
        staging: Staging,
    ) -> None:
        self._admission = admission
        self._properties = properties
        self._rules = rules
        self._staging = staging

    def send(
        self, header: SendHeader, body: bytes, sender: Sender, placing: Placing | None
    ) -> Sent | Refused:
        """Raises what keeps the batch as a whole from being staged: see `Sending.send`."""
        topic = header.topic
        config = self._admission.admit(header, sender, placing)
        if len(topic) > LONGEST_TOPIC:
            return Refused(
                ResponseCode.MESSAGE_ILLEGAL, f"message topic length too long {len(topic)}"
            )
        if topic.startswith(RETRY_PREFIX):
            return Refused(
                ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {topic}"
            )
        properties = self._properties.outer(header.properties or "")
        queue_id = header.queue_id if header.queue_id >= 0 else random_queue(config)
        message = self._staging.message(header, body, sender, config, queue_id)
        if has_batch_queues(config) and UNIQ_KEY in properties:
            return self._keep_whole(message, properties, config)
        self._rules.apply(message, properties, config.attributes)
        # A timer's batch would not be delivered by the real broker, and keep its wheel from all others.
        if message.sys_flag & _TRANSACTION or message.topic != topic:
            raise PutRefused(
                PutStatus.MESSAGE_ILLEGAL, "a batch can be neither delayed nor prepared"
            )
        if len(body) > self._staging.longest_body:
            # The one limit that makes the real broker fail: SYSTEM_ERROR instead of 13.
            return Refused(ResponseCode.SYSTEM_ERROR, _TOO_LARGE, True)
        wait = self._staging.waits and wait_stored(properties)
        if placing is not None:
            message.queue_id = placing.place(queue_id, count_items(body))
        return self._staging.stage_batch(message, properties.get(UNIQ_KEY), wait)

    def _keep_whole(
        self, message: Message, properties: dict[str, str], config: TopicConfig
    ) -> Sent | Refused:
        """The batch stays as it is, in one record; its producer knows it by its own UNIQ_KEY."""
        unique = properties[UNIQ_KEY]
        message.sys_flag |= _WRAPPED
        properties[INNER_NUM] = str(count_items(message.body))
        try:
            self._rules.apply(message, properties, config.attributes)
            if message.topic != config.topic_name:
                raise PutRefused(PutStatus.MESSAGE_ILLEGAL, "a batch cannot be delayed")
            wait = self._staging.waits and wait_stored(properties)
            return self._staging.stage(message, message.queue_id, unique, wait, unique)
        except (PutRefused, StoreError) as error:
            return self._staging.refused(config.topic_name, error, unique)
