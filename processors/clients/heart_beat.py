"""HEART_BEAT: a client says which groups it is in (ClientManageProcessor.heartBeat, heartBeatV2).

Every consumer group gets its %RETRY% topic here. A fingerprint other than 0 marks version 2: such a
heartbeat may leave the subscriptions out, and is told when the group's last one was another.
Groups that do not exist and may not be created are left out without a word; the code is always 0,
unless refuseInconsistentSubscription is on and members of a group would contradict each other.
"""

import logging

from trimq.broker.clients import Client
from trimq.broker.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.consumer_group import CONSUME_ACTIVELY
from trimq.broker.consumers import Consumers
from trimq.broker.producers import Producers
from trimq.broker.subscription_groups import SubscriptionGroups
from trimq.broker.topic_names import retry_topic
from trimq.broker.topics import Topics
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm, TopicSysFlag
from trimq.remoting.contract import Processor, RemotingError, Request, Response

log = logging.getLogger("trimq.broker")


class GroupTopics:
    """What a heartbeat needs of groups and topics: settings, and a retry topic for each group."""

    def __init__(self, config: BrokerConfig, topics: Topics, groups: SubscriptionGroups) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups

    def admit(self, data: ConsumerData) -> bool | None:
        """Whether members of the group are told of changes; None when it may not consume here."""
        if self._config.reject_pull_consumer_enable and data.consume_type == CONSUME_ACTIVELY:
            return None
        group = self._groups.find(data.group_name)
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


class HeartBeat(Processor[None]):
    codes = (RequestCode.HEART_BEAT,)

    def __init__(
        self, admission: GroupTopics, consumers: Consumers, producers: Producers, clock: Clock
    ) -> None:
        self._admission = admission
        self._consumers = consumers
        self._producers = producers
        self._clock = clock

    def handle(self, request: Request[None]) -> Response:
        data = decode_body(HeartbeatData, request.body)
        changed = False
        # Those who are refused do not keep the client's other groups from being heard.
        objections: list[str] = []
        for consumer in data.consumer_data_set:
            changed = self._consume(request, data, consumer, objections) or changed
        for producer in data.producer_data_set:
            self._producers.register(producer.group_name, self._client(request, data))
        if objections:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, " ".join(objections))
        # A heartbeat of version 1 is always told "changed" (it does not look).
        told = changed or not data.heartbeat_fingerprint
        return Response(
            ext_fields={
                "IS_SUPPORT_HEART_BEAT_V2": "true",
                "IS_SUB_CHANGE": "true" if told else "false",
            }
        )

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
        notify = self._admission.admit(consumer)
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
