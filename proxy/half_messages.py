"""Finds where the half of a transaction lies, by the brokers' index of unique keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.messages import QueryMessageRequestHeader
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record
from trimq.proxy import properties as names
from trimq.proxy.incoming import records_of
from trimq.proxy.links import Links
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import BrokerRefused, ProxyError
from trimq.remoting.errors import TransportError

_MOST: Final = 32
_SECONDS: Final = 2.0
_FOREVER: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Place:
    """`queue_offset`: in the queue of halves."""

    broker_name: str
    queue_offset: int
    log_offset: int


class HalfMessages:
    def __init__(self, links: Links, routes: Routes) -> None:
        self._links = links
        self._routes = routes

    async def find(self, topic: str, transaction_id: str) -> Place | None:
        """None: no broker has it, or its message was delivered already.

        A half that was checked lies there several times, and the last of them counts. TransportError, BrokerRefused:
        it was not found where anybody could be asked, and somebody could not.
        """
        try:
            route = await self._routes.of(topic)
        except ProxyError as error:
            if error.code == Code.TOPIC_NOT_FOUND:
                return None
            raise
        found: list[Place] = []
        failures: list[TransportError | BrokerRefused] = []

        async def look(name: str, addr: str) -> None:
            try:
                place = await self._at(name, addr, topic, transaction_id)
            except (TransportError, BrokerRefused) as error:
                failures.append(error)
            else:
                if place is not None:
                    found.append(place)

        async with trio.open_nursery() as nursery:
            for broker in route.data.broker_datas:
                if (addr := route.master(broker.broker_name)) is not None:
                    nursery.start_soon(partial(look, broker.broker_name, addr))
        if not found and failures:
            raise failures[0]
        return found[0] if found else None

    async def _at(self, name: str, addr: str, topic: str, transaction_id: str) -> Place | None:
        halves = [
            record
            for record, properties in await self._query(addr, TRANS_HALF_TOPIC, transaction_id)
            if properties.get(names.PRODUCER_GROUP) == topic
        ]
        if not halves or await self._query(addr, topic, transaction_id):
            return None
        newest = max(halves, key=lambda record: record.queue_offset)
        return Place(name, newest.queue_offset, newest.physical_offset)

    async def _query(
        self, addr: str, topic: str, unique: str
    ) -> list[tuple[Record, dict[str, str]]]:
        header = QueryMessageRequestHeader(
            topic=topic, key=unique, max_num=_MOST, begin_timestamp=0, end_timestamp=_FOREVER
        )
        answer = await self._links.ask(addr, RequestCode.QUERY_MESSAGE, header, timeout=_SECONDS)
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return []
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerRefused(answer)
        # Brokers compare hashes only.
        both = [(one, parse_properties(one.properties)) for one in records_of(answer.body)]
        return [
            (record, properties)
            for record, properties in both
            if record.topic == topic and properties.get(names.UNIQUE_KEY) == unique
        ]
