"""A consumer could not process a message: deliver it again later, or never.

Rules, order and remarks of AbstractSendMessageProcessor.consumerSendMsgBack. The message is copied
to the group's retry topic through a delay level (0 means: 3 + times tried), or to its dead-letter
topic when it was tried often enough or the level is negative.

In two steps, since the message may have to be read from the disk in between: `admit`, then `stage`
or `put`.
"""

import logging
import random

from trimq.broker.produce.puts.outcomes import Refused
from trimq.broker.produce.puts.rules import PutRefused, PutRules, put_status
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.produce.sends.admission import Admission
from trimq.broker.produce.sends.dead_letters import Groups, Target, dead_letter_target, most_retries
from trimq.broker.stats.traffic import Traffic
from trimq.broker.topics.queue_choice import readable_queues
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm, TopicSysFlag
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.codec.names import SEE_FAQ, retry_topic
from trimq.codec.records.message_id import offset_message_id
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import DELAY, ORIGIN_MESSAGE_ID, RETRY_TOPIC, UNIQ_KEY, WAIT
from trimq.codec.records.record import Record
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

log = logging.getLogger("trimq.produce")

_FIRST_LEVEL = 3


class Retry:
    """Where a message that is sent back goes, unless it was tried often enough."""

    __slots__ = ("group", "target")

    def __init__(self, group: SubscriptionGroupConfig, target: Target) -> None:
        self.group = group
        self.target = target


class SendingBack:
    def __init__(
        self,
        admission: Admission,
        topics: Topics,
        groups: Groups,
        rules: PutRules,
        staging: Staging,
        traffic: Traffic,
    ) -> None:
        self._admission = admission
        self._topics = topics
        self._groups = groups
        self._rules = rules
        self._staging = staging
        self._traffic = traffic

    @property
    def store(self) -> MessageStore:
        """Where the message is."""
        return self._staging.store

    def admit(self, header: ConsumerSendMsgBackRequestHeader) -> Retry | Refused | None:
        """Creates the retry topic if it is missing. None: the group wants no retries at all.

        LimitReached: there is no room for another group or topic.
        """
        group = self._groups.find(header.group)
        if group is None:
            return Refused(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group not exist, {header.group} {SEE_FAQ}",
            )
        forbidden = self._admission.forbidden()
        if forbidden is not None:
            return forbidden
        if group.retry_queue_nums <= 0:
            return None
        name = retry_topic(header.group)
        sys_flag = TopicSysFlag.UNIT_SUB if header.unit_mode else 0
        config = self._topics.create_in_send_back(
            name, group.retry_queue_nums, Perm.READ | Perm.WRITE, sys_flag
        )
        if not Perm.writable(config.perm):
            return Refused(
                ResponseCode.NO_PERMISSION, f"the topic[{name}] sending message is forbidden"
            )
        queues = min(group.retry_queue_nums, readable_queues(config))
        return Retry(group, Target(name, random.randrange(queues), config))

    def stage(
        self, header: ConsumerSendMsgBackRequestHeader, version: int, retry: Retry, record: Record
    ) -> Refused | None:
        """Stage the copy, to be written with whatever else the receive staged. None: it is staged."""
        return self._send(header, version, retry, record, True)

    def put(
        self, header: ConsumerSendMsgBackRequestHeader, version: int, retry: Retry, record: Record
    ) -> Refused | None:
        """The same outside a receive: the copy is written at once. None: it is stored."""
        return self._send(header, version, retry, record, False)

    def _send(
        self,
        header: ConsumerSendMsgBackRequestHeader,
        version: int,
        retry: Retry,
        record: Record,
        in_receive: bool,
    ) -> Refused | None:
        if header.delay_level is None:
            raise CodecError("ConsumerSendMsgBackRequestHeader needs the field 'delayLevel'")
        properties = parse_properties(record.properties)
        properties.setdefault(RETRY_TOPIC, record.topic)
        properties[WAIT] = "false"
        target = retry.target
        if self._is_dead(header, version, retry.group, record):
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
        copy = self._staging.copy(record, target.topic, target.queue_id)
        refused = self._put(copy, properties, target, in_receive)
        if refused is None:
            self._traffic.came_back(header.group, properties[RETRY_TOPIC])
        return refused

    def _is_dead(
        self,
        header: ConsumerSendMsgBackRequestHeader,
        version: int,
        group: SubscriptionGroupConfig,
        record: Record,
    ) -> bool:
        most = most_retries(group, version, header.max_reconsume_times)
        return record.reconsume_times >= most or (header.delay_level or 0) < 0

    def _put(
        self, message: Message, properties: dict[str, str], target: Target, in_receive: bool
    ) -> Refused | None:
        store = self._staging.store
        try:
            self._rules.apply(message, properties, target.config.attributes)
            if in_receive:
                store.stage(message)
            else:
                store.put(message)
        except (PutRefused, StoreError) as error:
            log.warning("send back failed topic=%s reason=%s", message.topic, error)
            return Refused(ResponseCode.SYSTEM_ERROR, put_status(error).value)
        return None


def message_missing(offset: int) -> Refused:
    """No message begins at that offset in the commit log."""
    return Refused(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {offset}")
