"""Resetting offsets as before RocketMQ 5: the members of the group are told, and commit the offsets
themselves.

Broker2Client.resetOffset; in force with useServerSideResetOffset=false.
"""

import logging
from collections.abc import Iterator

from trimq.base.step_queue import Steps
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import NOT_FOUND, ConsumerOffsets
from trimq.broker.steps import QUEUES_PER_STEP
from trimq.broker.store_views import QueueReader
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import MessageQueueForC
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import ResetOffsetRequestHeader
from trimq.codec.java.rows import array_steps, object_steps
from trimq.remoting.contract import RemotingError

log = logging.getLogger("trimq.admin")

# Offsets by queue id.
Offsets = dict[int, int]


class ClientReset:
    """Computes the new offsets and sends them to every member of the group."""

    def __init__(
        self,
        config: BrokerConfig,
        consumers: Consumers,
        offsets: ConsumerOffsets,
        store: QueueReader,
    ) -> None:
        self._config = config
        self._consumers = consumers
        self._offsets = offsets
        self._store = store

    def steps(
        self, header: ResetOffsetRequestHeader, topic: TopicConfig | None, for_c: bool
    ) -> Steps[Offsets]:
        """The new offsets, which the members have been told.

        RemotingError: CONSUMER_NOT_ONLINE without a member, SYSTEM_ERROR without offsets. `for_c`:
        the members are told in the form that the C++ client understands.
        """
        if topic is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST,
                f"[reset-offset] reset offset failed, no topic in this broker. topic={header.topic}",
            )
        chosen: Offsets = {}
        for queue_id in range(topic.write_queue_nums):
            chosen[queue_id] = self._chosen(header, queue_id)
            if len(chosen) % QUEUES_PER_STEP == 0:
                yield 0
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
        table = offset_table(self._config.broker_name, header.topic, chosen)
        rows = yield from array_steps(map(_for_c, table)) if for_c else object_steps(table)
        body = b'{"offsetTable":%b}' % rows
        for client in group.clients():
            client.peer.oneway(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, told, body)
            log.info(
                "offset reset sent: group=%s topic=%s client=%s", header.group, header.topic, client
            )
        return chosen

    def _chosen(self, header: ResetOffsetRequestHeader, queue_id: int) -> int:
        """The offset at the time; unless forced, never ahead of what is consumed."""
        consumed = self._offsets.query(header.group, header.topic, queue_id)
        if consumed == NOT_FOUND:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"THe consumer group <{header.group}> not exist"
            )
        if header.timestamp == -1:
            found = self._store.max_offset(header.topic, queue_id)
        else:
            found = self._store.offset_by_time(header.topic, queue_id, header.timestamp)
        found = max(0, found)
        return found if header.is_force else min(found, consumed)


def offset_table(
    broker_name: str, topic: str, offsets: Offsets
) -> Iterator[tuple[MessageQueue, int]]:
    """The offsets as clients have them."""
    for queue_id, offset in offsets.items():
        yield MessageQueue(broker_name=broker_name, queue_id=queue_id, topic=topic), offset


def _for_c(row: tuple[MessageQueue, int]) -> MessageQueueForC:
    queue, offset = row
    return MessageQueueForC(
        broker_name=queue.broker_name, offset=offset, queue_id=queue.queue_id, topic=queue.topic
    )
