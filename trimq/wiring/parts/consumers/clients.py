"""Who is connected: producers, members of groups, and the queues that members have locked."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from trimq.broker.filters.sql_filters import SqlFilters
from trimq.broker.groups.clients.behind_proxies import BehindProxies
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.consumers.heartbeat_checks import GroupTopics
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.services import background as services
from trimq.broker.topics.table import Topics
from trimq.process.metrics import Sample
from trimq.processors.clients.check_client_config import CheckClientConfig
from trimq.processors.clients.consume_message_directly import ConsumeMessageDirectly
from trimq.processors.clients.get_all_producer_info import GetAllProducerInfo
from trimq.processors.clients.get_consumer_connection_list import GetConsumerConnectionList
from trimq.processors.clients.get_consumer_list_by_group import GetConsumerListByGroup
from trimq.processors.clients.get_consumer_running_info import GetConsumerRunningInfo
from trimq.processors.clients.get_producer_connection_list import GetProducerConnectionList
from trimq.processors.clients.heart_beat import HeartBeat
from trimq.processors.clients.lock_batch_mq import Gating, LockBatchMq
from trimq.processors.clients.proxy_clients import ProxyClients
from trimq.processors.clients.query_subscription_by_consumer import QuerySubscriptionByConsumer
from trimq.processors.clients.query_topic_consume_by_who import QueryTopicConsumeByWho
from trimq.processors.clients.unlock_batch_mq import UnlockBatchMq
from trimq.processors.clients.unregister_client import UnregisterClient
from trimq.remoting.contract import Peer
from trimq.wiring.context import Context
from trimq.wiring.part import Part


@dataclass(frozen=True, slots=True)
class Clients:
    """Consumers and producers, which go with their connections."""

    consumers: Consumers
    producers: Producers
    locks: QueueLocks
    proxies: BehindProxies

    def opened(self, peer: Peer) -> None:
        """A client is known by its heartbeat, not by its connection."""

    def closed(self, peer: Peer) -> None:
        self.consumers.closed(peer)
        self.producers.closed(peer)
        self.proxies.closed(peer)


def no_clients(context: Context) -> Clients:
    """Those of a broker that nobody has asked yet. They live by their own time; what they lock, by the broker's."""
    config, real = context.config, context.real_clock
    locks = QueueLocks(context.clock, config=config)
    proxies = BehindProxies(config, real)
    return Clients(Consumers(config, real), Producers(config, real), locks, proxies)


def part(
    context: Context,
    clients: Clients,
    topics: Topics,
    groups: SubscriptionGroups,
    offsets: ConsumerOffsets,
    filters: SqlFilters,
    gating: Gating,
) -> Part:
    config, clock = context.config, context.real_clock
    consumers, producers, locks = clients.consumers, clients.producers, clients.locks
    proxies, admission = clients.proxies, GroupTopics(config, topics, groups)
    return Part(
        name="clients",
        processors=[
            HeartBeat(admission, consumers, producers, filters, clock),
            UnregisterClient(groups, consumers, producers, clock),
            CheckClientConfig(config, filters.expressions),
            GetConsumerListByGroup(consumers),
            GetConsumerConnectionList(consumers, proxies),
            GetProducerConnectionList(producers),
            GetAllProducerInfo(producers),
            GetConsumerRunningInfo(consumers, proxies),
            ConsumeMessageDirectly(config, topics, groups, consumers, context.store, proxies),
            ProxyClients(admission, proxies),
            QueryTopicConsumeByWho(consumers, offsets),
            QuerySubscriptionByConsumer(consumers),
            LockBatchMq(locks, context.identity, gating, context.plan.replies_wait),
            UnlockBatchMq(locks),
        ],
        services={
            "scan consumers": partial(
                services.every_in_steps, services.SCAN_SECONDS, consumers.scan_expired
            ),
            "scan producers": partial(
                services.every_in_steps, services.SCAN_SECONDS, producers.scan_expired
            ),
            "scan clients of proxies": partial(
                services.every_in_steps, services.SCAN_SECONDS, proxies.scan_expired
            ),
            "forget consumers that left": consumers.leaving.run,
            "forget producers that left": producers.leaving.run,
            "forget expired locks": partial(
                services.every_async, services.SCAN_SECONDS, locks.forget_expired
            ),
            "send waiting notices": partial(
                services.every_in_steps, services.NOTICE_SECONDS, consumers.notices.send_waiting
            ),
            "tell members of large groups": consumers.notices.run,
        },
        connections=clients,
        samples=partial(_samples, consumers, producers),
    )


def _samples(consumers: Consumers, producers: Producers) -> Iterator[Sample]:
    yield Sample(
        "trimq_consumer_groups", "Consumer groups online.", "gauge", len(consumers.groups())
    )
    yield Sample(
        "trimq_producer_groups", "Producer groups online.", "gauge", len(producers.groups())
    )
    yield Sample(
        "trimq_subscription_disagreements",
        "Times that members of a group began to subscribe differently.",
        "counter",
        consumers.disagreements,
    )
    yield Sample(
        "trimq_disagreeing_groups",
        "Groups online whose members subscribe differently now.",
        "gauge",
        consumers.groups_in_dispute,
    )
