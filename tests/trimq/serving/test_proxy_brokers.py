"""A proxy before several brokers: all of them are served through it, and the loss of one ends nobody's work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from compat_tests.servers.processes import free_port
from tests.patience import until
from tests.trimq.serving.forge import Forge
from tests.trimq.serving.several import Several, create_topic
from trimq.remoting.clients.blocking import BlockingClient

pytest.importorskip("grpc", reason="Google's gRPC is not installed (extra [test])")

from tests.proxy.kills.caller import Caller, Talk
from trimq.proxy.protos import definition_pb2 as protos
from trimq.proxy.protos import service_pb2 as calls

TOPIC: Final = "Shared"
BOTH: Final = {"broker-a", "broker-b"}


class Cluster(Several):
    """A NameServer, two brokers and a proxy."""

    def __init__(self, folder: Path, forge: Forge) -> None:
        super().__init__(folder / "servers.log", forge)
        self._folder = folder
        self.namesrv, self.proxy = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"

    def start_broker(self, name: str) -> None:
        where = f"127.0.0.1:{free_port()}"
        self.start(
            name,
            *("server", "--namesrv", self.namesrv, "--listen", where),
            *("--store", str(self._folder / name), "--set", f"brokerName={name}"),
        )
        with BlockingClient(where) as client:
            create_topic(client, TOPIC, 2)


@pytest.fixture
def cluster(tmp_path: Path, forge: Forge) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, forge)
    try:
        cluster.start("namesrv", "namesrv", "--listen", cluster.namesrv)
        for name in sorted(BOTH):
            cluster.start_broker(name)
        cluster.start("proxy", "proxy", "--namesrv", cluster.namesrv, "--listen", cluster.proxy)
        yield cluster
    finally:
        cluster.close()


@contextmanager
def consumer(cluster: Cluster, name: str) -> Iterator[Caller]:
    caller = Caller(cluster.proxy, name)
    settings = protos.Settings(client_type=protos.ClientType.SIMPLE_CONSUMER)
    settings.request_timeout.FromSeconds(3)
    settings.subscription.group.name = "Readers"
    settings.subscription.subscriptions.add(topic=protos.Resource(name=TOPIC))
    talk = Talk(caller, settings)
    talk.wait_known()
    try:
        yield caller
    finally:
        talk.stop()
        caller.close()


def brokers_of(caller: Caller) -> set[str]:
    request = calls.QueryRouteRequest(topic=protos.Resource(name=TOPIC))
    answer = caller.ask("QueryRoute", request, calls.QueryRouteResponse)
    return {queue.broker.name for queue in answer.message_queues}


def send(caller: Caller, text: str) -> bool:
    message = protos.Message(topic=protos.Resource(name=TOPIC), body=text.encode())
    message.system_properties.message_id = f"id-{text}"
    message.system_properties.born_timestamp.GetCurrentTime()
    request = calls.SendMessageRequest(messages=[message])
    answer = caller.ask("SendMessage", request, calls.SendMessageResponse, 10)
    return bool(answer.status.code == protos.Code.OK)


def receive(caller: Caller, broker: str) -> list[str]:
    request = calls.ReceiveMessageRequest(
        group=protos.Resource(name="Readers"),
        message_queue=protos.MessageQueue(
            topic=protos.Resource(name=TOPIC), id=-1, broker=protos.Broker(name=broker)
        ),
        batch_size=32,
    )
    request.invisible_duration.FromSeconds(60)
    request.long_polling_timeout.FromSeconds(5)
    return [message.body.decode() for message in caller.receive(request, 10)]


def test_all_brokers_are_served_and_one_may_be_lost(cluster: Cluster) -> None:
    with consumer(cluster, "before") as caller:
        until(lambda: brokers_of(caller) == BOTH, "both brokers are in the route")
        # The group begins with what comes from its first pop on.
        assert not [text for name in BOTH for text in receive(caller, name)]
        sent = {str(number) for number in range(16)}
        assert all(send(caller, text) for text in sorted(sent))
        came: set[str] = set()

        def all_came() -> bool:
            for name in BOTH:
                came.update(receive(caller, name))
            return came == sent

        until(all_came, lambda: f"all have come; missing: {sent - came}")
        cluster.kill("broker-b")
        # Whoever is connected goes on, and whoever comes now begins.
        until(lambda: brokers_of(caller) == {"broker-a"}, "the lost broker leaves the route")
        assert all(send(caller, f"again-{number}") for number in range(8))
    with consumer(cluster, "after") as late:
        assert brokers_of(late) == {"broker-a"}
        assert all(send(late, f"late-{number}") for number in range(8))
        until(lambda: receive(late, "broker-a"), "messages of the broker that is left")
