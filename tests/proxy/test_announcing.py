"""Brokers are told who the clients are; those that do not know the request are told once."""

from __future__ import annotations

from typing import Any

import trio

from tests.proxy.fake_cluster import A, Asked, B, FakeLinks, answer
from trimq.base.clock import TrioClock
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.proxied import ProxiedClient, ProxiedClients
from trimq.codec.codes import OwnRequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.proxy.announcing import Announcing, bodies_of
from trimq.proxy.clients import Clients
from trimq.proxy.protos.definition_pb2 import (
    ClientType,
    FilterExpression,
    FilterType,
    Publishing,
    Resource,
    Settings,
    Subscription,
    SubscriptionEntry,
)
from trimq.proxy.routes import Routes


class Told:
    """`refusing`: brokers that do not know the request."""

    def __init__(self, nursery: Any) -> None:
        self.links = FakeLinks()
        self.refusing: set[str] = set()
        self.links.answers[OwnRequestCode.PROXY_CLIENTS] = self._answer
        self.clients = Clients()
        routes = Routes(self.links, ["n:1"], 20, nursery)
        self.announcing = Announcing(self.clients, self.links, routes, "DefaultCluster")

    def _answer(self, asked: Asked) -> RemotingCommand:
        refused = asked.addr in self.refusing
        return answer(ResponseCode.REQUEST_CODE_NOT_SUPPORTED if refused else 0)

    @property
    def said(self) -> list[tuple[str, list[str]]]:
        """Who was told of which clients."""
        told = []
        for asked in self.links.of(OwnRequestCode.PROXY_CLIENTS):
            body = decode_body(ProxiedClients, bytes(asked.body))  # type: ignore[arg-type]
            told.append((asked.addr, [one.client_id for one in body.clients]))
        return sorted(told)

    def join(self, client_id: str, kind: ClientType = ClientType.PUSH_CONSUMER) -> None:
        client = self.clients.heard_of(client_id, "10.0.0.1:50000")
        client.language = "GO"
        entry = SubscriptionEntry(
            topic=Resource(name="T"),
            expression=FilterExpression(type=FilterType.SQL, expression="a > 1"),
        )
        settings = Settings(
            client_type=kind,
            subscription=Subscription(group=Resource(name="G"), subscriptions=[entry]),
        )
        self.clients.set_settings(client, settings)


async def test_what_is_said(nursery: Any) -> None:
    told = Told(nursery)
    told.join("c1", ClientType.SIMPLE_CONSUMER)
    producer = told.clients.heard_of("p1", "10.0.0.2:50000")
    publishing = Publishing(topics=[Resource(name="T")])
    told.clients.set_settings(
        producer, Settings(client_type=ClientType.PRODUCER, publishing=publishing)
    )
    await told.announcing.tell()
    assert told.said == [(A, ["c1"]), (B, ["c1"])]
    body = told.links.of(OwnRequestCode.PROXY_CLIENTS)[0].body
    (client,) = decode_body(ProxiedClients, bytes(body)).clients  # type: ignore[arg-type]
    assert (client.group, client.language, client.client_addr) == ("G", "GO", "10.0.0.1:50000")
    assert (client.consume_type, client.message_model) == ("CONSUME_ACTIVELY", "CLUSTERING")
    (wanted,) = client.subscriptions
    assert (wanted.topic, wanted.expression_type, wanted.sub_string) == ("T", "SQL92", "a > 1")


async def test_at_once_and_again(nursery: Any, autojump_clock: object) -> None:
    told = Told(nursery)
    nursery.start_soon(told.announcing.keep, TrioClock())
    await trio.sleep(100)
    # Nobody to speak of, and nobody was told.
    assert told.said == []
    for number in range(50):
        told.join(f"c{number}")
    await trio.sleep(1)
    assert [addr for addr, _ in told.said] == [A, B]
    await trio.sleep(20)
    assert len(told.said) == 4
    for client in told.clients.all():
        told.clients.remove(client.client_id)
    await trio.sleep(1)
    assert told.said[-1] == (B, [f"c{number}" for number in range(50)])
    assert (A, []) in told.said
    nursery.cancel_scope.cancel()


async def test_who_does_not_know_it_is_told_once(nursery: Any) -> None:
    told = Told(nursery)
    told.refusing.add(A)
    told.join("c1")
    for _ in range(3):
        await told.announcing.tell()
    assert [addr for addr, _ in told.said] == [A, B, B, B]


async def test_who_is_away_is_told_later(nursery: Any) -> None:
    told = Told(nursery)
    told.links.away.add(A)
    told.join("c1")
    await told.announcing.tell()
    told.links.away.clear()
    await told.announcing.tell()
    assert [addr for addr, _ in told.said] == [A, A, B, B]


def test_large_tables_come_in_pieces() -> None:
    wanted = [SubscriptionData(topic="T" * 100) for _ in range(100)]
    clients = [
        ProxiedClient(client_id=str(number), group="G", subscriptions=wanted)
        for number in range(60)
    ]
    bodies = bodies_of(clients)
    assert len(bodies) > 2
    assert all(len(body) < 300_000 for body in bodies)
    said = [decode_body(ProxiedClients, body) for body in bodies]
    assert [one.first for one in said] == [True] + [False] * (len(bodies) - 1)
    names = [client.client_id for one in said for client in one.clients]
    assert names == [client.client_id for client in clients]
    assert len(bodies_of([])) == 1


def test_one_that_is_too_large_is_shown_without_subscriptions() -> None:
    huge = ProxiedClient(client_id="huge", subscriptions=[SubscriptionData(topic="T" * 300_000)])
    (body,) = bodies_of([huge])
    (client,) = decode_body(ProxiedClients, body).clients
    assert (client.client_id, client.subscriptions) == ("huge", [])
