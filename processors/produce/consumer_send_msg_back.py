"""CONSUMER_SEND_MSG_BACK (36): a consumer could not process a message; give it again later.

Rules, order and remarks of AbstractSendMessageProcessor.consumerSendMsgBack. The message is copied
to the group's retry topic through a delay level (0 means: 3 + times tried), or to its dead-letter
topic when it was tried often enough or the level is negative.
"""

import logging
import random

from trimq.broker.puts import PutRefused, PutRules, put_status
from trimq.broker.records import (
    ColdRecord,
    NoRecord,
    check_sound,
    fetch_record,
    record_in_memory,
)
from trimq.broker.topic_names import retry_topic
from trimq.broker.topics import Topics
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm, SysFlag, TopicSysFlag
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.codec.message_id import offset_message_id
from trimq.codec.properties import parse_properties
from trimq.codec.property_keys import DELAY, ORIGIN_MESSAGE_ID, RETRY_TOPIC, UNIQ_KEY, WAIT
from trimq.codec.record import Record
from trimq.processors.produce._admission import SEE_FAQ, Admission
from trimq.processors.produce._retries import (
    FIRST_VERSION_WITH_MAXIMUM,
    Groups,
    Target,
    dead_letter_target,
)
from trimq.processors.produce._sending import Destination
from trimq.remoting.contract import Processor, RemotingError, Request, Response
from trimq.store.errors import StoreError
from trimq.store.message import Message

log = logging.getLogger("trimq.produce")

_FIRST_LEVEL = 3
BackRequest = Request[ConsumerSendMsgBackRequestHeader]


class ConsumerSendMsgBack(Processor[ConsumerSendMsgBackRequestHeader]):
    codes = (RequestCode.CONSUMER_SEND_MSG_BACK,)
    header = ConsumerSendMsgBackRequestHeader
    # Only when the message lies on disk, outside the page cache.
    waits = True

    def __init__(
        self,
        admission: Admission,
        topics: Topics,
        groups: Groups,
        rules: PutRules,
        destination: Destination,
    ) -> None:
        self._admission = admission
        self._topics = topics
        self._groups = groups
        self._rules = rules
        self._to = destination

    def handle_at_once(self, request: BackRequest) -> Response | None:
        try:
            return self._answer(request, None)
        except ColdRecord:
            return None

    async def handle(self, request: BackRequest) -> Response:
        offset = request.header.offset
        try:
            record = await fetch_record(self._to.store, offset)
            check_sound(record)
        except NoRecord:
            raise _not_found(offset) from None
        # Everything is looked at again: groups and topics may have changed meanwhile.
        return self._answer(request, record)

    def _answer(self, request: BackRequest, fetched: Record | None) -> Response:
        header = request.header
        group = self._group(header)
        if group.retry_queue_nums <= 0:
            return Response()
        target = self._retry_target(header, group)
        record = fetched or self._record(header.offset)
        if header.delay_level is None:
            raise CodecError("ConsumerSendMsgBackRequestHeader needs the field 'delayLevel'")
        properties = parse_properties(record.properties)
        properties.setdefault(RETRY_TOPIC, record.topic)
        properties[WAIT] = "false"
        if self._is_dead(request, group, record):
            target = dead_letter_target(self._topics, header.group)
            properties[DELAY] = "0"
            log.info(
                "dead letter group=%s origin_topic=%s uniq_key=%s times=%d",
                header.group,
                header.origin_topic,
                properties.get(UNIQ_KEY),
                record.reconsume_times,
            )
        else:
            properties[DELAY] = str(header.delay_level or _FIRST_LEVEL + record.reconsume_times)
        if not properties.get(ORIGIN_MESSAGE_ID, "").strip():
            properties[ORIGIN_MESSAGE_ID] = offset_message_id(
                record.store_host, record.physical_offset
            )
        copy = self._copy(record, target)
        response = self._put(copy, properties, target, fetched is None)
        if response.code == ResponseCode.SUCCESS:
            self._to.traffic.came_back(header.group, properties[RETRY_TOPIC])
        return response

    def _group(self, header: ConsumerSendMsgBackRequestHeader) -> SubscriptionGroupConfig:
        group = self._groups.find(header.group)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group not exist, {header.group} {SEE_FAQ}",
            )
        self._admission.check_broker_writable()
        return group

    def _retry_target(
        self, header: ConsumerSendMsgBackRequestHeader, group: SubscriptionGroupConfig
    ) -> Target:
        name = retry_topic(header.group)
        sys_flag = TopicSysFlag.UNIT_SUB if header.unit_mode else 0
        config = self._topics.create_in_send_back(
            name, group.retry_queue_nums, Perm.READ | Perm.WRITE, sys_flag
        )
        if not Perm.writable(config.perm):
            raise RemotingError(
                ResponseCode.NO_PERMISSION, f"the topic[{name}] sending message is forbidden"
            )
        return Target(name, random.randrange(group.retry_queue_nums), config)

    def _record(self, offset: int) -> Record:
        try:
            record = record_in_memory(self._to.store, offset)
            check_sound(record)
        except NoRecord:
            raise _not_found(offset) from None
        return record

    def _is_dead(
        self, request: BackRequest, group: SubscriptionGroupConfig, record: Record
    ) -> bool:
        header = request.header
        maximum = group.retry_max_times
        if request.version >= FIRST_VERSION_WITH_MAXIMUM and header.max_reconsume_times is not None:
            maximum = header.max_reconsume_times
        return record.reconsume_times >= maximum or (header.delay_level or 0) < 0

    def _copy(self, record: Record, target: Target) -> Message:
        sys_flag = record.sys_flag & ~SysFlag.STORE_HOST_V6 | self._to.host_flags
        return Message(
            target.topic,
            target.queue_id,
            record.body,
            b"",
            record.flag,
            sys_flag,
            record.born_timestamp,
            record.born_host,
            self._to.store_host,
            record.reconsume_times + 1,
            0,
        )

    def _put(
        self, message: Message, properties: dict[str, str], target: Target, in_receive: bool
    ) -> Response:
        """In the read loop the copy is written with what else the receive staged."""
        try:
            self._rules.apply(message, properties, target.config.attributes)
            if in_receive:
                self._to.store.stage(message)
            else:
                self._to.store.put(message)
        except (PutRefused, StoreError) as error:
            log.warning("send back failed topic=%s reason=%s", message.topic, error)
            return Response(ResponseCode.SYSTEM_ERROR, put_status(error).value)
        return Response(staged=in_receive)


def _not_found(offset: int) -> RemotingError:
    return RemotingError(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {offset}")
