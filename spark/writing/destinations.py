"""Where messages go: the queues of each topic and the addresses of their brokers, for one task."""

from __future__ import annotations

from functools import partial
from typing import Final

from trimq.admin.errors import AdminError, NotFound
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.flags import Perm
from trimq.codec.names import MASTER_ID
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.options.values import Connection
from trimq.spark.planning.routes import NoNameServer
from trimq.spark.reading.outages import Away, patiently

# Seconds to wait for a topic that no registered broker has: a mistyped name, or its broker is
# starting.
_DOUBT: Final = 30.0


class NoDestination(SparkSourceError):
    """A topic accepts no messages, and waiting does not help."""


class Place:
    """A queue that may be written to."""

    __slots__ = ("broker_name", "queue_id", "topic")

    def __init__(self, topic: str, broker_name: str, queue_id: int) -> None:
        self.topic = topic
        self.broker_name = broker_name
        self.queue_id = queue_id


class Destinations:
    """Asks the NameServer once for each topic, and again for a broker that is away."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._masters: dict[str, str] = {}
        self._doubted = False

    def places(self, topic: str) -> list[Place]:
        """The queues of a topic, ordered by broker name.

        NoDestination if there is none; SparkSourceError if nobody could be asked for too long.
        """
        patience = self._connection.patience
        what = f"messages for topic {topic!r} cannot be sent"
        try:
            route = patiently(what, patience, partial(self._route, topic, NotFound))
        except NotFound:
            # Once for all topics: a task with many unknown ones has to end, too.
            limit = 0 if self._doubted else min(_DOUBT, patience)
            self._doubted = True
            try:
                route = patiently(what, limit, partial(self._route, topic, Away))
            except SparkSourceError as error:
                raise NoDestination(str(error)) from None
        found = [
            Place(topic, data.broker_name, number)
            for data in sorted(route.queue_datas, key=lambda one: one.broker_name)
            if Perm.writable(data.perm) and data.broker_name in self._masters
            for number in data.writable()
        ]
        if not found:
            raise NoDestination(f"no broker lets messages be written to topic {topic!r}")
        return found

    def addr(self, broker_name: str) -> str:
        """Where a broker's master is, as far as is known."""
        return self._masters[broker_name]

    def look_again(self, broker_name: str) -> bool:
        """Whether the master is somewhere else now. When nobody knows, it is still where it was."""
        with self._connection.admin() as admin:
            try:
                found = admin.cluster_info().broker_addr_table.get(broker_name)
            except (AdminError, TransportError):
                return False
        addr = None if found is None else found.broker_addrs.get(MASTER_ID)
        if addr is None or addr == self._masters[broker_name]:
            return False
        self._masters[broker_name] = addr
        return True

    def _route(self, topic: str, unknown: type[NotFound | Away]) -> TopicRouteData:
        """The topic's route, or that of a topic created by the first message; `unknown` when there is neither."""
        servers = self._connection.name_servers
        with self._connection.admin() as admin:
            try:
                try:
                    route = admin.sending_route(topic)
                except NotFound:
                    names = sorted(admin.cluster_info().broker_addr_table)
                    raise _nowhere(servers, names, unknown) from None
            except Away:
                raise
            except TransportError as error:
                raise NoNameServer(servers, error) from None
        masters = {one.broker_name: one.broker_addrs.get(MASTER_ID) for one in route.broker_datas}
        known = {name: addr for name, addr in masters.items() if addr}
        if not known:
            raise Away(f"the masters of its brokers ({', '.join(sorted(masters))}) are away")
        self._masters |= known
        return route


def _nowhere(
    name_servers: str, names: list[str], unknown: type[NotFound | Away]
) -> NotFound | Away:
    if not names:
        return Away(f"no broker is registered with {name_servers!r}, all are away")
    return unknown(
        f"none of the brokers that are registered now ({', '.join(names)}) has the topic or"
        " creates topics by itself"
    )
