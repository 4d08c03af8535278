"""The one place that knows all parts: which call is answered by whom, with what."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from trimq.base.clock import Clock
from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.clients import Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.endpoint import SERVICE, unary
from trimq.proxy.endpoints import Endpoints
from trimq.proxy.grpc.methods import Method
from trimq.proxy.links import Links
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos import service_pb2 as calls
from trimq.proxy.receipts import Receipts
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.ack_message import AckMessage
from trimq.proxy.rpcs.change_invisible_duration import ChangeInvisibleDuration
from trimq.proxy.rpcs.heartbeat import Heartbeat
from trimq.proxy.rpcs.query_assignment import QueryAssignment
from trimq.proxy.rpcs.query_route import QueryRoute
from trimq.proxy.rpcs.receive_message import ReceiveMessage
from trimq.proxy.rpcs.send_message import SendMessage
from trimq.proxy.rpcs.telemetry import Telemetry
from trimq.proxy.settings import SettingsMerger


class Proxy:
    """All that serves clients; what it starts runs in `nursery`."""

    def __init__(
        self,
        config: ProxyConfig,
        name_servers: Sequence[str],
        nursery: trio.Nursery,
        advertise: str = "",
        clock: Clock | None = None,
    ) -> None:
        clock = clock or Clock()
        links = Links(nursery)
        routes = Routes(links, name_servers, config.topic_route_service_cache_refresh_seconds)
        metadata = Metadata(
            links, routes, config.rocketmq_cluster_name, config.topic_config_cache_refresh_seconds
        )
        clients = Clients()
        merger = SettingsMerger(config, metadata)
        endpoints = Endpoints(advertise)
        receipts = Receipts()
        acknowledging = Acknowledging(config, links, routes, nursery)
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
                calls.HeartbeatRequest, calls.HeartbeatResponse, Heartbeat(clients)
            ),
            f"{SERVICE}SendMessage": unary(
                calls.SendMessageRequest,
                calls.SendMessageResponse,
                SendMessage(config, links, routes, metadata, clock),
            ),
            f"{SERVICE}ReceiveMessage": Method(
                calls.ReceiveMessageRequest.FromString,
                answers=ReceiveMessage(
                    config, links, routes, clients, merger, acknowledging, receipts, clock
                ),
            ),
            f"{SERVICE}AckMessage": unary(
                calls.AckMessageRequest,
                calls.AckMessageResponse,
                AckMessage(acknowledging, receipts),
            ),
            f"{SERVICE}ChangeInvisibleDuration": unary(
                calls.ChangeInvisibleDurationRequest,
                calls.ChangeInvisibleDurationResponse,
                ChangeInvisibleDuration(config, acknowledging, receipts),
            ),
            f"{SERVICE}Telemetry": Method(
                calls.TelemetryCommand.FromString, talk=Telemetry(clients, merger)
            ),
        }
