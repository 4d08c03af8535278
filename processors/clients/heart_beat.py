"""HEART_BEAT: a client says which groups it is in (ClientManageProcessor.heartBeat, heartBeatV2).

Every consumer group gets its %RETRY% topic here. A fingerprint other than 0 marks version 2: such a
heartbeat may leave the subscriptions out, and is told when the group's last one was different.
Groups that do not exist and may not be created are silently left out, and so are filters that cannot be
read; the code is always 0, unless refuseInconsistentSubscription is on and members of a group would
contradict each other.
"""

import logging
from typing import Final

from trimq.base.clock import Clock
from trimq.base.step_queue import Steps
from trimq.broker.filters.sql_filters import SqlFilters
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.heartbeat_checks import GroupTopics
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.steps import at_once
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.remoting.contract import (
    Later,
    LimitReached,
    Processor,
    RemotingError,
    Request,
    Response,
)

log = logging.getLogger("trimq.broker")

# A new group, with its retry topic and its log lines, costs about 0.1 ms.
_GROUPS_PER_STEP: Final = 50
# One for each group, and one for each topic that it subscribes.
_YIELDS_PER_STEP: Final = 2 * _GROUPS_PER_STEP
# A topic that it subscribes takes less.
_TOPICS_A_GROUP: Final = 5


class _Heard:
    """A heartbeat, and its outcome so far."""

    __slots__ = ("changed", "data", "limit", "objections")

    def __init__(self, data: HeartbeatData) -> None:
        self.data = data
        self.changed = False
        self.objections: list[str] = []
        self.limit: LimitReached | None = None

    @property
    def size(self) -> int:
        """Groups, and topics that they subscribe."""
        consumers = self.data.consumer_data_set
        topics = sum(len(consumer.subscription_data_set) for consumer in consumers)
        return len(consumers) + len(self.data.producer_data_set) + topics // _TOPICS_A_GROUP

    def response(self) -> Response:
        if self.limit is not None:
            raise self.limit
        if self.objections:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, " ".join(self.objections))
        # A heartbeat of version 1 is always told "changed" (it does not look).
        told = self.changed or not self.data.heartbeat_fingerprint
        return Response(
            ext_fields={
                "IS_SUPPORT_HEART_BEAT_V2": "true",
                "IS_SUB_CHANGE": "true" if told else "false",
            }
        )


class HeartBeat(Processor[None]):
    codes = (RequestCode.HEART_BEAT,)

    def __init__(
        self,
        admission: GroupTopics,
        consumers: Consumers,
        producers: Producers,
        filters: SqlFilters,
        clock: Clock,
    ) -> None:
        self._admission = admission
        self._consumers = consumers
        self._producers = producers
        self._filters = filters
        self._clock = clock

    def handle(self, request: Request[None]) -> Response | Later:
        """A heartbeat of usual size; a large one, or one with new expressions, is handled in steps, in its own task."""
        heard = _Heard(decode_request(HeartbeatData, request.body))
        self._admission.check_size(heard.data)
        if heard.size > _GROUPS_PER_STEP or self._unread(heard.data):
            # It is decoded once more then: a waiting request must not take several times the memory
            # of its bytes.
            return Later(request, self._in_steps)
        at_once(self._steps(request, heard))
        return heard.response()

    async def _in_steps(self, request: Request[None]) -> Response:
        heard = _Heard(decode_request(HeartbeatData, request.body))
        await self._filters.expressions.read(self._unread(heard.data), request.peer)
        await request.peer.in_turn(self._steps(request, heard))
        return heard.response()

    def _unread(self, data: HeartbeatData) -> list[str]:
        """Expressions that nobody has sent before, or not for long; without subscriptions there are none."""
        unread = self._filters.table.unread
        return [
            text
            for consumer in data.consumer_data_set
            for text in unread(consumer.group_name, consumer.subscription_data_set)
        ]

    def _steps(self, request: Request[None], heard: "_Heard") -> Steps[None]:
        data = heard.data
        said: list[ConsumerData | ProducerData] = [*data.consumer_data_set, *data.producer_data_set]
        for one in said:
            # A refused group does not prevent the client's other groups from being handled.
            try:
                if isinstance(one, ConsumerData):
                    changed = yield from self._consume(request, data, one, heard.objections)
                    heard.changed = changed or heard.changed
                else:
                    self._producers.register(one.group_name, self._client(request, data))
            except LimitReached as error:
                heard.limit = error
            yield 0

    def _consume(
        self,
        request: Request[None],
        data: HeartbeatData,
        consumer: ConsumerData,
        objections: list[str],
    ) -> Steps[bool]:
        """Register a member, or say why not; returns whether the group's last fingerprint was different."""
        if not consumer.group_name:
            raise CodecError("ConsumerData needs groupName")
        notify = self._admission.admit(consumer, request.peer)
        if notify is None:
            return False
        client = self._client(request, data)
        without_sub = data.heartbeat_fingerprint != 0 and data.without_sub
        objection = self._consumers.objection(client, consumer, without_sub=without_sub)
        if objection is not None:
            objections.append(objection)
            return False
        changed = self._consumers.fingerprint_changed(
            consumer.group_name, data.heartbeat_fingerprint
        )
        for _ in self._consumers.registering(client, consumer, notify, without_sub=without_sub):
            yield 0
        table = self._filters.table
        if without_sub:
            group = self._consumers.group(consumer.group_name)
            table.register_missing(
                consumer.group_name, group.subscriptions.values() if group else ()
            )
        else:
            table.register(consumer.group_name, consumer.subscription_data_set)
        return changed

    def _client(self, request: Request[None], data: HeartbeatData) -> Client:
        return Client(
            request.peer,
            data.client_id,
            request.language,
            request.version,
            self._clock.steady_millis(),
        )
