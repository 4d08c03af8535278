"""The broker's processors: a literal list, so that a search for a name finds where it is used."""

from functools import partial
from typing import TYPE_CHECKING, Any

from trimq.broker.clock import Clock
from trimq.broker.identity import BrokerIdentity
from trimq.broker.puts import PutRules
from trimq.broker.unique_ids import UniqueIds
from trimq.options import ServerPlan
from trimq.processors.admin._backlog import Backlog
from trimq.processors.admin._store_figures import StoreFigures
from trimq.processors.admin.clean_expired_consumequeue import CleanExpiredConsumequeue
from trimq.processors.admin.clean_unused_topic import CleanUnusedTopic
from trimq.processors.admin.delete_expired_commitlog import DeleteExpiredCommitlog
from trimq.processors.admin.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.admin.delete_topic_in_broker import DeleteTopicInBroker
from trimq.processors.admin.get_all_delay_offset import GetAllDelayOffset
from trimq.processors.admin.get_all_subscriptiongroup_config import GetAllSubscriptiongroupConfig
from trimq.processors.admin.get_all_topic_config import GetAllTopicConfig
from trimq.processors.admin.get_broker_config import GetBrokerConfig
from trimq.processors.admin.get_broker_consume_stats import GetBrokerConsumeStats
from trimq.processors.admin.get_broker_ha_status import GetBrokerHaStatus
from trimq.processors.admin.get_broker_runtime_info import GetBrokerRuntimeInfo
from trimq.processors.admin.get_consume_stats import GetConsumeStats
from trimq.processors.admin.get_subscriptiongroup_config import GetSubscriptiongroupConfig
from trimq.processors.admin.get_system_topic_list_from_broker import GetSystemTopicListFromBroker
from trimq.processors.admin.get_topic_config import GetTopicConfig
from trimq.processors.admin.get_topic_stats_info import GetTopicStatsInfo
from trimq.processors.admin.reset_master_flush_offset import ResetMasterFlushOffset
from trimq.processors.admin.set_commitlog_read_mode import SetCommitlogReadMode
from trimq.processors.admin.switch_timer_engine import SwitchTimerEngine
from trimq.processors.admin.update_and_create_static_topic import UpdateAndCreateStaticTopic
from trimq.processors.admin.update_and_create_subscriptiongroup import (
    UpdateAndCreateSubscriptiongroup,
)
from trimq.processors.admin.update_and_create_subscriptiongroup_list import (
    UpdateAndCreateSubscriptiongroupList,
)
from trimq.processors.admin.update_and_create_topic import UpdateAndCreateTopic
from trimq.processors.admin.update_and_create_topic_list import UpdateAndCreateTopicList
from trimq.processors.admin.update_and_get_group_forbidden import UpdateAndGetGroupForbidden
from trimq.processors.admin.update_broker_config import UpdateBrokerConfig
from trimq.processors.admin.view_broker_stats_data import ViewBrokerStatsData
from trimq.processors.admin.view_message_by_id import ViewMessageById
from trimq.processors.clients.check_client_config import CheckClientConfig
from trimq.processors.clients.consume_message_directly import ConsumeMessageDirectly
from trimq.processors.clients.get_all_producer_info import GetAllProducerInfo
from trimq.processors.clients.get_consumer_connection_list import GetConsumerConnectionList
from trimq.processors.clients.get_consumer_list_by_group import GetConsumerListByGroup
from trimq.processors.clients.get_consumer_running_info import GetConsumerRunningInfo
from trimq.processors.clients.get_producer_connection_list import GetProducerConnectionList
from trimq.processors.clients.heart_beat import GroupTopics, HeartBeat
from trimq.processors.clients.lock_batch_mq import LockBatchMq
from trimq.processors.clients.query_subscription_by_consumer import QuerySubscriptionByConsumer
from trimq.processors.clients.query_topic_consume_by_who import QueryTopicConsumeByWho
from trimq.processors.clients.query_topics_by_consumer import QueryTopicsByConsumer
from trimq.processors.clients.unlock_batch_mq import UnlockBatchMq
from trimq.processors.clients.unregister_client import UnregisterClient
from trimq.processors.consume._checks import PullChecks
from trimq.processors.consume._pulling import Pulling
from trimq.processors.consume._subscriptions import PullSubscriptions
from trimq.processors.consume.get_all_message_request_mode import GetAllMessageRequestMode
from trimq.processors.consume.lite_pull_message import LitePullMessage
from trimq.processors.consume.pull_message import PullMessage
from trimq.processors.consume.query_consume_queue import QueryConsumeQueue
from trimq.processors.consume.query_message import QueryMessage
from trimq.processors.consume.set_message_request_mode import SetMessageRequestMode
from trimq.processors.lite._checks import LiteChecks
from trimq.processors.lite.get_broker_lite_info import GetBrokerLiteInfo
from trimq.processors.lite.get_lite_client_info import GetLiteClientInfo
from trimq.processors.lite.get_lite_group_info import GetLiteGroupInfo
from trimq.processors.lite.get_lite_topic_info import GetLiteTopicInfo
from trimq.processors.lite.get_parent_topic_info import GetParentTopicInfo
from trimq.processors.lite.trigger_lite_dispatch import TriggerLiteDispatch
from trimq.processors.offsets._broker_reset import BrokerReset
from trimq.processors.offsets._client_reset import ClientReset
from trimq.processors.offsets.clone_group_offset import CloneGroupOffset
from trimq.processors.offsets.get_all_consumer_offset import GetAllConsumerOffset
from trimq.processors.offsets.get_earliest_msg_storetime import GetEarliestMsgStoretime
from trimq.processors.offsets.get_max_offset import GetMaxOffset
from trimq.processors.offsets.get_min_offset import GetMinOffset
from trimq.processors.offsets.invoke_broker_to_get_consumer_status import (
    InvokeBrokerToGetConsumerStatus,
)
from trimq.processors.offsets.invoke_broker_to_reset_offset import InvokeBrokerToResetOffset
from trimq.processors.offsets.query_consume_time_span import QueryConsumeTimeSpan
from trimq.processors.offsets.query_consumer_offset import QueryConsumerOffset
from trimq.processors.offsets.query_correction_offset import QueryCorrectionOffset
from trimq.processors.offsets.search_offset_by_timestamp import SearchOffsetByTimestamp
from trimq.processors.offsets.update_consumer_offset import UpdateConsumerOffset
from trimq.processors.produce._admission import Admission
from trimq.processors.produce._properties import SendProperties
from trimq.processors.produce._retries import RetrySends
from trimq.processors.produce._sending import Destination, Sending
from trimq.processors.produce.consumer_send_msg_back import ConsumerSendMsgBack
from trimq.processors.produce.send_batch_message import SendBatchMessage
from trimq.processors.produce.send_message import SendMessage
from trimq.processors.produce.send_message_v2 import SendMessageV2
from trimq.remoting.contract import Processor

