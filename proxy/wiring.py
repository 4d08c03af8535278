"""The one place that knows all parts: which call is answered by whom, with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.announcing import Announcing
from trimq.proxy.clients import Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.endpoint import SERVICE, unary
from trimq.proxy.endpoints import Endpoints
from trimq.proxy.grpc.methods import Method, Unary, unimplemented
from trimq.proxy.half_messages import HalfMessages
from trimq.proxy.handing_out import HandingOut
from trimq.proxy.links import Links
from trimq.proxy.lite import LiteSubscriptions
from trimq.proxy.looking import Looking
from trimq.proxy.losses import Losses
from trimq.proxy.message_types import MessageTypes
from trimq.proxy.metadata import Metadata
from trimq.proxy.popping import Popping
from trimq.proxy.protos import service_pb2 as calls
from trimq.proxy.questions.asking import Asking
from trimq.proxy.questions.check_transaction_state import CheckTransactionState
from trimq.proxy.questions.consume_message_directly import ConsumeMessageDirectly
from trimq.proxy.questions.get_consumer_running_info import GetConsumerRunningInfo
from trimq.proxy.questions.notify_unsubscribe_lite import NotifyUnsubscribeLite
from trimq.proxy.receipts import Receipts
from trimq.proxy.registration import Registration
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.ack_message import AckMessage
from trimq.proxy.rpcs.change_invisible_duration import ChangeInvisibleDuration, refused
from trimq.proxy.rpcs.end_transaction import EndTransaction
from trimq.proxy.rpcs.forward_message_to_dead_letter_queue import ForwardMessageToDeadLetterQueue
from trimq.proxy.rpcs.heartbeat import Heartbeat
from trimq.proxy.rpcs.notify_client_termination import NotifyClientTermination
from trimq.proxy.rpcs.query_assignment import QueryAssignment
from trimq.proxy.rpcs.query_route import QueryRoute
from trimq.proxy.rpcs.recall_message import RecallMessage
from trimq.proxy.rpcs.receive_message import ReceiveMessage
from trimq.proxy.rpcs.send_message import SendMessage
from trimq.proxy.rpcs.sync_lite_subscription import SyncLiteSubscription
from trimq.proxy.rpcs.telemetry import Telemetry
from trimq.proxy.settings import SettingsMerger
from trimq.proxy.transaction_producers import TransactionProducers
from trimq.proxy.transactions import Transactions
from trimq.remoting.clients.client import Tls
from trimq.remoting.serving.dispatch import AnyProcessor

_LEAVE_SECONDS: Final = 1.0
_LAST_WORDS_SECONDS: Final = 0.05

# Of the older way to consume; the official proxy serves them no more.
_NOT_SERVED: Final = ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset")


class Parts:
    """All that calls are answered with; what goes on by itself runs in `nursery`."""

    def __init__(
        self,
        config: ProxyConfig,
        name_servers: Sequence[str],
        nursery: trio.Nursery,
        clock: Clock,
        tls: Tls | None,
    ) -> None:
        self.config = config
        self.clock = clock
        # What brokers ask over them is answered by parts that need them.
        self.losses = losses = Losses(name_servers)
        self.links = links = Links(nursery, lambda: questions, tls, losses)
        refresh = config.topic_route_service_cache_refresh_seconds
        self.routes = routes = Routes(links, name_servers, refresh, nursery)
        cluster = config.rocketmq_cluster_name
        self.metadata = metadata = Metadata(
            links,
            routes,
            cluster,
            config.topic_config_cache_refresh_seconds,
            nursery,
            config.subscription_group_config_cache_refresh_seconds,
        )
        silence = config.channel_expired_timeout / 1000
        self.clients = clients = Clients(silence)
        self.registration = Registration(metadata)
        self.types = MessageTypes(config, metadata)
        self.merger = SettingsMerger(config, metadata)
        self.asking = asking = Asking(clients, config.grpc_proxy_relay_request_timeout_in_seconds)
        halves = HalfMessages(links, routes)
        self.transactions = transactions = Transactions(config, links, routes, halves)
        self.producers = producers = TransactionProducers(config, clients, links, routes, metadata)
        questions: list[AnyProcessor] = [
            CheckTransactionState(clients, transactions, producers, nursery, clock),
            GetConsumerRunningInfo(asking, clock),
            ConsumeMessageDirectly(asking, clock),
            NotifyUnsubscribeLite(clients, nursery),
        ]
        self.acknowledging = acknowledging = Acknowledging(links, routes, clock, nursery)
        self.receipts = receipts = Receipts(
            config,
            acknowledging,
            metadata.group,
            lambda client_id, group: clients.is_here(client_id, group, silence),
            clock,
            nursery,
        )
        rate = config.max_sync_lite_subscription_rate
        self.lite = lite = LiteSubscriptions(links, routes, metadata, rate, nursery)
        clients.on_end += [lambda client: receipts.release_all(client.client_id), lite.leave]
        clients.on_torn_off.append(lite.leave)


class Proxy:
    """All that serves clients; what it starts runs in `nursery`. `tls`: how it talks to brokers and NameServers."""

    def __init__(
        self,
        config: ProxyConfig,
        name_servers: Sequence[str],
        nursery: trio.Nursery,
        advertise: str = "",
        clock: Clock | None = None,
        tls: Tls | None = None,
    ) -> None:
        clock = clock or Clock()
        self._parts = parts = Parts(config, name_servers, nursery, clock, tls)
        self.methods = _methods(parts, Endpoints(advertise))
        cluster, links = config.rocketmq_cluster_name, parts.links
        nursery.start_soon(parts.receipts.run)
        nursery.start_soon(Looking(links, parts.losses, name_servers, cluster).keep)
        nursery.start_soon(parts.clients.keep, clock)
        nursery.start_soon(parts.producers.keep, clock)
        nursery.start_soon(Announcing(parts.clients, links, parts.routes, cluster).keep, clock)

    async def leave(self) -> None:
        """Clients are told to go to another proxy, or to this one's successor."""
        with trio.move_on_after(_LEAVE_SECONDS):
            await self._parts.clients.tell_all_to_reconnect()
            # What was said leaves before the connections end.
            await trio.sleep(_LAST_WORDS_SECONDS)

    async def close(self) -> None:
        """In an orderly end, while all still runs: what clients have is visible again at once."""
        await self._parts.receipts.close()


