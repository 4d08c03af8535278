"""What the send requests have in common: from a header and a body to staged records and a reply.

The read loop calls this for every message, so the ordinary one takes a short way: its property
block is appended to, nothing is taken apart. Whatever needs a decision (delays, retries,
priorities, transactions ...) takes the long way of SendMessageProcessor.sendMessage. Both stage,
neither writes: all records of one receive are written at its end.
"""

import logging
import random
from typing import Final

from trimq.broker.clock import Clock
from trimq.broker.identity import BrokerIdentity
from trimq.broker.puts import (
    LONGEST_TOPIC,
    PutRefused,
    PutRules,
    PutStatus,
    delay_level,
    put_answer,
    put_status,
)
from trimq.broker.static_queues import StaticQueues
from trimq.broker.topic_names import RETRY_PREFIX
from trimq.broker.topics import has_batch_queues
from trimq.broker.traffic import Traffic
from trimq.codec.batch import count_items
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import SendHeader, encode_send_response
from trimq.codec.message_id import batch_message_ids
from trimq.codec.properties import parse_properties
from trimq.codec.property_keys import INNER_NUM, UNIQ_KEY, WAIT
from trimq.processors.produce._admission import Admission
from trimq.processors.produce._properties import (
    SendProperties,
    add_lite_queue,
    check_compaction_key,
    choose_by_priority,
    is_prepared,
)
from trimq.processors.produce._retries import RetrySends, Target
from trimq.processors.produce._static_sends import static_queue, tell_global
from trimq.remoting.contract import RemotingError, Request, Response
from trimq.remoting.sparingly import Sparingly
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError, StoreNotWritable
from trimq.store.message import Message
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.produce")

# What producers are shown by the real broker, whose encoder throws.
_BATCH_TOO_LARGE = (
    "java.lang.RuntimeException: message body size exceeded, "
    "org.apache.rocketmq.store.MessageExtEncoder.encode(MessageExtEncoder.java:290)"
)

_IPV6_HOST: Final = 20
_NO_HOST_FLAGS: Final = ~int(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6)
_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)
_WRAPPED: Final = int(SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH)


class Destination:
    """Where messages go: the store, what it says of this broker in each of them, and who counts."""

    def __init__(
        self,
        store: MessageStore,
        config: StoreConfig,
        identity: BrokerIdentity,
        clock: Clock,
        traffic: Traffic,
    ) -> None:
        self.store = store
        self.config = config
        self.store_host = identity.packed_store_host
        self.host_flags = SysFlag.STORE_HOST_V6 if len(self.store_host) == _IPV6_HOST else 0
        self.id_start = self.store_host.hex().upper()
        self.sync_flush = config.flush_disk_type == "SYNC_FLUSH"
        self.now_millis = clock.millis
        self.traffic = traffic

    def message_id(self, physical_offset: int) -> str:
        """codec.message_id.offset_message_id, with the host's part worked out once."""
        return f"{self.id_start}{physical_offset:016X}"


