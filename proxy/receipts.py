"""Receipts that are renewed while their clients work, by the newest handle of each (DefaultReceiptHandleManager).

They are known by client, group and message id, and there by broker, queue and offset: a message that comes again to the
same client has a receipt of its own. They end with the proxy: what it held comes again when its time is over.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Protocol

import trio

from trimq.base.clock import Clock
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.errors import CodecError
from trimq.proxy import properties as names
from trimq.proxy.chunks import each
from trimq.proxy.config import ProxyConfig
from trimq.proxy.incoming import Popped
from trimq.proxy.receipt import Receipt, parse_receipt
from trimq.proxy.settings import backoff_millis
from trimq.proxy.statuses import ProxyError
from trimq.remoting.errors import TransportError

log = logging.getLogger("trimq.proxy")

_MINUTE: Final = 60_000
# For how long each renewal hides the message (RenewStrategyPolicy).
_FOR: Final = tuple(minutes * _MINUTE for minutes in (1, 3, 5, 10, 30, 60))
# In one proxy, and of one client. Those beyond are not renewed: their messages come again when their time is over.
MOST: Final = 100_000
MOST_OF_CLIENT: Final = 20_000
_FAILURES: Final = (ProxyError, TransportError, CodecError)

Place = tuple[str, int, int]


class Changing(Protocol):
    """Who changes when a message is visible again."""

    async def change_invisible(
        self, receipt: Receipt, group: str, topic: str, millis: int, lite_topic: str | None = None
    ) -> str: ...


class Held:
    """One message that a client has. `newest`: what the broker knows; `renewal`: one that runs just now."""

    __slots__ = (
        "attempts",
        "client_id",
        "failures",
        "group",
        "lite_topic",
        "message_id",
        "newest",
        "place",
        "popped_at",
        "renewal",
        "renewed",
        "topic",
    )

    def __init__(self, client_id: str, group: str, topic: str, popped: Popped) -> None:
        self.client_id = client_id
        self.group = group
        self.topic = topic
        self.message_id = popped.message_id
        self.lite_topic = popped.properties.get(names.LITE_TOPIC)
        self.attempts = popped.attempts
        self.newest = parse_receipt(popped.handle)
        self.place: Place = self.newest.place
        self.popped_at = self.newest.handle.pop_time
        self.renewed = 0
        self.failures = 0
        self.renewal: trio.Event | None = None


# By message id and place.
Group = dict[str, dict[Place, Held]]


class Receipts:
    """`is_here`: whether a client still is one of a group. `group_config`: None when nobody knows that group."""

    def __init__(
        self,
        config: ProxyConfig,
        changing: Changing,
        group_config: Callable[[str], Awaitable[SubscriptionGroupConfig | None]],
        is_here: Callable[[str, str], bool],
        clock: Clock,
        nursery: trio.Nursery,
    ) -> None:
        self._config = config
        self._changing = changing
        self._group_config = group_config
        self._is_here = is_here
        self._clock = clock
        self._nursery = nursery
        self._held: dict[str, dict[str, Group]] = {}
        self._counts: dict[str, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, client_id: str, group: str, topic: str, popped: Popped) -> None:
        """The client has it, and works on it."""
        if not popped.handle:
            return
        held = Held(client_id, group, topic, popped)
        places = (
            self._held.setdefault(client_id, {})
            .setdefault(group, {})
            .setdefault(held.message_id, {})
        )
        if held.place not in places:
            count = self._counts.get(client_id, 0)
            if self._count >= MOST or count >= MOST_OF_CLIENT:
                log.warning(
                    "receipt not renewed: client=%s group=%s held=%d", client_id, group, count
                )
                self._tidy(held)
                return
            self._counts[client_id] = count + 1
            self._count += 1
        places[held.place] = held

    def open_count(self, client_id: str, group: str) -> int:
        """Messages that the client has not acknowledged."""
        return len(self._held.get(client_id, {}).get(group, {}))

    async def take(self, client_id: str, group: str, message_id: str, given: Receipt) -> Receipt:
        """The newest one of that message, which is renewed no more; what was given when none is held."""
        held = self._find(client_id, group, message_id, given.place)
        if held is None:
            return given
        if held.renewal is not None:
            await held.renewal.wait()
        return held.newest if self._forget(held) else given

    def release_all(self, client_id: str) -> None:
        """The client has left: what it has is visible again soon. Nobody waits for that."""
        for group in list(self._held.get(client_id, ())):
            self._nursery.start_soon(each, self._drop(client_id, group), self._return)

    async def close(self) -> None:
        """The proxy ends in an orderly way, and takes no messages with it."""
        helds = [held for client_id in list(self._held) for held in self._drop_all(client_id)]
        await each(helds, self._return)

    async def run(self) -> None:
        """Renews until it is cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                self._look(nursery)
                await self._clock.sleep(self._config.renew_schedule_period_millis / 1000)

    def _look(self, nursery: trio.Nursery) -> None:
        before = self._clock.millis() + self._config.renew_ahead_time_millis
        due: dict[str, list[Held]] = {}
        for client_id, groups in list(self._held.items()):
            for group, messages in list(groups.items()):
                if not self._is_here(client_id, group):
                    self._nursery.start_soon(each, self._drop(client_id, group), self._return)
                    continue
                for held in _each(messages):
                    if held.renewal is None and held.newest.handle.due <= before:
                        held.renewal = trio.Event()
                        due.setdefault(held.newest.broker_name, []).append(held)
        for those in due.values():
            # One broker that does not answer holds up its own only.
            nursery.start_soon(each, those, self._renew)

    async def _renew(self, held: Held) -> None:
        stays = False
        try:
            stays = await self._renewed(held)
        finally:
            if held.renewal is not None:
                held.renewal.set()
                held.renewal = None
            if not stays:
                self._forget(held)

    async def _renewed(self, held: Held) -> bool:
        """Whether it goes on."""
        if held.failures >= self._config.max_renew_retry_times:
            log.warning("receipt given up: handle=%s failures=%d", held.newest.text, held.failures)
            return False
        if self._clock.millis() - held.popped_at >= self._config.renew_max_time_millis:
            await self._stop(held)
            return False
        try:
            await self._change(held, _FOR[min(held.renewed, len(_FOR) - 1)])
        except ProxyError as error:
            log.warning("receipt given up: handle=%s reason=%s", held.newest.text, error)
            return False
        except (TransportError, CodecError) as error:
            log.warning("receipt not renewed: handle=%s reason=%s", held.newest.text, error)
            held.failures += 1
            return True
        held.failures = 0
        held.renewed += 1
        return True

    async def _stop(self, held: Held) -> None:
        """It took too long: the message comes again as one that failed does."""
        config = await self._group_config(held.group)
        if config is None:
            log.warning("receipt given up: handle=%s: nobody knows its group", held.newest.text)
            return
        try:
            await self._change(held, backoff_millis(config, held.attempts))
        except _FAILURES as error:
            log.warning("message not given back: handle=%s reason=%s", held.newest.text, error)

    async def _change(self, held: Held, millis: int) -> None:
        # The original names no lite topic, and so does not renew messages of lite topics.
        text = await self._changing.change_invisible(
            held.newest, held.group, held.topic, millis, held.lite_topic
        )
        held.newest = parse_receipt(text)

    async def _return(self, held: Held) -> None:
        if held.renewal is not None:
            await held.renewal.wait()
        try:
            await self._change(held, self._config.invisible_time_millis_when_clear)
        except _FAILURES as error:
            log.warning("message not given back: handle=%s reason=%s", held.newest.text, error)

    def _find(self, client_id: str, group: str, message_id: str, place: Place) -> Held | None:
        messages = self._held.get(client_id, {}).get(group, {})
        return messages.get(message_id, {}).get(place)

    def _drop_all(self, client_id: str) -> Iterator[Held]:
        for group in list(self._held.get(client_id, ())):
            yield from self._drop(client_id, group)

    def _drop(self, client_id: str, group: str) -> list[Held]:
        those = list(_each(self._held[client_id].get(group, {})))
        for held in those:
            self._forget(held)
        return those

    def _forget(self, held: Held) -> bool:
        """Whether it was held still."""
        if self._find(held.client_id, held.group, held.message_id, held.place) is not held:
            return False
        del self._held[held.client_id][held.group][held.message_id][held.place]
        self._counts[held.client_id] -= 1
        self._count -= 1
        self._tidy(held)
        return True

    def _tidy(self, held: Held) -> None:
        """What is empty goes."""
        groups = self._held[held.client_id]
        messages = groups[held.group]
        if not messages.get(held.message_id, True):
            del messages[held.message_id]
        if not messages:
            del groups[held.group]
        if not groups:
            del self._held[held.client_id]
            self._counts.pop(held.client_id, None)


def _each(messages: Group) -> list[Held]:
    return [held for places in messages.values() for held in places.values()]
