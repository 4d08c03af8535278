"""Resetting offsets as before RocketMQ 5: the members of the group are told, and commit by themselves.

Broker2Client.resetOffset; in force with useServerSideResetOffset=false.
"""

import logging
from typing import Protocol

from trimq.broker.config import BrokerConfig
from trimq.broker.consumers import Consumers
from trimq.broker.offsets import NOT_FOUND, ConsumerOffsets
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import MessageQueueForC, ResetOffsetBody, ResetOffsetBodyForC
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import LanguageCode, RequestCode, ResponseCode
from trimq.codec.headers.offsets import ResetOffsetRequestHeader
from trimq.processors._steps import QUEUES_PER_STEP, Steps
from trimq.remoting.contract import RemotingError, Request, Response

log = logging.getLogger("trimq.admin")

Table = dict[MessageQueue, int]
ResetRequest = Request[ResetOffsetRequestHeader]


class QueueTimes(Protocol):
    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int) -> int: ...


class ClientReset:
    """Works the new offsets out and sends them to every member of the group."""

    def __init__(
        self,
        config: BrokerConfig,
        consumers: Consumers,
        offsets: ConsumerOffsets,
        store: QueueTimes,
    ) -> None:
        self._config = config
        self._consumers = consumers
        self._offsets = offsets
        self._store = store

    def steps(self, request: ResetRequest, topic: TopicConfig | None) -> Steps:
        """The new offsets; CONSUMER_NOT_ONLINE without a member, SYSTEM_ERROR without offsets."""
        header = request.header
        if topic is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST,
                f"[reset-offset] reset offset failed, no topic in this broker. topic={header.topic}",
            )
        table: Table = {}
        for queue_id in range(topic.write_queue_nums):
            queue = MessageQueue(
                broker_name=self._config.broker_name, queue_id=queue_id, topic=header.topic
            )
            table[queue] = self._chosen(header, queue)
            if len(table) % QUEUES_PER_STEP == 0:
                yield
        group = self._consumers.group(header.group)
        if group is None or not group.members:
            raise RemotingError(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"Consumer not online, so can not reset offset, Group: {header.group} "
                f"Topic: {header.topic} Timestamp: {header.timestamp}",
            )
        told = ResetOffsetRequestHeader(
            group=header.group, topic=header.topic, timestamp=header.timestamp
        )
        body = _for_c(table) if request.language == LanguageCode.CPP else _for_java(table)
        for client in group.clients():
            client.peer.oneway(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, told, body)
            log.info(
                "offset reset sent: group=%s topic=%s client=%s", header.group, header.topic, client
            )
        return lambda: Response(body=_for_java(table))

    def _chosen(self, header: ResetOffsetRequestHeader, queue: MessageQueue) -> int:
        """The offset at the time; unless forced, never ahead of what is consumed."""
        consumed = self._offsets.query(header.group, queue.topic, queue.queue_id)
        if consumed == NOT_FOUND:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"THe consumer group <{header.group}> not exist"
            )
        if header.timestamp == -1:
            found = self._store.max_offset(queue.topic, queue.queue_id)
        else:
            found = self._store.offset_by_time(queue.topic, queue.queue_id, header.timestamp)
        found = max(0, found)
        return found if header.is_force else min(found, consumed)


def _for_java(table: Table) -> bytes:
    return encode_body(ResetOffsetBody(offset_table=table))


def _for_c(table: Table) -> bytes:
    rows = [
        MessageQueueForC(
            broker_name=queue.broker_name, offset=offset, queue_id=queue.queue_id, topic=queue.topic
        )
        for queue, offset in table.items()
    ]
    return encode_body(ResetOffsetBodyForC(offset_table=rows))
