"""Other servers: the NameServers that list this broker, and brokers with parts of its topics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.cluster.registration import Registration
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.route import QueueData
from trimq.process.tls import name_server_context
from trimq.wiring.context import Context
from trimq.wiring.part import Part

TellLocal = Callable[[str, list[QueueData]], None]


@dataclass(frozen=True, slots=True)
class NameServers:
    """Where they are; ``tell_local`` tells one in this process of a new topic."""

    addresses: Sequence[str] = ()
    tell_local: TellLocal | None = None


def other_brokers(context: Context, name_servers: NameServers) -> OtherBrokers:
    return OtherBrokers(
        context.config, name_servers.addresses, name_server_context(context.plan.tls)
    )


def registration(context: Context, name_servers: NameServers, topics: Topics) -> Registration:
    """It runs from when the broker listens until before it stops to."""
    return Registration(
        context.config,
        context.identity,
        topics,
        name_servers.addresses,
        name_servers.tell_local,
        name_server_context(context.plan.tls),
    )


def part(others: OtherBrokers) -> Part:
    return Part(name="cluster", services={"connections to other brokers": others.run})
