"""Sharing queues out among the clients of a group that ask for it."""

from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.groups.consumers import Consumers
from trimq.broker.groups.request_modes import RequestModes
from trimq.process.tls import name_server_context
from trimq.processors.assignment.query_assignment import QueryAssignment
from trimq.wiring.given import Given
from trimq.wiring.part import Part
from trimq.wiring.parts.cluster import NameServers


def cluster_routes(given: Given, name_servers: NameServers) -> ClusterRoutes:
    tls = name_server_context(given.plan.tls)
    return ClusterRoutes(given.config, name_servers.addresses, given.clock, tls)


def part(given: Given, routes: ClusterRoutes, modes: RequestModes, consumers: Consumers) -> Part:
    name = given.identity.name
    return Part(
        name="assignment",
        processors=[QueryAssignment(given.config, name, routes, modes, consumers)],
    )
