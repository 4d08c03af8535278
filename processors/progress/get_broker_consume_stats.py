"""GET_BROKER_CONSUME_STATS: how far behind every group of this broker is, topic by topic."""

import trio

from trimq.broker.consume.backlog import Backlog
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.identity import BrokerIdentity
from trimq.broker.steps import QUEUES_PER_STEP
from trimq.codec.bodies.progress import ConsumeStats
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import GetConsumeStatsInBrokerHeader
from trimq.codec.java import fastjson
from trimq.remoting.contract import Later, Processor, Request, Response


class GetBrokerConsumeStats(Processor[GetConsumeStatsInBrokerHeader]):
    """ConsumeStatsList; with `isOrder` only ordered topics. One group a step.

    AdminBrokerProcessor.fetchAllConsumeStatsInBroker leaves pull offsets at 0, so its sum of
    messages in flight is the number consumed, negated.
    """

    codes = (RequestCode.GET_BROKER_CONSUME_STATS,)
    header = GetConsumeStatsInBrokerHeader

    def __init__(
        self,
        identity: BrokerIdentity,
        groups: SubscriptionGroups,
        offsets: ConsumerOffsets,
        backlog: Backlog,
    ) -> None:
        self._identity = identity
        self._groups = groups
        self._offsets = offsets
        self._backlog = backlog

    def handle(self, request: Request[GetConsumeStatsInBrokerHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[GetConsumeStatsInBrokerHeader]) -> Response:
        parts: list[bytes] = []
        behind = in_flight = 0
        for group in list(self._groups.all()):
            found: list[ConsumeStats] = []
            for topic in sorted(self._offsets.topics_of(group)):
                stats = await self._backlog.of_topic(group, topic, request.header.is_order)
                if stats is not None:
                    found.append(stats)
            for stats in found:
                for progress in stats.offset_table.values():
                    behind += progress.broker_offset - progress.consumer_offset
                    in_flight += progress.pull_offset - progress.consumer_offset
            if sum(len(stats.offset_table) for stats in found) > QUEUES_PER_STEP:
                parts.append(await trio.to_thread.run_sync(fastjson.dumps, {group: found}))
            else:
                parts.append(fastjson.dumps({group: found}))
                await trio.lowlevel.checkpoint()
        head = fastjson.dumps({"brokerAddr": self._identity.address})[:-1]
        body = b'%s,"consumeStatsList":[%s],"totalDiff":%d,"totalInflightDiff":%d}'
        return Response(body=body % (head, b",".join(parts), behind, in_flight))
