"""HEART_BEAT: a client says which groups it is in (ClientManageProcessor.heartBeat, heartBeatV2).

Every consumer group gets its %RETRY% topic here. A fingerprint other than 0 marks version 2: such a
heartbeat may leave the subscriptions out, and is told when the group's last one was another.
Groups that do not exist and may not be created are left out without a word; the code is always 0,
unless refuseInconsistentSubscription is on and members of a group would contradict each other.
"""

import logging
from collections.abc import Iterator
from typing import Final

import trio

from trimq.broker.clients import Client
from trimq.broker.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.consumer_group import CONSUME_ACTIVELY
from trimq.broker.consumers import Consumers
from trimq.broker.producers import Producers
from trimq.broker.subscription_groups import SubscriptionGroups
from trimq.broker.topic_names import retry_topic
from trimq.broker.topics import Topics
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm, TopicSysFlag
from trimq.remoting.contract import (
    LimitReached,
    Peer,
    Processor,
    RemotingError,
    Request,
    Response,
)

log = logging.getLogger("trimq.broker")

# What a new group costs, with its retry topic and its log lines, is some 0.1 ms.
_GROUPS_PER_STEP: Final = 50


class GroupTopics:
    """What a heartbeat needs of groups and topics: settings, and a retry topic for each group."""

    def __init__(self, config: BrokerConfig, topics: Topics, groups: SubscriptionGroups) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups

    def check_size(self, data: HeartbeatData) -> None:
        """LimitReached when it names more groups than any client is in."""
        count = len(data.consumer_data_set) + len(data.producer_data_set)
        most = self._config.max_heartbeat_groups
        if most and count > most:
            raise LimitReached(
                ResponseCode.SYSTEM_ERROR,
                f"a heartbeat of {count} groups: no more than {most} are allowed"
                " (maxHeartbeatGroups)",
                "maxHeartbeatGroups",
            )

    def admit(self, data: ConsumerData, peer: Peer) -> bool | None:
        """Whether members of the group are told of changes; None when it may not consume here."""
        if self._config.reject_pull_consumer_enable and data.consume_type == CONSUME_ACTIVELY:
            return None
        group = self._groups.find(data.group_name, peer.remote_addr)
        if group is None:
            return None
        ordered = any(
            self._topics.is_order_topic(subscription.topic)
            for subscription in data.subscription_data_set
        )
        self._topics.create_in_send_back(
            retry_topic(data.group_name),
            group.retry_queue_nums,
            Perm.READ | Perm.WRITE,
            TopicSysFlag.UNIT_SUB if data.unit_mode else 0,
            order=ordered,
        )
        return group.notify_consumer_ids_changed_enable


class _Heard:
    """A heartbeat, and what came of it so far."""

    __slots__ = ("changed", "data", "limit", "objections")

    def __init__(self, data: HeartbeatData) -> None:
        self.data = data
        self.changed = False
        self.objections: list[str] = []
        self.limit: LimitReached | None = None

    @property
    def size(self) -> int:
        return len(self.data.consumer_data_set) + len(self.data.producer_data_set)

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
    waits = True

    def __init__(
        self, admission: GroupTopics, consumers: Consumers, producers: Producers, clock: Clock
    ) -> None:
        self._admission = admission
        self._consumers = consumers
        self._producers = producers
        self._clock = clock

    def handle_at_once(self, request: Request[None]) -> Response | None:
        """A heartbeat of usual size; a large one is heard in steps, in a task of its own."""
        heard = _Heard(decode_request(HeartbeatData, request.body))
        self._admission.check_size(heard.data)
        if heard.size > _GROUPS_PER_STEP:
            return None
        for _ in self._steps(request, heard):
            pass
        return heard.response()

    async def handle(self, request: Request[None]) -> Response:
        heard = _Heard(decode_request(HeartbeatData, request.body))
        for _ in self._steps(request, heard):
            await trio.lowlevel.checkpoint()
        return heard.response()

    def _steps(self, request: Request[None], heard: "_Heard") -> Iterator[None]:
        data = heard.data
        said: list[ConsumerData | ProducerData] = [*data.consumer_data_set, *data.producer_data_set]
        for number, one in enumerate(said, 1):
            # Those who are refused do not keep the client's other groups from being heard.
            try:
                if isinstance(one, ConsumerData):
                    changed = self._consume(request, data, one, heard.objections)
                    heard.changed = changed or heard.changed
                else:
                    self._producers.register(one.group_name, self._client(request, data))
            except LimitReached as error:
                heard.limit = error
            if number % _GROUPS_PER_STEP == 0:
                yield

    def _consume(
        self,
        request: Request[None],
        data: HeartbeatData,
        consumer: ConsumerData,
        objections: list[str],
    ) -> bool:
        """Register a member, or say why not; whether the group's last fingerprint was another."""
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
        self._consumers.register(client, consumer, notify, without_sub=without_sub)
        return changed

    def _client(self, request: Request[None], data: HeartbeatData) -> Client:
        return Client(
            request.peer,
            data.client_id,
            request.language,
            request.version,
            self._clock.millis(),
        )
