"""The one place that knows all parts: which call is answered by whom, with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.announcing import Announcing
from trimq.proxy.clients import Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.endpoint import SERVICE, unary
from trimq.proxy.endpoints import Endpoints
from trimq.proxy.grpc.methods import Method, unimplemented
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
        # What brokers ask over them is answered by parts that need them.
        losses = Losses(name_servers)
        links = Links(nursery, lambda: questions, tls, losses)
        refresh = config.topic_route_service_cache_refresh_seconds
        routes = Routes(links, name_servers, refresh, nursery)
        metadata = Metadata(
            links,
            routes,
            config.rocketmq_cluster_name,
            config.topic_config_cache_refresh_seconds,
            nursery,
        )
        clients = Clients(config.channel_expired_timeout / 1000)
        registration = Registration(metadata)
        types = MessageTypes(config, metadata)
        asking = Asking(clients, config.grpc_proxy_relay_request_timeout_in_seconds)
        transactions = Transactions(config, links, routes, HalfMessages(links, routes))
        producers = TransactionProducers(config, clients, links, routes, metadata)
        questions: list[AnyProcessor] = [
            CheckTransactionState(clients, transactions, producers, nursery, clock),
            GetConsumerRunningInfo(asking, clock),
            ConsumeMessageDirectly(asking, clock),
            NotifyUnsubscribeLite(clients, nursery),
        ]
        merger = SettingsMerger(config, metadata)
        endpoints = Endpoints(advertise)
        acknowledging = Acknowledging(links, routes, clock, nursery)
        silence = config.channel_expired_timeout / 1000
        self.receipts = receipts = Receipts(
            config,
            acknowledging,
            metadata.group,
            lambda client_id, group: clients.is_here(client_id, group, silence),
            clock,
            nursery,
        )
        nursery.start_soon(receipts.run)
        lite = LiteSubscriptions(
            links, routes, metadata, config.max_sync_lite_subscription_rate, nursery
        )
        clients.on_end += [lambda client: receipts.release_all(client.client_id), lite.leave]
        clients.on_torn_off.append(lite.leave)
        self.methods: dict[str, Method] = {
            f"{SERVICE}QueryRoute": unary(
                calls.QueryRouteRequest,
                calls.QueryRouteResponse,
                QueryRoute(routes, metadata, endpoints),
            ),
            f"{SERVICE}QueryAssignment": unary(
                calls.QueryAssignmentRequest,
                calls.QueryAssignmentResponse,
                QueryAssignment(routes, metadata, endpoints),
            ),
            f"{SERVICE}Heartbeat": unary(
                calls.HeartbeatRequest,
                calls.HeartbeatResponse,
                Heartbeat(clients, registration),
            ),
            f"{SERVICE}SendMessage": unary(
                calls.SendMessageRequest,
                calls.SendMessageResponse,
                SendMessage(config, links, routes, types, transactions, clock),
            ),
            f"{SERVICE}ReceiveMessage": Method(
                calls.ReceiveMessageRequest.FromString,
                answers=ReceiveMessage(
                    config,
                    routes,
                    clients,
                    merger,
                    receipts,
                    Popping(links, acknowledging),
                    HandingOut(acknowledging, receipts, clients, clock),
                    clock,
                ),
            ),
            f"{SERVICE}AckMessage": unary(
                calls.AckMessageRequest,
                calls.AckMessageResponse,
                AckMessage(config, acknowledging, receipts),
            ),
            f"{SERVICE}ChangeInvisibleDuration": unary(
                calls.ChangeInvisibleDurationRequest,
                calls.ChangeInvisibleDurationResponse,
                ChangeInvisibleDuration(config, acknowledging, receipts),
                refused,
            ),
            f"{SERVICE}ForwardMessageToDeadLetterQueue": unary(
                calls.ForwardMessageToDeadLetterQueueRequest,
                calls.ForwardMessageToDeadLetterQueueResponse,
                ForwardMessageToDeadLetterQueue(acknowledging, receipts),
            ),
            f"{SERVICE}SyncLiteSubscription": unary(
                calls.SyncLiteSubscriptionRequest,
                calls.SyncLiteSubscriptionResponse,
                SyncLiteSubscription(config, lite),
            ),
            f"{SERVICE}Telemetry": Method(
                calls.TelemetryCommand.FromString,
                talk=Telemetry(clients, merger, registration, asking),
            ),
            f"{SERVICE}EndTransaction": unary(
                calls.EndTransactionRequest,
                calls.EndTransactionResponse,
                EndTransaction(transactions),
            ),
            f"{SERVICE}RecallMessage": unary(
                calls.RecallMessageRequest,
                calls.RecallMessageResponse,
                RecallMessage(links, routes, types),
            ),
            f"{SERVICE}NotifyClientTermination": unary(
                calls.NotifyClientTerminationRequest,
                calls.NotifyClientTerminationResponse,
                NotifyClientTermination(clients),
            ),
            **{f"{SERVICE}{name}": unimplemented(f"{SERVICE}{name}") for name in _NOT_SERVED},
        }
        looking = Looking(links, losses, name_servers, config.rocketmq_cluster_name)
        nursery.start_soon(looking.keep)
        nursery.start_soon(clients.keep, clock)
        nursery.start_soon(producers.keep, clock)
        announcing = Announcing(clients, links, routes, config.rocketmq_cluster_name)
        nursery.start_soon(announcing.keep, clock)
        self._clients = clients

    async def leave(self) -> None:
        """Clients are told to go to another proxy, or to this one's successor."""
        with trio.move_on_after(_LEAVE_SECONDS):
            await self._clients.tell_all_to_reconnect()
            # What was said leaves before the connections end.
            await trio.sleep(_LAST_WORDS_SECONDS)

    async def close(self) -> None:
        """In an orderly end, while all still runs: what clients have is visible again at once."""
        await self.receipts.close()
