"""Consumer groups online: whose subscription counts, who is told of changes, expiry."""

import pytest
import trio
import trio.testing

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.steps import at_once
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import NotifyConsumerIdsChangedRequestHeader
from trimq.remoting.testing import RecordingPeer

NOTICE = (
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
    NotifyConsumerIdsChangedRequestHeader(consumer_group="g"),
    b"",
)


class Members:
    """Sends heartbeats of clients a, b, c."""

    def __init__(self, clock, **settings) -> None:
        self.clock = clock
        self.consumers = Consumers(BrokerConfig(**settings), clock)
        self.peers = {name: RecordingPeer(peer_id=ord(name)) for name in "abc"}

    def client(self, name: str) -> Client:
        return Client(self.peers[name], name, 0, 513, self.clock.now)

    def beat(self, name: str, *subscriptions: SubscriptionData, **how) -> bool:
        data = ConsumerData(
            group_name="g",
            consume_type="CONSUME_PASSIVELY",
            message_model=how.pop("model", "CLUSTERING"),
            subscription_data_set=list(subscriptions),
        )
        return self.consumers.register(self.client(name), data, how.pop("notify", True), **how)

    def told(self, name: str) -> int:
        """How many notices a client has got since the last look."""
        notices = self.peers[name].notices
        assert all(notice == NOTICE for notice in notices)
        count = len(notices)
        notices.clear()
        return count


def sub(topic: str, version: int = 1, expression: str = "*") -> SubscriptionData:
    return SubscriptionData(topic=topic, sub_string=expression, sub_version=version)


@pytest.fixture
def members(clock) -> Members:
    return Members(clock)


def test_everybody_is_told_when_a_member_comes(members: Members) -> None:
    assert members.beat("a", sub("T"))
    assert members.told("a") == 1
    assert members.beat("b", sub("T"))
    assert (members.told("a"), members.told("b")) == (1, 1)
    assert not members.beat("b", sub("T", 2))
    assert (members.told("a"), members.told("b")) == (0, 0)
    group = members.consumers.group("g")
    assert group is not None
    assert group.client_ids() == ["a", "b"]
    assert members.consumers.groups_consuming("T") == {"g"}


def test_everybody_is_told_when_a_member_leaves_or_is_lost(members: Members) -> None:
    for name in "abc":
        members.beat(name, sub("T"))
    [members.told(name) for name in "abc"]
    members.consumers.unregister("g", members.client("c"), True)
    assert [members.told(name) for name in "abc"] == [1, 1, 0]
    members.consumers.closed(members.peers["b"])
    assert [members.told(name) for name in "abc"] == [1, 0, 0]
    gone: list[str] = []
    members.consumers.add_gone_listener(gone.append)
    members.consumers.closed(members.peers["a"])
    assert members.consumers.group("g") is None
    assert members.consumers.groups_consuming("T") == set()
    assert gone == ["g"]


def test_the_highest_version_of_a_subscription_wins(members: Members) -> None:
    members.beat("a", sub("T", 5, "A"))
    members.beat("b", sub("T", 4, "B"))
    found = members.consumers.find_subscription("g", "T")
    assert found is not None
    assert found.sub_string == "A"
    members.beat("b", sub("T", 5, "B"))
    assert members.consumers.find_subscription("g", "T") is found
    members.beat("b", sub("T", 6, "B"))
    changed = members.consumers.find_subscription("g", "T")
    assert changed is not None
    assert changed.sub_string == "B"


def test_a_topic_missing_from_a_heartbeat_is_gone_for_all(members: Members) -> None:
    members.beat("a", sub("T"), sub("U"))
    assert members.beat("b", sub("T"))
    assert members.consumers.find_subscription("g", "U") is None
    assert members.beat("a", sub("T"), sub("U"))
    assert members.consumers.subscription_count("g") == 2


def test_a_heartbeat_without_subscriptions_leaves_them_as_they_are(members: Members) -> None:
    members.beat("a", sub("T"), sub("U"))
    assert members.beat("b", without_sub=True)
    assert not members.beat("b", without_sub=True)
    assert members.consumers.subscription_count("g") == 2
    assert (members.told("a"), members.told("b")) == (2, 1)


def test_fingerprints_are_compared_per_group(members: Members) -> None:
    consumers = members.consumers
    assert not consumers.fingerprint_changed("g", 7)
    assert not consumers.fingerprint_changed("g", 7)
    assert consumers.fingerprint_changed("g", 8)
    assert consumers.fingerprint_changed("g", 0)
    assert not consumers.fingerprint_changed("h", 1)


