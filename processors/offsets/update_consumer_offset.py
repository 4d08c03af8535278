"""UPDATE_CONSUMER_OFFSET: a group has consumed a queue up to here; stored as sent, even backwards."""

import logging

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.static_queues import StaticQueue, StaticQueues, own_header, refused
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.processors._queue_requests import QueueProcessor
from trimq.remoting.contract import RemotingError, Request, Response
from trimq.remoting.growth_limits import check_room

log = logging.getLogger("trimq.broker")


class UpdateConsumerOffset(QueueProcessor[UpdateConsumerOffsetRequestHeader]):
    codes = (RequestCode.UPDATE_CONSUMER_OFFSET,)
    shows_no_fields = True
    header = UpdateConsumerOffsetRequestHeader

    def __init__(
        self,
        static: StaticQueues,
        config: BrokerConfig,
        topics: Topics,
        groups: SubscriptionGroups,
        offsets: ConsumerOffsets,
    ) -> None:
        super().__init__(static)
        self._config = config
        self._topics = topics
        self._groups = groups
        self._offsets = offsets

    def decode_header(self, ext_fields: dict[str, str]) -> UpdateConsumerOffsetRequestHeader:
        """A missing group reads null in what is said of it; there is none of that name for the real broker."""
        return super().decode_header({"consumerGroup": "null", **ext_fields})

    def plain(self, request: Request[UpdateConsumerOffsetRequestHeader]) -> Response:
        return self._commit(request, request.header)

    async def of_parts(
        self, request: Request[UpdateConsumerOffsetRequestHeader], queue: StaticQueue
    ) -> Response:
        """The offset is kept by the broker whose part it is in, as one of its own."""
        queue.leader()
        offset = request.header.commit_offset
        if offset is None:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"Offset is null, topic is {queue.topic}"
            )
        part = queue.part_at(offset)
        header = own_header(request.header, part, commit_offset=part.to_own(offset))
        if queue.is_here(part):
            return self._commit(request, header)
        reply = await self._static.reply(part, request.code, header)
        if reply.code != ResponseCode.SUCCESS:
            raise refused(reply, part)
        # As RpcClientUtils makes replies.
        return Response(remark="")

    def _commit(
        self,
        request: Request[UpdateConsumerOffsetRequestHeader],
        header: UpdateConsumerOffsetRequestHeader,
    ) -> Response:
        group, topic = header.consumer_group, header.topic
        queue_id, offset = header.queue_id, header.commit_offset
        absent = group == "null" and "consumerGroup" not in request.ext_fields
        if absent or group not in self._groups:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!"
            )
        config = self._topics.get(topic)
        if config is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
        if queue_id is None:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"QueueId is null, topic is {topic}"
            )
        if offset is None:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, f"Offset is null, topic is {topic}")
        if self._offsets.keeps_resets(topic) and self._offsets.has_reset(group, topic, queue_id):
            log.info(
                "offset not committed, an operator has reset it: group=%s topic=%s queue=%d "
                "offset=%d",
                group,
                topic,
                queue_id,
                offset,
            )
            return Response(remark="Offset has been previously reset")
        queues = max(config.read_queue_nums, config.write_queue_nums)
        if not 0 <= queue_id < queues:
            self._check_foreign(group, topic, queue_id, queues)
        self._offsets.commit(request.peer.remote_addr, group, topic, queue_id, offset)
        return Response()

    def _check_foreign(self, group: str, topic: str, queue_id: int, queues: int) -> None:
        """Offsets of queues that the topic does not have are kept as by RocketMQ, but only up to a limit."""
        most = self._config.max_foreign_offsets
        kept = self._offsets.query_all(group, topic) or {}
        if most and queue_id not in kept:
            what = f"offsets of group {group} in topic {topic}"
            check_room(len(kept), queues + most, what, "maxForeignOffsets")
