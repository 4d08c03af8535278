"""Who the clients are, and when they are forgotten."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

from tests.proxy.fake_cluster import FakeStream
from trimq.base.clock import TrioClock
from trimq.proxy.clients import Client, Clients
from trimq.proxy.protos.definition_pb2 import ClientType, Publishing, Resource, Settings
from trimq.proxy.protos.service_pb2 import TelemetryCommand

ADDR = "10.0.0.1:50000"


def publishing(*topics: str) -> Settings:
    return Settings(
        client_type=ClientType.PRODUCER,
        publishing=Publishing(topics=[Resource(name=topic) for topic in topics]),
    )


def producer(clients: Clients, client_id: str, *topics: str) -> tuple[Client, FakeStream]:
    client, stream = clients.heard_of(client_id, ADDR), FakeStream()
    client.stream = stream
    clients.set_settings(client, publishing(*topics))
    return client, stream


async def test_producers_are_asked_in_turn() -> None:
    clients = Clients()
    for name in ("c1", "c2"):
        producer(clients, name, "T")
    asked = [clients.next_producer_of("T") for _ in range(4)]
    assert sorted(one.client_id for one in asked if one) == ["c1", "c1", "c2", "c2"]
    assert clients.next_producer_of("other") is None


async def test_other_settings_are_other_topics() -> None:
    clients = Clients()
    client, _ = producer(clients, "c1", "T", "U")
    clients.set_settings(client, publishing("U"))
    assert clients.published_topics() == ["U"]
    clients.remove("c1")
    assert clients.published_topics() == []


async def test_the_silent_are_forgotten(nursery: Any, autojump_clock: object) -> None:
    clients, gone = Clients(expiry_seconds=120), []
    clients.on_end.append(lambda client: gone.append(client.client_id))
    producer(clients, "silent", "T")
    producer(clients, "alive", "T")
    nursery.start_soon(clients.keep, TrioClock())
    for _ in range(13):
        await trio.sleep(9.9)
        clients.heard_of("alive", ADDR)
        assert not gone
    await trio.sleep(2)
    assert gone == ["silent"]
    assert clients.get("alive") is not None
    nursery.cancel_scope.cancel()


async def test_goodbye_is_heard_once() -> None:
    clients, gone = Clients(), []
    clients.on_end.append(gone.append)
    client, _ = producer(clients, "c1", "T")
    assert clients.remove("c1") is client
    assert clients.remove("c1") is None
    assert gone == [client]


async def test_only_changes_are_told() -> None:
    clients, changes = Clients(), []
    clients.on_change.append(lambda: changes.append(True))
    client, _ = producer(clients, "c1", "T")
    clients.set_settings(client, publishing("T"))
    assert len(changes) == 1
    clients.set_settings(client, publishing("U"))
    clients.remove("c1")
    assert len(changes) == 3


async def test_there_are_not_too_many() -> None:
    clients = Clients(most=3)
    for number in range(5):
        producer(clients, f"c{number}", "T")
    assert [one.client_id for one in clients.all()] == ["c2", "c3", "c4"]
    clients.heard_of("c2", ADDR)
    clients.heard_of("new", ADDR)
    assert [one.client_id for one in clients.all()] == ["c4", "c2", "new"]


async def test_settings_do_not_fill_the_memory() -> None:
    clients = Clients(most_bytes=3000)
    for number in range(5):
        producer(clients, f"c{number}", "T" * 1000)
    assert [one.client_id for one in clients.all()] == ["c3", "c4"]
    # One alone may have as much as it wants.
    producer(clients, "large", "T" * 10_000)
    assert [one.client_id for one in clients.all()] == ["large"]


async def test_a_stream_ends(autojump_clock: object) -> None:
    clients, ended = Clients(), []
    clients.on_torn_off.append(ended.append)
    client, first = producer(clients, "c1", "T")
    second = client.stream = FakeStream()
    clients.stream_ended(client, first, True)
    assert (client.stream, ended) == (second, [])
    clients.stream_ended(client, second, True)
    assert (client.stream, ended) == (None, [client])
    assert not await clients.tell(client, TelemetryCommand())
    client.stream = first
    clients.stream_ended(client, first, False)
    assert (client.stream, ended) == (None, [client])


async def test_one_that_does_not_read_costs_little(autojump_clock: object) -> None:
    clients = Clients()
    client, stream = producer(clients, "c1", "T")
    stream.stuck = True
    began = trio.current_time()
    assert not await clients.tell(client, TelemetryCommand())
    assert trio.current_time() - began < 5


async def test_all_are_told_to_reconnect(autojump_clock: object) -> None:
    clients = Clients()
    _, stuck = producer(clients, "c0", "T")
    stuck.stuck = True
    streams = [producer(clients, name, "T")[1] for name in ("c1", "c2")]
    clients.heard_of("no stream", ADDR)
    await clients.tell_all_to_reconnect()
    for stream in streams:
        (command,) = stream.sent
        assert command.WhichOneof("command") == "reconnect_endpoints_command"
