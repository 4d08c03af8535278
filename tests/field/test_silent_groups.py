"""A group that a client says nothing of any more ends, though its connection goes on (apache/rocketmq 10435).

In RocketMQ 5.5.0 all groups of a heartbeat share one record of the client, so that each of them is kept alive by any,
and by what the producers' table hears. Right: each group's member, and each producer, has its own time.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processors.conftest import Broker
from tests.requests import heartbeat
from trimq.broker.config import BrokerConfig
from trimq.broker.steps import at_once
from trimq.codec.codes import RequestCode
from trimq.processors.clients.heart_beat import HeartBeat
from trimq.remoting.contract import Request
from trimq.remoting.testing import RecordingPeer

EXPIRY = 120_000


class OneClient:
    """On one connection, which stays."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.peer = RecordingPeer()

    def beat(self, groups: str = "", producers: str = "") -> None:
        """It has these consumers and producers; a letter each."""
        request = Request(
            RequestCode.HEART_BEAT, None, self.peer, heartbeat(groups, producers=producers), 515
        )
        self.broker.processor(HeartBeat).handle(request)

    def passes(self, millis: int) -> None:
        self.broker.clock.now += millis
        at_once(self.broker.consumers.scan_expired())
        at_once(self.broker.producers.scan_expired())

    def online(self, groups: str, producers: str) -> tuple[str, str]:
        consuming = [one for one in groups if self.broker.consumers.group(one) is not None]
        producing = [one for one in producers if self.broker.producers.online(one)]
        return "".join(consuming), "".join(producing)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[OneClient]:
    broker = Broker(tmp_path / "store", BrokerConfig(channel_expired_timeout=EXPIRY))
    broker.store.open()
    yield OneClient(broker)
    broker.store.close()


@pytest.mark.parametrize(("groups", "producers"), [("g", ""), ("", "p"), ("g", "q"), ("h", "p")])
def test_what_is_not_named_any_more_expires(client: OneClient, groups: str, producers: str) -> None:
    client.beat("gh", "pq")
    for _ in range(4):
        client.passes(EXPIRY // 2)
        client.beat(groups, producers)
    assert client.online("gh", "pq") == (groups, producers)


def test_nothing_expires_early(client: OneClient) -> None:
    client.beat("gh", "pq")
    client.passes(EXPIRY)
    assert client.online("gh", "pq") == ("gh", "pq")
    client.passes(1)
    assert client.online("gh", "pq") == ("", "")
