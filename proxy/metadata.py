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
from trimq.codec.headers.groups import GetSubscriptionGroupConfigRequestHeader
from trimq.codec.headers.topics import GetTopicConfigRequestHeader
from trimq.proxy.links import Links
from trimq.proxy.routes import Route, Routes
from trimq.proxy.statuses import ProxyError
from trimq.remoting.errors import TransportError

_MOST: Final = 20_000
V = TypeVar("V")


class Metadata:
    """`refresh`: seconds after which something is asked for again."""

    def __init__(self, links: Links, routes: Routes, cluster: str, refresh: float) -> None:
        self._links = links
        self._routes = routes
        self._cluster = cluster
        self._topics = _Kept(self._ask_topic, refresh)
        self._groups = _Kept(self._ask_group, refresh)

    async def message_type(self, topic: str) -> str | None:
        """NORMAL, FIFO, ...; None when nobody could be asked."""
        config = await self._topics.get(topic)
        return None if config is None else config.attributes.get("message.type", "NORMAL")

    async def group(self, name: str) -> SubscriptionGroupConfig | None:
        """None when nobody knows it, or nobody could be asked."""
        return await self._groups.get(name)

    async def _ask_topic(self, topic: str) -> TopicConfig | None:
        addr = _any_broker(await self._routes.of(topic))
        if addr is None:
            return None
        header = GetTopicConfigRequestHeader(topic=topic)
        answer = await self._links.ask(addr, RequestCode.GET_TOPIC_CONFIG, header)
        if answer.code != ResponseCode.SUCCESS:
            return None
        return decode_body(TopicConfig, answer.body)

    async def _ask_group(self, group: str) -> SubscriptionGroupConfig | None:
        addr = _any_broker(await self._routes.of(self._cluster))
        if addr is None:
            return None
        header = GetSubscriptionGroupConfigRequestHeader(group=group)
        answer = await self._links.ask(addr, RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, header)
        if answer.code != ResponseCode.SUCCESS:
            return None
        return decode_body(SubscriptionGroupConfig, answer.body)


class _Kept(Generic[V]):
    """Answers by name, the oldest forgotten first."""

    def __init__(self, ask: Callable[[str], Awaitable[V | None]], refresh: float) -> None:
        self._ask = ask
        self._refresh = refresh
        self._known: dict[str, tuple[float, V]] = {}

    async def get(self, name: str) -> V | None:
        known = self._known.get(name)
        if known is not None and trio.current_time() - known[0] < self._refresh:
            return known[1]
        try:
            value = await self._ask(name)
        except (TransportError, ProxyError):
            return None if known is None else known[1]
        self._known.pop(name, None)
        if value is not None:
            self._known[name] = (trio.current_time(), value)
            if len(self._known) > _MOST:
                del self._known[next(iter(self._known))]
        return value


def _any_broker(route: Route) -> str | None:
    data = route.data.broker_datas
    return route.readable_at(random.choice(data).broker_name) if data else None
