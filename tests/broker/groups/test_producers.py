"""Producer groups: members, expiry, whom to ask."""

import pytest

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.clients.record import Client
from trimq.broker.steps import at_once
from trimq.remoting.testing import RecordingPeer


@pytest.fixture
def producers(clock) -> Producers:
    return Producers(BrokerConfig(), clock)


def client(peer: RecordingPeer, clock, name: str = "c1") -> Client:
    return Client(peer, name, 0, 513, clock.now)


def test_members_come_and_go(producers: Producers, clock) -> None:
    peer = RecordingPeer()
    member = client(peer, clock)
    producers.register("p", member)
    producers.register("q", member)
    assert producers.online("p")
    assert producers.find("c1") is peer
    producers.unregister("p", member)
    assert producers.group("p") is None
    producers.unregister("p", member)
    producers.closed(peer)
    assert producers.groups() == {}
    assert producers.find("c1") is None


def test_the_silent_ones_are_dropped_after_120_seconds(producers: Producers, clock) -> None:
    quiet, alive = RecordingPeer(peer_id=1), RecordingPeer(peer_id=2)
    producers.register("p", client(quiet, clock))
    producers.register("p", client(alive, clock, "c2"))
    clock.now += 120_000
    producers.register("p", client(alive, clock, "c2"))
    at_once(producers.scan_expired())
    assert producers.online("p")
    assert len(producers.group("p") or {}) == 2
    clock.now += 1
    at_once(producers.scan_expired())
    assert list(producers.group("p") or {}) == [alive]
    assert quiet.closed
    assert producers.find("c1") is None


def test_members_are_asked_in_turn_but_not_the_gone(producers: Producers, clock) -> None:
    peers = [RecordingPeer(peer_id=number) for number in range(3)]
    for peer in peers:
        producers.register("p", client(peer, clock, f"c{peer.id}"))
    assert {producers.pick("p") for _ in range(3)} == set(peers)
    peers[0].closed = peers[1].closed = True
    assert {producers.pick("p") for _ in range(3)} == {peers[2]}
    peers[2].closed = True
    assert producers.pick("p") is None
    assert producers.pick("nobody") is None


def test_producers_need_not_be_remembered(clock) -> None:
    config = BrokerConfig(enable_register_producer=False, reject_transaction_message=True)
    producers = Producers(config, clock)
    producers.register("p", client(RecordingPeer(), clock))
    assert not producers.online("p")
