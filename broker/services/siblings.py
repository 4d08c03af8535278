"""What this broker creates by itself is created on its siblings, the other brokers of one supervisor.

A topic that a send creates is on one broker only; in a real cluster it stays there, and so do its messages. What was
created at somebody's request is not passed on: an administrator asks every broker, and so did the sibling.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import trio

from trimq.base.waits import Wakeup
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig, header_fields
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import CreateTopicRequestHeader
from trimq.codec.names import is_system_topic
from trimq.remoting.clients.client import Client, Tls
from trimq.remoting.errors import TransportError

log: Final = logging.getLogger("trimq.broker")

_SHORTEST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0

News = TopicConfig | SubscriptionGroupConfig


class Siblings:
    def __init__(self, tls: Tls | None = None) -> None:
        self._tls = tls
        self._addresses: list[str] = []
        # By sibling, and then by kind and name: the last state of each.
        self._news: dict[str, dict[tuple[str, str], News]] = {}
        # What was created before the siblings were known.
        self._early: dict[tuple[str, str], News] = {}
        self._stirred = Wakeup()

    def tell(self, addresses: Sequence[str]) -> None:
        """Where they are, HOST:PORT."""
        self._addresses = list(addresses)
        self._news = {address: self._news.get(address, {}) for address in addresses}
        for news in self._news.values():
            news.update(self._early)
        self._early = {}
        self._stirred.give()

    def topic_created(self, topic: TopicConfig) -> None:
        """By this broker itself."""
        if not is_system_topic(topic.topic_name):
            self._add(("topic", topic.topic_name), topic)

    def group_created(self, group: SubscriptionGroupConfig) -> None:
        """By this broker itself."""
        self._add(("group", group.group_name), group)

    def _add(self, key: tuple[str, str], news: News) -> None:
        if not self._addresses:
            self._early[key] = news
        for waiting in self._news.values():
            waiting[key] = news
        self._stirred.give()

    async def run(self) -> None:
        """Until cancelled; a sibling that is away is told when it is back."""
        pause = _SHORTEST_PAUSE
        while True:
            failed = False
            for address in list(self._addresses):
                news = self._news.get(address)
                if news and not await self._deliver(address, news):
                    failed = True
            if failed:
                await trio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            else:
                pause = _SHORTEST_PAUSE
                await self._stirred.wait()

    async def _deliver(self, address: str, news: dict[tuple[str, str], News]) -> bool:
        """False when it is away: what it has not got stays."""
        try:
            async with Client.connect(address, self._tls) as client:
                while news:
                    key = next(iter(news))
                    await self._create(client, news[key])
                    del news[key]
        except TransportError as error:
            log.info("a sibling is away: address=%s reason=%s", address, error)
            return False
        return True

    async def _create(self, client: Client, news: News) -> None:
        if isinstance(news, TopicConfig):
            code, name = RequestCode.UPDATE_AND_CREATE_TOPIC, news.topic_name
            header = CreateTopicRequestHeader(**header_fields(news))
            reply = await client.request(code, header)
        else:
            code, name = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, news.group_name
            reply = await client.request(code, None, encode_body(news))
        if reply.code != ResponseCode.SUCCESS:
            log.warning(
                "a sibling did not create it: address=%s name=%s code=%d reason=%s",
                client.addr,
                name,
                reply.code,
                reply.remark,
            )
