"""The queues of topics on all brokers, as the NameServers list them (TopicRouteInfoManager).

A route is asked for when somebody needs it and kept for a while. However many ask for the same one, one question
is under way. When no NameServer answers, the last answer counts.
"""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

import trio

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.names import MASTER_ID
from trimq.remoting.clients.client import Client, Tls
from trimq.remoting.errors import TransportError

log = logging.getLogger("trimq.broker")

# Topics that are remembered; who asks names them.
_REMEMBERED: Final = 10_000


class _Known(NamedTuple):
    """`readable` and `writable` None: no NameServer knows the topic. `until`: by the clock that is never set."""

    readable: list[MessageQueue] | None
    writable: list[MessageQueue] | None
    until: float


_UNKNOWN: Final = _Known(None, None, 0)


class ClusterRoutes:
    def __init__(
        self,
        config: BrokerConfig,
        name_servers: Sequence[str],
        clock: Clock,
        tls: Tls | None = None,
    ) -> None:
        self._config = config
        self._name_servers = name_servers
        self._clock = clock
        self._tls = tls
        self._known: dict[str, _Known] = {}
        self._locks: dict[str, trio.Lock] = {}

    async def readable_queues(self, topic: str) -> list[MessageQueue] | None:
        """In order of brokers and numbers; None for a topic that nobody knows."""
        return (await self._route(topic)).readable

    async def writable_queues(self, topic: str) -> list[MessageQueue] | None:
        """What producers send to, of brokers with a master, in the same order (topicRouteData2TopicPublishInfo)."""
        return (await self._route(topic)).writable

    async def _route(self, topic: str) -> _Known:
        lock = self._locks.setdefault(topic, trio.Lock())
        try:
            async with lock:
                known = self._known.get(topic)
                if known is None or known.until < self._clock.current_time():
                    known = await self._ask(topic, known)
        finally:
            if not lock.statistics().tasks_waiting:
                self._locks.pop(topic, None)
        return known

    async def _ask(self, topic: str, last: _Known | None) -> _Known:
        seconds = self._config.load_balance_poll_name_server_interval / 1000
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        for name_server in self._name_servers:
            try:
                async with Client.connect(name_server, self._tls) as client:
                    answer = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
                if answer.code == ResponseCode.SUCCESS:
                    route = decode_body(TopicRouteData, answer.body)
                elif answer.code == ResponseCode.TOPIC_NOT_EXIST:
                    # It may come at any moment: not remembered.
                    self._known.pop(topic, None)
                    return _UNKNOWN
                else:
                    log.warning(
                        "no route: topic=%s code=%d from=%s", topic, answer.code, name_server
                    )
                    continue
            except (TransportError, CodecError) as error:
                log.warning("no route: topic=%s from=%s reason=%s", topic, name_server, error)
                continue
            until = self._clock.current_time() + seconds
            known = _Known(_readable(topic, route), _writable(topic, route), until)
            if len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[topic] = known
            return known
        return last or _UNKNOWN


def _readable(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    return sorted(
        MessageQueue(broker_name=data.broker_name, queue_id=number, topic=topic)
        for data in route.queue_datas
        if Perm.readable(data.perm)
        for number in range(data.read_queue_nums)
    )


def _writable(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    masters = {data.broker_name for data in route.broker_datas if MASTER_ID in data.broker_addrs}
    return sorted(
        MessageQueue(broker_name=data.broker_name, queue_id=number, topic=topic)
        for data in route.queue_datas
        if Perm.writable(data.perm) and data.broker_name in masters
        for number in range(data.write_queue_nums)
    )
