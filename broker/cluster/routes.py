"""The queues of topics on all brokers, as the NameServers list them (TopicRouteInfoManager).

A route is asked for when somebody needs it and kept for a while. However many ask for the same one, one question
is under way. When no NameServer answers, the last answer counts.

A NameServer that takes a connection or a request and says nothing would hold up every question for seconds. So it is
asked again only when no other one answers, and not for a while when the last answer will do.
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

# Seconds without an answer that make a NameServer mute, and for how long it is not asked then.
_LONG: Final = 1
_MUTE_SECONDS: Final = 30


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
        # Until when they are left alone, by the clock that is never set.
        self._mute: dict[str, float] = {}

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
        """From a NameServer; `last` when none answers. Mute ones are asked only if there is no other answer."""
        mute: list[str] = []
        for name_server in self._name_servers:
            if name_server in self._mute:
                mute.append(name_server)
            elif (found := await self._answer(name_server, topic)) is not None:
                return self._remember(topic, found)
        if last is not None:
            now = self._clock.current_time()
            mute = [name_server for name_server in mute if now >= self._mute.get(name_server, now)]
        found = await self._first_answer(mute, topic)
        return last or _UNKNOWN if found is None else self._remember(topic, found)

    async def _first_answer(self, name_servers: Sequence[str], topic: str) -> _Known | None:
        """All of them are asked at once."""
        answers: list[_Known] = []
        async with trio.open_nursery() as nursery:

            async def ask(name_server: str) -> None:
                found = await self._answer(name_server, topic)
                if found is not None:
                    answers.append(found)
                    nursery.cancel_scope.cancel()

            for name_server in name_servers:
                nursery.start_soon(ask, name_server)
        return answers[0] if answers else None

    async def _answer(self, name_server: str, topic: str) -> _Known | None:
        """None: it does not say. One that takes long to say nothing is mute for a while."""
        asked = self._clock.current_time()
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        try:
            async with Client.connect(name_server, self._tls) as client:
                answer = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
            self._mute.pop(name_server, None)
            if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                return _UNKNOWN
            if answer.code == ResponseCode.SUCCESS:
                return self._known_from(topic, decode_body(TopicRouteData, answer.body))
            log.warning("no route: topic=%s code=%d from=%s", topic, answer.code, name_server)
        except (TransportError, CodecError) as error:
            log.warning("no route: topic=%s from=%s reason=%s", topic, name_server, error)
            now = self._clock.current_time()
            if now - asked >= _LONG:
                self._mute[name_server] = now + _MUTE_SECONDS
        return None

    def _known_from(self, topic: str, route: TopicRouteData) -> _Known:
        seconds = self._config.load_balance_poll_name_server_interval / 1000
        until = self._clock.current_time() + seconds
        return _Known(_readable(topic, route), _writable(topic, route), until)

    def _remember(self, topic: str, found: _Known) -> _Known:
        if found is _UNKNOWN:
            # It may come at any moment: not remembered.
            self._known.pop(topic, None)
            return found
        if len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[topic] = found
        return found


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
