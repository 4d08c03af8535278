"""Heartbeat, Telemetry and NotifyClientTermination: a client comes, stays and goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
import trio
import trio.testing

from tests.proxy.fake_cluster import FakeLinks, FakeStream, caller
from trimq.proxy.clients import Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.statuses import GrpcError, GrpcStatus
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import (
    ClientType,
    Code,
    FilterExpression,
    FilterType,
    Publishing,
    Resource,
    Settings,
    Subscription,
    SubscriptionEntry,
)
from trimq.proxy.protos.service_pb2 import (
    HeartbeatRequest,
    NotifyClientTerminationRequest,
    TelemetryCommand,
)
from trimq.proxy.questions.asking import Asking
from trimq.proxy.registration import Registration
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.heartbeat import Heartbeat
from trimq.proxy.rpcs.notify_client_termination import NotifyClientTermination
from trimq.proxy.rpcs.telemetry import Telemetry
from trimq.proxy.settings import SettingsMerger
from trimq.proxy.statuses import ProxyError

UNKNOWN = (Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")


class Talks:
    """Groups G, and L, which is bound to the lite topic T."""

    def __init__(self, nursery: Any) -> None:
        self.links = FakeLinks()
        self.links.groups["L"] = {"lite.bind.topic": "T"}
        routes = Routes(self.links, ["n:1"], 20, nursery)
        metadata = Metadata(self.links, routes, "DefaultCluster", 20)
        self.clients = Clients()
        registration = Registration(metadata)
        self.heartbeat = Heartbeat(self.clients, registration)
        self.terminate = NotifyClientTermination(self.clients)
        merger = SettingsMerger(ProxyConfig(), metadata)
        asking = Asking(self.clients, 5)
        self.telemetry = Telemetry(self.clients, merger, registration, asking)

    async def say(self, settings: Settings, client_id: str = "c1") -> FakeStream:
        """Settings on a stream that ends then."""

        async def commands() -> AsyncGenerator[Any, None]:
            yield TelemetryCommand(settings=settings)

        out = FakeStream()
        async with aclosing(commands()) as incoming:
            await self.telemetry(caller(client_id), incoming, out)
        return out

    async def beat(self, group: str = "G", client_id: str = "c1") -> None:
        request = HeartbeatRequest(group=Resource(name=group))
        assert (await self.heartbeat(caller(client_id), request)).status.code == Code.OK

    async def leave(self, group: str = "G", client_id: str = "c1") -> None:
        request = NotifyClientTerminationRequest(group=Resource(name=group))
        assert (await self.terminate(caller(client_id), request)).status.code == Code.OK


def consumer(
    group: str = "G",
    kind: ClientType = ClientType.PUSH_CONSUMER,
    expression: FilterExpression | None = None,
    topic: str = "T",
) -> Settings:
    entry = SubscriptionEntry(
        topic=Resource(name=topic),
        expression=expression or FilterExpression(type=FilterType.TAG, expression="*"),
    )
    return Settings(
        client_type=kind,
        subscription=Subscription(group=Resource(name=group), subscriptions=[entry]),
    )


def producer(*topics: str, kind: ClientType = ClientType.PRODUCER) -> Settings:
    return Settings(
        client_type=kind,
        publishing=Publishing(topics=[Resource(name=topic) for topic in topics]),
    )


def said(raised: Any) -> tuple[Code, str]:
    return raised.value.code, raised.value.text


async def test_settings_come_back(nursery: Any) -> None:
    talks = Talks(nursery)
    out = await talks.say(consumer())
    (command,) = out.sent
    assert command.status.code == Code.OK
    assert command.settings.subscription.receive_batch_size == 32
    client = talks.clients.get("c1")
    assert client is not None
    assert (client.group, client.language, client.stream) == ("G", "JAVA", None)


async def test_a_client_comes_stays_and_goes(nursery: Any) -> None:
    talks, ended = Talks(nursery), []
    talks.clients.on_end.append(lambda client: ended.append(client.client_id))
    with pytest.raises(ProxyError) as raised:
        await talks.beat()
    assert said(raised) == UNKNOWN
    await talks.say(consumer())
    await talks.beat()
    await talks.leave()
    assert ended == ["c1"]
    for again in (talks.beat, talks.leave):
        with pytest.raises(ProxyError) as raised:
            await again()
        assert said(raised) == UNKNOWN


async def test_producers_name_no_group(nursery: Any) -> None:
    talks = Talks(nursery)
    await talks.say(producer("T"))
    await talks.beat(group="")
    await talks.leave(group="")


async def test_a_heartbeat_is_heard(nursery: Any, autojump_clock: object) -> None:
    talks = Talks(nursery)
    await talks.say(producer("T"))
    client = talks.clients.get("c1")
    assert client is not None
    await trio.sleep(100)
    await talks.beat()
    assert client.heard == trio.current_time()


async def test_neither_one_nor_the_other(nursery: Any) -> None:
    talks = Talks(nursery)
    await talks.say(producer("T", kind=ClientType.PULL_CONSUMER))
    with pytest.raises(ProxyError) as raised:
        await talks.beat()
    assert said(raised) == (Code.UNRECOGNIZED_CLIENT_TYPE, "PULL_CONSUMER")
    with pytest.raises(ProxyError) as raised:
        await talks.leave()
    assert said(raised) == (Code.UNRECOGNIZED_CLIENT_TYPE, "PULL_CONSUMER")
    assert talks.clients.get("c1") is None


async def test_goodbye_counts_also_with_a_bad_group(nursery: Any) -> None:
    talks = Talks(nursery)
    await talks.say(consumer())
    with pytest.raises(ProxyError) as raised:
        await talks.leave(group="not a name")
    assert raised.value.code == Code.ILLEGAL_CONSUMER_GROUP
    assert talks.clients.get("c1") is None


@pytest.mark.parametrize(
    ("settings", "status", "text"),
    [
        (
            Settings(client_type=ClientType.PRODUCER),
            GrpcStatus.INVALID_ARGUMENT,
            "there is no publishing or subscription data in settings",
        ),
        (
            producer("bad name"),
            GrpcStatus.INVALID_ARGUMENT,
            "process client telemetryCommand failed. The specified topic[bad name] contains illegal"
            " characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        (
            consumer("nobody"),
            GrpcStatus.INVALID_ARGUMENT,
            "process client telemetryCommand failed. group not found: nobody",
        ),
        (
            consumer("L"),
            GrpcStatus.INVALID_ARGUMENT,
            "process client telemetryCommand failed. lite group must use LITE mode: L",
        ),
        (
            consumer("G", ClientType.LITE_PUSH_CONSUMER),
            GrpcStatus.INVALID_ARGUMENT,
            "process client telemetryCommand failed. regular group cannot use LITE mode: G",
        ),
        (
            consumer("L", ClientType.LITE_PUSH_CONSUMER, topic="U"),
            GrpcStatus.INVALID_ARGUMENT,
            "process client telemetryCommand failed. lite group L is expected to bind topic T,"
            " but actual is U",
        ),
        (
            consumer(expression=FilterExpression(type=FilterType.TAG, expression="||")),
            GrpcStatus.INVALID_ARGUMENT,
            "process client telemetryCommand failed. expression format is not correct",
        ),
        (
            consumer(expression=FilterExpression(type=FilterType.SQL)),
            GrpcStatus.INVALID_ARGUMENT,
            "process client telemetryCommand failed. expression format is not correct",
        ),
        (
            consumer(kind=ClientType.PRODUCER),
            GrpcStatus.INTERNAL,
            "process client telemetryCommand failed. Client type is not consumer, type: PRODUCER",
        ),
    ],
)
async def test_refused_settings_end_the_stream(
    nursery: Any, settings: Settings, status: GrpcStatus, text: str
) -> None:
    talks = Talks(nursery)
    with pytest.raises(GrpcError) as raised:
        await talks.say(settings)
    assert (raised.value.status, raised.value.text) == (status, text)
    assert talks.clients.get("c1") is None


async def test_a_type_without_a_name(nursery: Any) -> None:
    talks, unknown = Talks(nursery), consumer()
    # protobuf keeps numbers that it has no name for.
    unknown.MergeFromString(b"\x08\x2a")
    with pytest.raises(GrpcError, match="Client type is not consumer, type: UNRECOGNIZED"):
        await talks.say(unknown)


async def test_lite_groups(nursery: Any) -> None:
    talks = Talks(nursery)
    await talks.say(consumer("L", ClientType.LITE_PUSH_CONSUMER))
    await talks.beat(group="L")
    with pytest.raises(ProxyError) as raised:
        await talks.beat(group="G")
    assert raised.value.code == Code.ILLEGAL_CONSUMER_GROUP


async def test_without_an_id_it_is_told_so(nursery: Any) -> None:
    talks = Talks(nursery)
    out = await talks.say(consumer(), client_id="")
    assert out.sent[0].status.code == Code.CLIENT_ID_REQUIRED
    assert talks.clients.all() == []


async def test_who_does_not_read_has_no_stream(nursery: Any, autojump_clock: object) -> None:
    talks, torn = Talks(nursery), []
    talks.clients.on_torn_off.append(lambda client: torn.append(client.client_id))

    async def commands() -> AsyncGenerator[Any, None]:
        yield TelemetryCommand(settings=consumer())
        await trio.sleep_forever()

    async def talk(out: FakeStream) -> None:
        async with aclosing(commands()) as incoming:
            with pytest.raises(GrpcError) as raised:
                await talks.telemetry(caller(), incoming, out)
        assert raised.value.status == GrpcStatus.UNAVAILABLE

    out = FakeStream()
    async with trio.open_nursery() as talking:
        talking.start_soon(talk, out)
        await trio.testing.wait_all_tasks_blocked()
        client = talks.clients.get("c1")
        assert client is not None
        out.stuck = True
        assert not await talks.clients.tell(client, TelemetryCommand())
    assert client.stream is None
    assert torn == ["c1"]


async def test_what_telemetry_refuses_leaves_a_trace(
    nursery: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "trimq.proxy")
    talks = Talks(nursery)
    await talks.say(Settings(), client_id="")
    with pytest.raises(GrpcError):
        await talks.say(Settings())
    nobody, empty = (
        one for one in caplog.messages if one.startswith("call refused: call=Telemetry")
    )
    assert " client= " in nobody
    assert " code=CLIENT_ID_REQUIRED " in nobody
    assert " client=c1 " in empty
    assert " code=INVALID_ARGUMENT text=there is no publishing or subscription data" in empty
    nursery.cancel_scope.cancel()
