"""What a request says of itself: its topics, its groups, and whose it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, Literal

from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.heartbeat import HeartbeatData
from trimq.codec.bodies.locks import LockBatchRequestBody
from trimq.codec.bodies.pop import BatchAckMessageRequestBody
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.remoting.contract import Peer, Request

Side = Literal["broker", "namesrv"]
ClientIds = Callable[[Peer], Iterable[str]]
# In the short headers of sends every field is a letter.
_SHORT: Final = frozenset(
    {
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
    }
)
_GROUPS: Final = ("consumerGroup", "producerGroup", "group", "groupName")
_TOPICS: Final = ("topic", "originTopic")
_CLIENTS: Final = ("clientID", "clientId")


class Facts:
    """Looked for when a rule asks, and once."""

    def __init__(self, request: Request[Any], side: Side, client_ids: ClientIds) -> None:
        """`side`: of the server that is asked."""
        self.request = request
        self.side: Side = side
        self._client_ids = client_ids

    @cached_property
    def topics(self) -> frozenset[str]:
        body = self._body
        found = _given(self.request, _topic_fields(self.request.code))
        if isinstance(body, HeartbeatData):
            wanted = (one.subscription_data_set for one in body.consumer_data_set)
            found |= {one.topic for subscriptions in wanted for one in subscriptions}
        elif isinstance(body, LockBatchRequestBody):
            found |= {queue.topic for queue in body.mq_set}
        elif isinstance(body, BatchAckMessageRequestBody):
            found |= {ack.t for ack in body.acks or () if ack.t}
        return frozenset(found)

    @cached_property
    def groups(self) -> frozenset[str]:
        body = self._body
        found = _given(self.request, _group_fields(self.request.code))
        if isinstance(body, HeartbeatData):
            found |= {one.group_name for one in body.consumer_data_set}
            found |= {one.group_name for one in body.producer_data_set}
        elif isinstance(body, LockBatchRequestBody):
            found |= {body.consumer_group or ""}
        elif isinstance(body, BatchAckMessageRequestBody):
            found |= {ack.c for ack in body.acks or () if ack.c}
        return frozenset(found)

    @cached_property
    def clients(self) -> frozenset[str]:
        """Its address with and without the port, and its ids as far as heartbeats, or the request itself, say them."""
        peer, body = self.request.peer, self._body
        found = {*addresses(peer), *self._client_ids(peer)} | _given(self.request, _CLIENTS)
        if isinstance(body, HeartbeatData):
            found.add(body.client_id)
        elif isinstance(body, LockBatchRequestBody):
            found.add(body.client_id or "")
        return frozenset(found)

    @cached_property
    def _body(self) -> object:
        kind = _BODIES.get(self.request.code)
        # One that is not understood is the processor's affair.
        with suppress(CodecError):
            return None if kind is None else decode_request(kind, self.request.body)
        return None


def says_topics(code: int, fields: frozenset[str]) -> bool:
    """Whether a request with these fields in its header may say a topic, there or in its body."""
    return bool(fields.intersection(_topic_fields(code))) or code in _BODIES


def says_groups(code: int, fields: frozenset[str]) -> bool:
    """The same of a group."""
    return bool(fields.intersection(_group_fields(code))) or code in _BODIES


def _topic_fields(code: int) -> tuple[str, ...]:
    return ("b",) if code in _SHORT else _TOPICS


def _group_fields(code: int) -> tuple[str, ...]:
    return ("a",) if code in _SHORT else _GROUPS


_BODIES: Final[dict[int, Any]] = {
    RequestCode.HEART_BEAT: HeartbeatData,
    RequestCode.LOCK_BATCH_MQ: LockBatchRequestBody,
    RequestCode.UNLOCK_BATCH_MQ: LockBatchRequestBody,
    RequestCode.BATCH_ACK_MESSAGE: BatchAckMessageRequestBody,
}


def addresses(peer: Peer) -> tuple[str, str]:
    """`host:port`, and the host alone."""
    return peer.remote_addr, peer.remote_addr.rpartition(":")[0].strip("[]")


def ids_of(consumers: Consumers, producers: Producers) -> ClientIds:
    """The ids by which heartbeats over a connection call its client."""

    def found(peer: Peer) -> Iterator[str]:
        for client in _clients(consumers, producers):
            if client.peer is peer:
                yield client.client_id

    return found


def _clients(consumers: Consumers, producers: Producers) -> Iterator[Client]:
    for group in consumers.groups().values():
        yield from group.clients()
    for members in producers.groups().values():
        yield from members.values()


def _given(request: Request[Any], names: tuple[str, ...]) -> set[str]:
    fields = request.ext_fields
    return {fields[name] for name in names if name in fields}
