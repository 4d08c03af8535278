"""Which popped messages a client gets, how they are written, and what becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.proxy import properties as names
from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.clients import Clients
from trimq.proxy.filters import Filter
from trimq.proxy.grpc.methods import Out
from trimq.proxy.incoming import Popped, message_of
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import ReceiveMessageResponse
from trimq.proxy.receipts import Receipts
from trimq.proxy.statuses import OK, ProxyError, status

# What a broker may take to hear of messages that the client does not get.
_TELLING_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Receiver:
    """`renews`: its messages stay its own while it works on them."""

    client_id: str
    group: str
    topic: str
    renews: bool


class HandingOut:
    def __init__(
        self, acknowledging: Acknowledging, receipts: Receipts, clients: Clients, clock: Clock
    ) -> None:
        self._acknowledging = acknowledging
        self._receipts = receipts
        self._clients = clients
        self._clock = clock

    async def sorted(
        self, popped: list[Popped], receiver: Receiver, wanted: Filter, most: int
    ) -> list[Popped]:
        """Those for the client. Others are done with, or dead letters when they came `most` times.

        The broker knows so before the client hears anything, unless it takes long.
        """
        kept: list[Popped] = []
        told: list[trio.Event] = []
        for one in popped:
            if not one.handle:
                kept.append(one)
            elif not wanted.matches(one.properties.get(names.TAGS)):
                told.append(self._acknowledging.drop(one, receiver.group, receiver.topic))
            elif one.attempts >= most:
                told.append(self._acknowledging.bury(one, receiver.group, receiver.topic))
            else:
                kept.append(one)
        try:
            with trio.move_on_after(_TELLING_SECONDS):
                for event in told:
                    await event.wait()
        except trio.Cancelled:
            self._acknowledging.give_back(kept, receiver.group, receiver.topic)
            raise
        return kept

    async def hand_out(self, popped: list[Popped], receiver: Receiver, out: Out) -> None:
        """What could not be written is visible again in a second."""
        if not popped:
            told = status(Code.MESSAGE_NOT_FOUND, "no match message")
            await out.send(ReceiveMessageResponse(status=told))
            return
        group, topic = receiver.group, receiver.topic
        if receiver.renews and self._clients.get(receiver.client_id) is None:
            self._acknowledging.give_back(popped, group, topic)
            raise ProxyError(
                Code.MESSAGE_NOT_FOUND, f"The client [{receiver.client_id}] is disconnected."
            )
        sent = 0
        try:
            await out.send(ReceiveMessageResponse(status=OK))
            for one in popped:
                await out.send(ReceiveMessageResponse(message=message_of(one, self._clock)))
                sent += 1
        finally:
            self._acknowledging.give_back(popped[sent:], group, topic)
            if receiver.renews:
                for one in popped[:sent]:
                    self._receipts.add(receiver.client_id, group, topic, one)
