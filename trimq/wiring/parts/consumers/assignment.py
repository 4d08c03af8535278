"""Sharing queues out among the clients of a group that ask for it."""

from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.process.tls import name_server_context
from trimq.processors.assignment.query_assignment import QueryAssignment
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.brokers.cluster import NameServers


def cluster_routes(context: Context, name_servers: NameServers) -> ClusterRoutes:
    tls = name_server_context(context.plan.tls)
    return ClusterRoutes(context.config, name_servers.addresses, context.real_clock, tls)


def part(
    context: Context, routes: ClusterRoutes, modes: RequestModes, consumers: Consumers
) -> Part:
    identity = context.identity
    return Part(
        name="assignment",
        processors=[QueryAssignment(context.config, identity, routes, modes, consumers)],
    )
