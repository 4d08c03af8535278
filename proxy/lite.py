"""Who reads which lite topics: what clients say goes to every broker of the parent topic (LiteSubscriptionService)."""

from __future__ import annotations

import logging
from typing import Final

import trio

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.lite import LiteSubscriptionCtlRequestBody, LiteSubscriptionDTO
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.lite import LiteSubscriptionCtlRequestHeader
from trimq.proxy.clients import Client
from trimq.proxy.links import Links
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import ClientType, Code
from trimq.proxy.routes import Routes
from trimq.proxy.settings import lite_quota
from trimq.proxy.statuses import BrokerRefused, ProxyError
from trimq.remoting.errors import TransportError
from trimq.remoting.growth_limits import GrowthLimits

log = logging.getLogger("trimq.proxy")

_SECONDS: Final = 2.0
# A client may be so much above its quota, which is the broker's to hold.
_BUFFER: Final = 300


class LiteSubscriptions:
    """`rate`: requests a second that add to a subscription; `nursery`: for what nobody waits for."""

    def __init__(
        self, links: Links, routes: Routes, metadata: Metadata, rate: int, nursery: trio.Nursery
    ) -> None:
        self._links = links
        self._routes = routes
        self._metadata = metadata
        self._rate = rate
        self._nursery = nursery
        self._added = GrowthLimits()

    async def sync(self, said: LiteSubscriptionDTO) -> None:
        """ProxyError when it may not be, or when a broker refuses."""
        group = said.group or ""
        config = await self.check_bound(group, said.topic or "")
        quota = lite_quota(config)
        if len(said.lite_topic_set or ()) > quota + _BUFFER:
            raise ProxyError(
                Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED, f"lite subscription quota exceeded: {quota}"
            )
        if said.action == "PARTIAL_ADD" and not self._has_room():
            raise ProxyError(
                Code.TOO_MANY_REQUESTS,
                f"Too many syncLiteSubscription requests, topic={said.topic}, group={group},"
                f" clientId={said.client_id}",
            )
        await self._tell_all(said)

    async def check_bound(self, group: str, topic: str) -> SubscriptionGroupConfig:
        """The group, which reads lite topics of that parent; ProxyError otherwise."""
        config = await self._metadata.group(group)
        if config is None:
            raise ProxyError(Code.ILLEGAL_CONSUMER_GROUP, f"group not found: {group}")
        bound = config.attributes.get("lite.bind.topic")
        if bound != topic:
            raise ProxyError(
                Code.ILLEGAL_TOPIC,
                f"lite group {group} is expected to bind topic {bound or 'null'},"
                f" but actual is {topic}",
            )
        return config

    def leave(self, client: Client) -> None:
        """It has gone: others of its group get its lite topics. Nobody waits for that."""
        settings = client.settings
        if settings is None or settings.client_type != ClientType.LITE_PUSH_CONSUMER:
            return
        entries = settings.subscription.subscriptions
        if entries:
            said = LiteSubscriptionDTO(
                action="COMPLETE_REMOVE",
                client_id=client.client_id,
                group=client.group,
                topic=entries[0].topic.name,
            )
            self._nursery.start_soon(self._left, said)

    async def _left(self, said: LiteSubscriptionDTO) -> None:
        try:
            await self.sync(said)
        except (ProxyError, TransportError) as error:
            log.warning("lite topics not given back: client=%s reason=%s", said.client_id, error)

    async def _tell_all(self, said: LiteSubscriptionDTO) -> None:
        body = encode_body(LiteSubscriptionCtlRequestBody(subscription_set=[said]))
        failures: list[Exception] = []
        route = await self._routes.of(said.topic or "")
        async with trio.open_nursery() as nursery:
            for queue in route.readers:
                nursery.start_soon(self._tell, queue.addr, body, failures)
        if failures:
            raise failures[0]

    async def _tell(self, addr: str, body: bytes, failures: list[Exception]) -> None:
        header = LiteSubscriptionCtlRequestHeader()
        try:
            answer = await self._links.ask(
                addr, RequestCode.LITE_SUBSCRIPTION_CTL, header, body, timeout=_SECONDS
            )
        except TransportError as error:
            failures.append(error)
            return
        if answer.code != ResponseCode.SUCCESS:
            failures.append(BrokerRefused(answer))

    def _has_room(self) -> bool:
        # A second's worth may come at once.
        return self._added.take("", trio.current_time(), self._rate, self._rate)