def test_who_is_not_told(members: Members, clock) -> None:
    members.beat("a", sub("T"), notify=False)
    assert members.told("a") == 0
    broadcasting = Members(clock)
    broadcasting.beat("a", sub("T"), model="BROADCASTING")
    broadcasting.beat("b", sub("T"), model="BROADCASTING")
    broadcasting.consumers.closed(broadcasting.peers["b"])
    assert broadcasting.told("a") == 0
    silent = Members(clock, notify_consumer_ids_changed_enable=False)
    silent.beat("a", sub("T"))
    assert silent.told("a") == 0


def test_notices_can_wait(clock) -> None:
    members = Members(clock, real_time_notify_consumer_change=False)
    members.beat("a", sub("T"))
    members.beat("b", sub("T"))
    assert members.told("a") == 0
    at_once(members.consumers.notices.send_waiting())
    at_once(members.consumers.notices.send_waiting())
    assert (members.told("a"), members.told("b")) == (1, 1)


def test_the_silent_are_dropped_after_120_seconds(members: Members, clock) -> None:
    members.beat("a", sub("T"))
    members.beat("b", sub("T"))
    clock.now += 120_000
    members.beat("b", sub("T"))
    at_once(members.consumers.scan_expired())
    assert not members.peers["a"].closed
    clock.now += 1
    members.told("b")
    at_once(members.consumers.scan_expired())
    assert members.peers["a"].closed
    assert members.told("b") == 1
    assert members.consumers.find_client("g", "a") is None
    assert members.consumers.find_client("g", "b") is not None
    clock.now += 120_000
    at_once(members.consumers.scan_expired())
    assert members.consumers.group("g") is None


def test_a_client_may_change_its_id(members: Members, clock) -> None:
    members.beat("a", sub("T"))
    renamed = Client(members.peers["a"], "a2", 0, 513, clock.now)
    data = ConsumerData(group_name="g", subscription_data_set=[sub("T")])
    assert not members.consumers.register(renamed, data, True)
    group = members.consumers.group("g")
    assert group is not None
    assert group.client_ids() == ["a2"]


def test_subscriptions_from_pulls_count_until_they_expire(members: Members, clock) -> None:
    members.consumers.compensate("p", sub("T", clock.now))
    assert members.consumers.find_subscription("p", "T") is not None
    assert members.consumers.group("p") is None
    clock.now += 600_001
    at_once(members.consumers.scan_expired())
    assert members.consumers.find_subscription("p", "T") is None


def test_the_same_subscription_again_is_only_newer(members: Members, clock) -> None:
    consumers = members.consumers
    assert not consumers.renew_compensated("p", "T", "*", None, clock.now)
    consumers.compensate("p", sub("T", clock.now, "A || B"))
    clock.now += 600_000
    for expression, kind in (("A", None), ("*", None), (None, None), ("A || B", "SQL92")):
        assert not consumers.renew_compensated("p", "T", expression, kind, clock.now)
    assert consumers.renew_compensated("p", "T", "A || B", "TAG", clock.now)
    clock.now += 600_000
    at_once(consumers.scan_expired())
    assert consumers.find_subscription("p", "T") is not None
    clock.now += 1
    at_once(consumers.scan_expired())
    assert consumers.find_subscription("p", "T") is None
    assert not consumers.renew_compensated("p", "T", "A || B", "TAG", clock.now)


async def test_members_of_a_large_group_are_told_once_for_all_that_came(
    clock, autojump_clock: trio.testing.MockClock
) -> None:
    """Each of a thousand that come back together would send all others a notice."""
    consumers, peers = Consumers(BrokerConfig(), clock), []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumers.notices.run)
        for number in range(50):
            peers.append(RecordingPeer(f"10.0.0.1:{number + 1}", number + 1))
            client = Client(peers[-1], f"c{number}", 0, 513, clock.now)
            data = ConsumerData(group_name="g", message_model="CLUSTERING")
            consumers.register(client, data, True)
        await trio.sleep(1)
        assert [len(peer.notices) for peer in peers[10:]] == [1] * 40
        for peer in peers[20:]:
            consumers.closed(peer)
        await trio.sleep(1)
        assert [len(peer.notices) for peer in peers[10:20]] == [2] * 10
        nursery.cancel_scope.cancel()


async def test_a_connection_in_many_groups_leaves_them_in_steps(clock) -> None:
    consumers, peer = Consumers(BrokerConfig(), clock), RecordingPeer()
    for number in range(50):
        data = ConsumerData(group_name=f"g{number}", message_model="CLUSTERING")
        consumers.register(Client(peer, "c", 0, 513, clock.now), data, True)
    consumers.closed(peer)
    assert 0 < len(consumers.groups()) < 50
    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumers.leaving.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert not consumers.groups()