class Sending:
    """Answers SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE."""

    def __init__(
        self,
        admission: Admission,
        properties: SendProperties,
        retries: RetrySends,
        rules: PutRules,
        destination: Destination,
        static: StaticQueues,
    ) -> None:
        self._admission = admission
        self._properties = properties
        self._retries = retries
        self._rules = rules
        self._to = destination
        self._static = static
        self._static_topics = static.by_topic
        self._sparingly = Sparingly()
        # What every message needs, without going through the objects that know it.
        self._store = destination.store
        self._store_host = destination.store_host
        self._host_flags = destination.host_flags
        self._sync_flush = destination.sync_flush

    def answer(self, request: Request[SendHeader]) -> Response:
        """The reply to a send; refusals carry the same two ext fields as successes."""
        if request.header.topic in self._static_topics:
            queue = static_queue(self._static, request)
            if queue is not None:
                return tell_global(queue, self._answer(request))
        return self._answer(request)

    def _answer(self, request: Request[SendHeader]) -> Response:
        if not request.body:
            # The real broker fails on its missing body array; only raw requests get here.
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the message has no body")
        try:
            if request.header.batch:
                return self._send_batch(request)
            return self._send(request)
        except RemotingError as error:
            code, remark = error.code, error.remark
        except (PutRefused, StoreError) as error:
            code, remark = self._refusal(request.header.topic, error)
        return Response(code, remark, ext_fields=dict(self._properties.reply_fields))

    def _refusal(self, topic: str, error: PutRefused | StoreError) -> tuple[int, str]:
        # A full disk was reported when it was found; its producers try again and again.
        if put_status(error) is PutStatus.WHEEL_TIMER_NOT_ENABLE:
            self._not_supported("timer messages other than delay levels", topic)
            return put_answer(error, self._to.config, self._store.disk_use)
        level = logging.DEBUG if isinstance(error, StoreNotWritable) else logging.WARNING
        log.log(level, "send refused topic=%s reason=%s", topic, error)
        return put_answer(error, self._to.config, self._store.disk_use)

    def _not_supported(self, feature: str, topic: str) -> None:
        times = self._sparingly.times(feature)
        if times:
            log.warning(
                "send refused: reason=%s topic=%s times=%d",
                f"{feature} are not supported yet",
                topic,
                times,
            )

    def _send(self, request: Request[SendHeader]) -> Response:
        header = request.header
        config = self._admission.admit(header, request.peer, self._to.now_millis)
        queue_id = header.queue_id
        if queue_id < 0:
            queue_id = random_queue(config)
        text = header.properties or ""
        if text and text[-1] != "\x02":
            # Clients of 4.x leave out the last separator.
            text += "\x02"
        if (
            config.attributes
            or header.sys_flag & _INNER_BATCH
            or header.topic.startswith("%")
            or self._properties.needs_a_look(text)
        ):
            return self._send_with_care(request, Target(header.topic, queue_id, config))
        block, unique = self._properties.appended(text)
        message = self._message(request, config, queue_id)
        message.properties = block
        wait = self._sync_flush and ("WAIT\x01" not in text or wait_stored(parse_properties(text)))
        return self._stage(message, queue_id, unique, wait)

    def _send_with_care(self, request: Request[SendHeader], target: Target) -> Response:
        header = request.header
        properties = parse_properties(header.properties or "")
        # What the client is told even when the message goes to another queue in the end.
        queue_id = target.queue_id
        if header.topic.startswith(RETRY_PREFIX):
            target = self._retries.redirect(header, request.version, target, properties)
        self._properties.completed(properties)
        add_lite_queue(properties, header.topic)
        chosen = choose_by_priority(properties, target.queue_id, target.config)
        if chosen != target.queue_id:
            queue_id = chosen
        check_compaction_key(properties, target.config)
        self._check_transaction(header, properties)
        message = self._message(request, target.config, chosen)
        message.topic = target.topic
        self._rules.apply(message, properties, target.config.attributes)
        wait = self._sync_flush and wait_stored(properties)
        return self._stage(message, queue_id, properties[UNIQ_KEY], wait)

    def _send_batch(self, request: Request[SendHeader]) -> Response:
        header = request.header
        topic = header.topic
        config = self._admission.admit(header, request.peer, self._to.now_millis)
        if len(topic) > LONGEST_TOPIC:
            raise RemotingError(
                ResponseCode.MESSAGE_ILLEGAL, f"message topic length too long {len(topic)}"
            )
        if topic.startswith(RETRY_PREFIX):
            raise RemotingError(
                ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {topic}"
            )
        properties = self._properties.outer(header.properties or "")
        queue_id = header.queue_id if header.queue_id >= 0 else random_queue(config)
        message = self._message(request, config, queue_id)
        if has_batch_queues(config) and UNIQ_KEY in properties:
            return self._send_inner_batch(message, properties, config)
        self._rules.apply(message, properties, config.attributes)
        if message.sys_flag & SysFlag.TRANSACTION_MASK or delay_level(properties) > 0:
            raise PutRefused(
                PutStatus.MESSAGE_ILLEGAL, "a batch can be neither delayed nor prepared"
            )
        limit = self._to.config.max_message_size
        if len(request.body) > limit:
            # The one limit on which the real broker fails: SYSTEM_ERROR instead of 13.
            return Response(ResponseCode.SYSTEM_ERROR, _BATCH_TOO_LARGE)
        appended = self._store.stage_batch(message)
        ids = batch_message_ids(self._to.id_start, appended.physical_offset, appended.sizes)
        fields = encode_send_response(
            ids, queue_id, appended.queue_offset, properties.get(UNIQ_KEY)
        )
        wait = self._sync_flush and wait_stored(properties)
        return self._reply(fields, appended.end, wait)

    def _send_inner_batch(
        self, message: Message, properties: dict[str, str], config: TopicConfig
    ) -> Response:
        """The batch stays as it is, in one record; the reply names it by its own UNIQ_KEY."""
        unique = properties[UNIQ_KEY]
        message.sys_flag |= _WRAPPED
        properties[INNER_NUM] = str(count_items(message.body))
        try:
            self._rules.apply(message, properties, config.attributes)
            if delay_level(properties) > 0:
                raise PutRefused(PutStatus.MESSAGE_ILLEGAL, "a batch cannot be delayed")
            appended = self._store.stage(message)
        except (PutRefused, StoreError) as error:
            code, remark = self._refusal(config.topic_name, error)
            fields = {"batchUniqId": unique, **self._properties.reply_fields}
            return Response(code, remark, ext_fields=fields)
        fields = encode_send_response(
            self._to.message_id(appended.physical_offset),
            message.queue_id,
            appended.queue_offset,
            unique,
            unique,
        )
        wait = self._sync_flush and wait_stored(properties)
        return self._reply(fields, appended.end, wait)

    def _message(self, request: Request[SendHeader], config: TopicConfig, queue_id: int) -> Message:
        """What header and peer say; the properties are the caller's business."""
        header = request.header
        born_host = request.peer.packed_host
        # A client's own idea of address lengths would make the record unreadable.
        sys_flag = header.sys_flag & _NO_HOST_FLAGS | self._host_flags
        if config.topic_filter_type == "MULTI_TAG":
            sys_flag |= SysFlag.MULTI_TAGS
        if len(born_host) == _IPV6_HOST:
            sys_flag |= SysFlag.BORN_HOST_V6
        return Message(
            header.topic,
            queue_id,
            request.body,
            b"",
            header.flag,
            sys_flag,
            header.born_timestamp,
            born_host,
            self._store_host,
            header.reconsume_times or 0,
        )

    def _check_transaction(self, header: SendHeader, properties: dict[str, str]) -> None:
        """Half messages are refused as by a broker with rejectTransactionMessage=true.

        Clients before 4.6.1 send retries of a transaction with the mark still on; those pass.
        """
        if not is_prepared(properties):
            return
        if (header.reconsume_times or 0) > 0 and delay_level(properties) > 0:
            return
        self._not_supported("transactions", header.topic)
        raise RemotingError(
            ResponseCode.NO_PERMISSION,
            f"the broker[{self._admission.host}] sending transaction message is forbidden",
        )

    def _stage(self, message: Message, queue_id: int, unique: str, wait: bool) -> Response:
        appended = self._store.stage(message)
        fields = encode_send_response(
            self._to.message_id(appended.physical_offset),
            queue_id,
            appended.queue_offset,
            unique,
        )
        return self._reply(fields, appended.end, wait)

    def _reply(self, fields: dict[str, str], end: int, wait: bool) -> Response:
        fields.update(self._properties.reply_fields)
        response = Response(0, None, None, fields, b"", True)
        if wait:
            response.durable_at = end
            response.durable_timeout_code = ResponseCode.FLUSH_DISK_TIMEOUT
        return response


def random_queue(config: TopicConfig) -> int:
    """For a client that leaves the choice to the broker (queue id -1)."""
    if config.write_queue_nums <= 0:
        raise RemotingError(
            ResponseCode.SYSTEM_ERROR, f"topic[{config.topic_name}] has no queue to write to"
        )
    return random.randrange(config.write_queue_nums)


def wait_stored(properties: dict[str, str]) -> bool:
    """Whether the producer waits until the message is safe (Message.isWaitStoreMsgOK)."""
    return properties.get(WAIT, "true").lower() == "true"