if TYPE_CHECKING:
    from trimq.wiring.broker import State

# BrokerController.registerProcessor: the fast remoting server has no pulls, whatever else it has.
_MAIN_PORT_ONLY = (PullMessage, LitePullMessage)


def on_main_port_only(processor: Processor[Any]) -> bool:
    """Whether the VIP port answers REQUEST_CODE_NOT_SUPPORTED instead."""
    return isinstance(processor, _MAIN_PORT_ONLY)


def processors(
    plan: ServerPlan, identity: BrokerIdentity, state: "State", clock: Clock
) -> list[Processor[Any]]:
    """One processor per request code."""
    return [
        *_produce(plan, identity, state, clock),
        *_consume(plan, identity, state, clock),
        *_clients(plan, state, clock),
        *_offsets(plan, state),
        *_progress(plan, identity, state, clock),
        *_topics(plan, state),
        *_groups(plan, state),
        ViewMessageById(state.store),
        *_retention(state),
        *_broker(plan, state, clock),
        *_lite(state),
    ]


def _produce(
    plan: ServerPlan, identity: BrokerIdentity, state: "State", clock: Clock
) -> list[Processor[Any]]:
    address = identity.packed_store_host[:-4]
    admission = Admission(plan.broker, identity, state.topics)
    properties = SendProperties(plan.broker, UniqueIds(address), clock)
    state.settings.add_listener(admission.reread)
    state.settings.add_listener(properties.reread)
    rules = PutRules(plan.store.delay_levels, state.store.check_writable)
    destination = Destination(state.store, plan.store, identity, clock, state.traffic)
    sending = Sending(
        admission,
        properties,
        RetrySends(state.topics, state.groups, state.locks),
        rules,
        destination,
        state.static,
    )
    return [
        SendMessage(sending),
        SendMessageV2(sending),
        SendBatchMessage(sending),
        ConsumerSendMsgBack(admission, state.topics, state.groups, rules, destination),
    ]


def _consume(
    plan: ServerPlan, identity: BrokerIdentity, state: "State", clock: Clock
) -> list[Processor[Any]]:
    subscriptions = PullSubscriptions(state.groups, state.consumers, clock)
    checks = PullChecks(
        plan.broker, identity, state.topics, state.groups, subscriptions, state.static
    )
    pulling = Pulling(
        plan.broker,
        checks,
        state.offsets,
        state.store,
        state.arrivals,
        state.traffic,
        state.static,
    )
    return [
        PullMessage(pulling),
        LitePullMessage(pulling),
        QueryMessage(plan.store, state.store),
        QueryConsumeQueue(state.consumers, state.store),
        SetMessageRequestMode(state.topics, state.groups, state.modes),
        GetAllMessageRequestMode(state.modes),
    ]