def _methods(parts: Parts, endpoints: Endpoints) -> dict[str, Method]:
    """Who answers which call."""
    config, links, routes, clients = parts.config, parts.links, parts.routes, parts.clients
    acknowledging, receipts, clock = parts.acknowledging, parts.receipts, parts.clock
    once: dict[str, Unary] = {
        "QueryRoute": QueryRoute(routes, parts.metadata, endpoints),
        "QueryAssignment": QueryAssignment(routes, parts.metadata, endpoints),
        "Heartbeat": Heartbeat(clients, parts.registration),
        "SendMessage": SendMessage(config, links, routes, parts.types, parts.transactions, clock),
        "AckMessage": AckMessage(config, acknowledging, receipts),
        "ChangeInvisibleDuration": ChangeInvisibleDuration(config, acknowledging, receipts),
        "ForwardMessageToDeadLetterQueue": ForwardMessageToDeadLetterQueue(acknowledging, receipts),
        "SyncLiteSubscription": SyncLiteSubscription(config, parts.lite),
        "EndTransaction": EndTransaction(parts.transactions),
        "RecallMessage": RecallMessage(links, routes, parts.types),
        "NotifyClientTermination": NotifyClientTermination(clients),
    }
    receive = ReceiveMessage(
        config,
        routes,
        clients,
        parts.merger,
        receipts,
        Popping(links, acknowledging),
        HandingOut(acknowledging, receipts, clients, clock),
        clock,
    )
    talk = Telemetry(clients, parts.merger, parts.registration, parts.asking)
    return {
        **_asked_once(once),
        f"{SERVICE}ReceiveMessage": Method(calls.ReceiveMessageRequest.FromString, answers=receive),
        f"{SERVICE}Telemetry": Method(calls.TelemetryCommand.FromString, talk=talk),
        **{f"{SERVICE}{name}": unimplemented(f"{SERVICE}{name}") for name in _NOT_SERVED},
    }


def _asked_once(handlers: Mapping[str, Unary]) -> dict[str, Method]:
    """Calls with one request and one answer, by the names of their messages."""
    methods: dict[str, Method] = {}
    for name, handle in handlers.items():
        asked, answer = getattr(calls, f"{name}Request"), getattr(calls, f"{name}Response")
        failed = refused if name == "ChangeInvisibleDuration" else None
        methods[f"{SERVICE}{name}"] = unary(asked, answer, handle, failed)
    return methods
