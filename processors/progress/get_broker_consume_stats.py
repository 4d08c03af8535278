"""GET_BROKER_CONSUME_STATS: how far behind every group of this broker is, topic by topic."""

from trimq.broker.consume.backlog import Backlog
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.identity import BrokerIdentity
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import GetConsumeStatsInBrokerHeader
from trimq.codec.java import fastjson
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Request, Response


class GetBrokerConsumeStats(SteppedProcessor[GetConsumeStatsInBrokerHeader]):
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

    def steps(self, request: Request[GetConsumeStatsInBrokerHeader]) -> AnswerSteps:
        parts: list[bytes] = []
        behind = in_flight = 0
        for group in list(self._groups.all()):
            found: list[bytes] = []
            for topic in sorted(self._offsets.topics_of(group)):
                backlog = yield from self._backlog.of_topic(group, topic, request.header.is_order)
                if backlog is not None:
                    found.append(backlog.stats)
                    behind += backlog.behind
                    in_flight += backlog.in_flight
            parts.append(b"{%b:[%b]}" % (fastjson.dumps(group), b",".join(found)))
            yield len(parts[-1])
        head = fastjson.dumps({"brokerAddr": self._identity.address})[:-1]
        body = b'%s,"consumeStatsList":[%s],"totalDiff":%d,"totalInflightDiff":%d}'
        return Response(body=body % (head, b",".join(parts), behind, in_flight))