def _clients(plan: ServerPlan, state: "State", clock: Clock) -> list[Processor[Any]]:
    admission = GroupTopics(plan.broker, state.topics, state.groups)
    return [
        HeartBeat(admission, state.consumers, state.producers, clock),
        UnregisterClient(state.groups, state.consumers, state.producers, clock),
        CheckClientConfig(),
        GetConsumerListByGroup(state.consumers),
        GetConsumerConnectionList(state.consumers),
        GetProducerConnectionList(state.producers),
        GetAllProducerInfo(state.producers),
        GetConsumerRunningInfo(state.consumers),
        ConsumeMessageDirectly(
            plan.broker, state.topics, state.groups, state.consumers, state.store
        ),
        QueryTopicConsumeByWho(state.consumers, state.offsets),
        QuerySubscriptionByConsumer(state.consumers),
        LockBatchMq(state.locks),
        UnlockBatchMq(state.locks),
    ]


def _offsets(plan: ServerPlan, state: "State") -> list[Processor[Any]]:
    static, store = state.static, state.store
    return [
        QueryConsumerOffset(static, state.offsets, store),
        UpdateConsumerOffset(static, plan.broker, state.topics, state.groups, state.offsets),
        GetMaxOffset(static, store),
        GetMinOffset(static, store),
        SearchOffsetByTimestamp(static, store),
        GetEarliestMsgStoretime(static, store),
        GetAllConsumerOffset(state.offsets),
        GetAllDelayOffset(state.delays),
    ]


def _progress(
    plan: ServerPlan, identity: BrokerIdentity, state: "State", clock: Clock
) -> list[Processor[Any]]:
    config, topics, offsets, store = plan.broker, state.topics, state.offsets, state.store
    by_broker = BrokerReset(config, state.groups, offsets, store)
    by_clients = ClientReset(config, state.consumers, offsets, store)
    backlog = Backlog(config, topics, state.consumers, offsets, store, state.stats)
    return [
        InvokeBrokerToResetOffset(config, topics, by_broker, by_clients),
        InvokeBrokerToGetConsumerStatus(state.consumers),
        CloneGroupOffset(topics, state.consumers, offsets),
        QueryConsumeTimeSpan(config, topics, offsets, store, clock),
        QueryCorrectionOffset(offsets, store),
        QueryTopicsByConsumer(identity, offsets),
        GetBrokerConsumeStats(identity, state.groups, offsets, backlog),
    ]


def _topics(plan: ServerPlan, state: "State") -> list[Processor[Any]]:
    timeout = plan.broker.register_broker_timeout_mills / 1000
    announced = partial(state.registration.settled, timeout)
    return [
        UpdateAndCreateTopic(plan.broker, state.topics, announced),
        UpdateAndCreateStaticTopic(plan.broker, state.topics, announced),
        UpdateAndCreateTopicList(plan.broker, state.topics, announced),
        DeleteTopicInBroker(plan.broker, state.topics, state.offsets, state.store, state.traffic),
        GetAllTopicConfig(plan.broker, state.topics),
        GetTopicConfig(state.topics),
        GetSystemTopicListFromBroker(state.topics),
        GetTopicStatsInfo(plan.broker, state.topics, state.store, state.stats),
    ]


def _groups(plan: ServerPlan, state: "State") -> list[Processor[Any]]:
    return [
        UpdateAndCreateSubscriptiongroup(state.groups),
        UpdateAndCreateSubscriptiongroupList(state.groups),
        DeleteSubscriptiongroup(state.groups, state.offsets, state.traffic),
        UpdateAndGetGroupForbidden(state.groups),
        GetSubscriptiongroupConfig(state.groups),
        GetAllSubscriptiongroupConfig(plan.broker, state.groups),
        GetConsumeStats(
            plan.broker, state.topics, state.consumers, state.offsets, state.store, state.stats
        ),
    ]


def _retention(state: "State") -> list[Processor[Any]]:
    return [
        DeleteExpiredCommitlog(state.store.cleaning),
        CleanExpiredConsumequeue(state.topics, state.store),
        CleanUnusedTopic(state.topics, state.store),
    ]


def _broker(plan: ServerPlan, state: "State", clock: Clock) -> list[Processor[Any]]:
    figures = StoreFigures(plan.broker, plan.store, state.store)
    return [
        GetBrokerConfig(state.settings),
        UpdateBrokerConfig(state.settings),
        GetBrokerRuntimeInfo(state.stats, figures, state.delays, clock),
        ViewBrokerStatsData(state.stats),
        GetBrokerHaStatus(state.store),
        SetCommitlogReadMode(),
        SwitchTimerEngine(),
        ResetMasterFlushOffset(),
    ]


def _lite(state: "State") -> list[Processor[Any]]:
    checks = LiteChecks(state.topics, state.groups)
    return [
        GetBrokerLiteInfo(checks, state.offsets, state.store),
        GetParentTopicInfo(checks),
        GetLiteTopicInfo(checks),
        GetLiteClientInfo(checks),
        GetLiteGroupInfo(checks),
        TriggerLiteDispatch(checks),
    ]
