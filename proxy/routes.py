"""Who has a topic's queues: asked of a NameServer, and asked again after a while."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import trio

from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.route import QueueData, TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.names import MASTER_ID
from trimq.proxy.links import Links
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.statuses import BrokerRefused, ProxyError, inner_error, no_topic
from trimq.proxy.together import Together
from trimq.remoting.errors import TransportError

log = logging.getLogger("trimq.proxy")

# Routes that are kept (topicRouteServiceCacheMaxNum).
_MOST: Final = 20_000
# Times of renewal after which one that nobody used is not used before it was renewed.
_OLD: Final = 15


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue, or -1 for whichever the broker takes; `addr`: the broker's."""

    broker_name: str
    addr: str
    queue_id: int


class Route:
    """What a NameServer said of a topic, and whose turn it is next."""

    def __init__(self, topic: str, data: TopicRouteData, asked: float) -> None:
        self.topic = topic
        self.data = data
        self.asked = asked
        self._addrs = {one.broker_name: one.broker_addrs for one in data.broker_datas}
        self.writable = self._queues(False)
        self.readable = self._queues(True)
        # Each broker that can be read, as a queue of number -1.
        self.readers = self._one_each(self.readable)
        self._turn = random.randrange(1 << 30)

    def master(self, broker_name: str) -> str | None:
        return self._addrs.get(broker_name, {}).get(MASTER_ID)

    def readable_at(self, broker_name: str) -> str | None:
        """The master, or when it is away whoever else has its queues."""
        addrs = self._addrs.get(broker_name, {})
        return addrs.get(MASTER_ID) or next((addrs[key] for key in sorted(addrs)), None)

    @property
    def brokers(self) -> list[tuple[str, str]]:
        """Names and addresses, each broker's as `readable_at` has it."""
        found = ((name, self.readable_at(name)) for name in self._addrs)
        return [(name, addr) for name, addr in found if addr is not None]

    def next_writable(self, is_away: Callable[[str], bool] = lambda addr: False) -> Queue | None:
        """All in turn; those at addresses that are away only when there are no others."""
        queues = self.writable
        self._turn += 1
        for step in range(len(queues)):
            queue = queues[(self._turn + step) % len(queues)]
            if not is_away(queue.addr):
                self._turn += step
                return queue
        return queues[self._turn % len(queues)] if queues else None

    def reader(self, broker_name: str) -> Queue | None:
        """That broker; without a name, or when it has none of the topic, all brokers in turn."""
        for queue in self.readers:
            if queue.broker_name == broker_name:
                return queue
        self._turn += 1
        return self.readers[self._turn % len(self.readers)] if self.readers else None

    def _queues(self, to_read: bool) -> list[Queue]:
        if not to_read and self.data.order_topic_conf and not self.data.order_topic_conf.isspace():
            return self._ordered(self.data.order_topic_conf)
        queues: list[Queue] = []
        for one in self.data.queue_datas:
            if not (Perm.readable(one.perm) if to_read else Perm.writable(one.perm)):
                continue
            name = one.broker_name
            addr = self.readable_at(name) if to_read else self.master(name)
            if addr is not None:
                numbers = one.readable() if to_read else one.writable()
                queues += [Queue(name, addr, number) for number in numbers]
        return sorted(set(queues), key=lambda queue: (queue.broker_name, queue.queue_id))

    def _ordered(self, conf: str) -> list[Queue]:
        """`broker-a:4;broker-b:4`: an ordered topic's queues."""
        queues: list[Queue] = []
        for part in conf.split(";"):
            name, _, count = part.partition(":")
            if (addr := self.master(name)) is not None and count.isdecimal():
                data = QueueData(broker_name=name, write_queue_nums=int(count))
                queues += [Queue(name, addr, number) for number in data.writable()]
        return sorted(set(queues), key=lambda queue: (queue.broker_name, queue.queue_id))

    @staticmethod
    def _one_each(queues: list[Queue]) -> list[Queue]:
        names = dict.fromkeys((queue.broker_name, queue.addr) for queue in queues)
        return [Queue(name, addr, -1) for name, addr in names]


class Routes:
    """`refresh`: seconds after which a route is asked for again: in `nursery`, or while whoever wants it waits."""

    def __init__(
        self,
        links: Links,
        name_servers: Sequence[str],
        refresh: float,
        nursery: trio.Nursery | None = None,
    ) -> None:
        self._links = links
        self._name_servers = list(name_servers)
        self._refresh = refresh
        self._nursery = nursery
        self._routes: dict[str, Route] = {}
        self._together = Together(self._asked)

    async def of(self, topic: str) -> Route:
        """ProxyError TOPIC_NOT_FOUND when nobody has it; an old route while no NameServer answers."""
        known = self._routes.get(topic)
        if known is None:
            return await self._together.get(topic)
        age = trio.current_time() - known.asked
        if age < self._refresh:
            return known
        if self._nursery is not None and age <= self._refresh * _OLD:
            if not self._together.is_asking(topic):
                self._nursery.start_soon(self._ask_again, topic)
            return known
        # It was not used for long: what it says is not worth having.
        try:
            return await self._together.get(topic)
        except TransportError:
            return known

    async def master_of(self, broker_name: str) -> str:
        """A master's address: each broker has a topic of its own name. ProxyError: nobody is called so."""
        try:
            addr = (await self.of(broker_name)).master(broker_name)
        except (ProxyError, TransportError):
            addr = None
        if addr is None:
            raise inner_error(Code.BAD_REQUEST, f"cannot find broker {broker_name}")
        return addr

    async def broker(self, name: str) -> str:
        """A master's address: each broker has a topic of its own name. ProxyError when nobody is called so."""
        addr = (await self.of(name)).readable_at(name)
        if addr is None:
            raise ProxyError(Code.INTERNAL_SERVER_ERROR, f"cannot find broker {name}")
        return addr

    async def _ask_again(self, topic: str) -> None:
        try:
            await self._together.get(topic)
        except (ProxyError, TransportError, CodecError) as error:
            log.info("route not renewed: topic=%s reason=%s", topic, error)

    async def _asked(self, topic: str) -> Route:
        route = Route(topic, await self._ask(topic), trio.current_time())
        return self._keep(route)

    def _keep(self, route: Route) -> Route:
        known = self._routes.pop(route.topic, None)
        if known is not None and known.data == route.data:
            # Its turn goes on.
            known.asked = route.asked
            route = known
        self._routes[route.topic] = route
        if len(self._routes) > _MOST:
            del self._routes[next(iter(self._routes))]
        return route

    async def _ask(self, topic: str) -> TopicRouteData:
        header = GetRouteInfoRequestHeader(topic=topic)
        failure: TransportError | None = None
        for addr in list(self._name_servers):
            try:
                answer = await self._links.ask(addr, RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
            except TransportError as error:
                failure = error
                # Whoever is away is asked last.
                self._name_servers.remove(addr)
                self._name_servers.append(addr)
                continue
            if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                raise self._no_route(topic)
            if answer.code != ResponseCode.SUCCESS:
                raise BrokerRefused(answer)
            data = decode_body(TopicRouteData, answer.body)
            if not data.queue_datas or not data.broker_datas:
                raise self._no_route(topic)
            return data
        raise failure or ProxyError(Code.INTERNAL_SERVER_ERROR, "no NameServer is named")

    def _no_route(self, topic: str) -> ProxyError:
        """Nobody has it: what was known of it is wrong."""
        self._routes.pop(topic, None)
        reason = f"No topic route info in name server for the topic: {topic}"
        return ProxyError(Code.TOPIC_NOT_FOUND, no_topic(reason))
