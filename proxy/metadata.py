"""What brokers know of topics and groups, asked again after a while (ClusterMetadataService)."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import trio

from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.headers.groups import GetSubscriptionGroupConfigRequestHeader
from trimq.codec.headers.topics import GetTopicConfigRequestHeader
from trimq.proxy.links import Links
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import ProxyError
from trimq.proxy.together import Together
from trimq.remoting.errors import TransportError

_MOST: Final = 20_000
# Times of renewal after which an answer that nobody used is not used before it was renewed.
_OLD: Final = 15
V = TypeVar("V")


class Metadata:
    """`refresh`: seconds after which something is asked for again: in `nursery`, or while whoever wants it waits.

    `group_refresh`: the same of groups, if it is another time.
    """

    def __init__(
        self,
        links: Links,
        routes: Routes,
        cluster: str,
        refresh: float,
        nursery: trio.Nursery | None = None,
        group_refresh: float | None = None,
    ) -> None:
        self._links = links
        self._routes = routes
        self._cluster = cluster
        self._topics = _Kept(self._ask_topic, refresh, nursery)
        self._groups = _Kept(
            self._ask_group, refresh if group_refresh is None else group_refresh, nursery
        )

    async def message_type(self, topic: str) -> str | None:
        """NORMAL, FIFO, ...; None when nobody could be asked."""
        config = await self._topics.get(topic)
        return None if config is None else config.attributes.get("message.type", "NORMAL")

    async def group(self, name: str) -> SubscriptionGroupConfig | None:
        """None when nobody knows it, or nobody could be asked."""
        return await self._groups.get(name)

    async def _ask_topic(self, topic: str) -> TopicConfig | None:
        header = GetTopicConfigRequestHeader(topic=topic, lo=True)
        answer = await self._any_broker(topic, RequestCode.GET_TOPIC_CONFIG, header)
        if answer is None or answer.code != ResponseCode.SUCCESS:
            return None
        return decode_body(TopicConfig, answer.body)

    async def _ask_group(self, group: str) -> SubscriptionGroupConfig | None:
        header = GetSubscriptionGroupConfigRequestHeader(group=group)
        code = RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG
        answer = await self._any_broker(self._cluster, code, header)
        if answer is None or answer.code != ResponseCode.SUCCESS:
            return None
        return decode_body(SubscriptionGroupConfig, answer.body)

    async def _any_broker(
        self, topic: str, code: RequestCode, header: Header
    ) -> RemotingCommand | None:
        """What one of those with that topic answers, whichever it is; TransportError: none does."""
        route = await self._routes.of(topic)
        names = [one.broker_name for one in route.data.broker_datas]
        addrs = [addr for name in names if (addr := route.readable_at(name)) is not None]
        random.shuffle(addrs)
        # Whoever was away a moment ago is asked last.
        addrs.sort(key=self._links.is_away)
        failure: TransportError | None = None
        for addr in addrs:
            try:
                return await self._links.ask(addr, code, header)
            except TransportError as error:
                failure = error
        if failure is not None:
            raise failure
        return None


class _Kept(Generic[V]):
    """Answers by name, the oldest forgotten first. What many want at the same time is asked for once."""

    def __init__(
        self,
        ask: Callable[[str], Awaitable[V | None]],
        refresh: float,
        nursery: trio.Nursery | None,
    ) -> None:
        self._ask = ask
        self._refresh = refresh
        self._nursery = nursery
        self._known: dict[str, tuple[float, V]] = {}
        self._together = Together(self._renewed)

    async def get(self, name: str) -> V | None:
        known = self._known.get(name)
        if known is None:
            return await self._together.get(name)
        age = trio.current_time() - known[0]
        if age < self._refresh:
            return known[1]
        if self._nursery is None or age > self._refresh * _OLD:
            return await self._together.get(name)
        if not self._together.is_asking(name):
            self._nursery.start_soon(self._together.get, name)
        return known[1]

    async def _renewed(self, name: str) -> V | None:
        """What is known now; the old answer while nobody gives a new one."""
        known = self._known.get(name)
        try:
            value = await self._ask(name)
        except (TransportError, ProxyError, CodecError):
            return None if known is None else known[1]
        self._known.pop(name, None)
        if value is not None:
            self._known[name] = (trio.current_time(), value)
            if len(self._known) > _MOST:
                del self._known[next(iter(self._known))]
        return value
