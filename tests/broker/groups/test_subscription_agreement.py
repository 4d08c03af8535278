"""Members of a group that want different things: recorded once, with who overwrites whom; refused if so configured."""

from dataclasses import asdict
from typing import Any

import pytest

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.agreement import Agreement
from trimq.broker.groups.consumers.group import ConsumerGroup
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.steps import at_once
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.remoting.testing import RecordingPeer

START = 1_700_000_000_000
TOPIC = ("topic", "T")


class Members:
    """Heartbeats of clients a, b, c to one broker."""

    def __init__(self, clock: Any, **settings: Any) -> None:
        self.clock = clock
        self.consumers = Consumers(BrokerConfig(**settings), clock)
        self.peers = {name: RecordingPeer(peer_id=ord(name)) for name in "abc"}

    def beat(self, name: str, *wanted: SubscriptionData, **how: Any) -> None:
        client, data = self._heartbeat(name, wanted, how)
        self.consumers.register(client, data, True, without_sub=how.get("without_sub", False))

    def objection(self, name: str, *wanted: SubscriptionData, **how: Any) -> str | None:
        client, data = self._heartbeat(name, wanted, how)
        without = how.get("without_sub", False)
        return self.consumers.objection(client, data, without_sub=without)

    def _heartbeat(
        self, name: str, wanted: tuple[SubscriptionData, ...], how: dict[str, Any]
    ) -> tuple[Client, ConsumerData]:
        peer = self.peers[how.get("peer", name)]
        data = ConsumerData(
            group_name="g",
            consume_type=how.get("kind", "CONSUME_PASSIVELY"),
            message_model=how.get("model", "CLUSTERING"),
            consume_from_where=how.get("where", "CONSUME_FROM_LAST_OFFSET"),
            subscription_data_set=list(wanted),
        )
        return Client(peer, name, 0, 513, self.clock.now), data

    def close(self, name: str) -> None:
        self.consumers.closed(self.peers[name])

    @property
    def group(self) -> ConsumerGroup:
        found = self.consumers.group("g")
        assert found is not None
        return found

    @property
    def since(self) -> dict[tuple[str, str], int]:
        return self.group.agreement.since


def sub(
    topic: str = "T", expression: str | None = "*", version: int = 1, kind: str = "TAG"
) -> SubscriptionData:
    return SubscriptionData(
        topic=topic, sub_string=expression, sub_version=version, expression_type=kind
    )


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in caplog.messages if text.startswith("members of a group")]


@pytest.fixture
def members(clock: Any, caplog: pytest.LogCaptureFixture) -> Members:
    caplog.set_level("INFO", "trimq.broker")
    return Members(clock)


def test_a_dispute_begins_and_ends_once(
    members: Members, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    members.beat("a", sub(expression="A"))
    clock.now += 1000
    members.beat("b", sub(expression="B || C", version=2))
    for version in (3, 4, 5):
        clock.now += 30_000
        members.beat("a", sub(expression="A", version=version))
        members.beat("b", sub(expression="B || C", version=version))
    assert members.since == {TOPIC: START + 1000}
    assert (members.consumers.disagreements, members.consumers.groups_in_dispute) == (1, 1)
    assert warnings(caplog) == [
        "members of a group subscribe differently, messages will be missed: group=g "
        "who=topic T [a: 'A' (TAG), b: 'B || C' (TAG)]"
    ]
    members.beat("b", sub(expression="A", version=6))
    members.beat("a", sub(expression="A", version=7))
    assert members.since == {}
    assert (members.consumers.disagreements, members.consumers.groups_in_dispute) == (1, 0)
    assert warnings(caplog)[1:] == ["members of a group agree again: group=g"]


def test_each_member_keeps_its_own_account(members: Members, clock: Any) -> None:
    members.beat("a", sub(expression="A"))
    clock.now += 5000
    members.beat("b", sub("U"), where="CONSUME_FROM_FIRST_OFFSET")
    clock.now += 5000
    members.beat("a", sub(expression="A", version=9))
    accounts = {one.client.client_id: one for one in members.group.members.values()}
    assert [one.since for one in accounts.values()] == [START, START + 5000]
    assert list(accounts["a"].subscriptions or ()) == ["T"]
    assert list(accounts["b"].subscriptions or ()) == ["U"]
    assert accounts["b"].consume_from_where == "CONSUME_FROM_FIRST_OFFSET"
    assert members.since == {
        ("consumeFromWhere", ""): START + 5000,
        TOPIC: START + 5000,
        ("topic", "U"): START + 5000,
    }


@pytest.mark.parametrize(
    ("how", "point"),
    [
        ({"kind": "CONSUME_ACTIVELY"}, "consumeType"),
        ({"model": "BROADCASTING"}, "messageModel"),
        ({"where": "CONSUME_FROM_TIMESTAMP"}, "consumeFromWhere"),
    ],
)
def test_how_they_consume_counts(members: Members, how: dict[str, str], point: str) -> None:
    members.beat("a", sub())
    members.beat("b", sub(), **how)
    assert list(members.since) == [(point, "")]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (sub(expression="A || B"), sub(expression="B||A"), True),
        (sub(expression=None), sub(expression="*"), True),
        (sub(kind=""), sub(), True),
        (sub(version=1), sub(version=2), True),
        (sub(expression="A"), sub(expression="A || B"), False),
        (sub(expression="a"), sub(expression="A"), False),
        (sub(expression="A", kind="SQL92"), sub(expression="A"), False),
        (sub(expression="x || y", kind="SQL92"), sub(expression="y || x", kind="SQL92"), False),
    ],
)
def test_what_counts_as_the_same(
    members: Members, one: SubscriptionData, other: SubscriptionData, same: bool
) -> None:
    members.beat("a", one)
    members.beat("b", other)
    assert (members.since == {}) is same


def test_a_member_that_has_not_said_what_it_wants_differs_from_nobody(members: Members) -> None:
    members.beat("a", sub())
    members.beat("b", without_sub=True)
    assert members.since == {}
    members.beat("b")
    assert list(members.since) == [TOPIC]
    members.beat("b", without_sub=True)
    assert list(members.since) == [TOPIC]


@pytest.mark.parametrize("way", ["closed", "unregistered", "silent"])
def test_what_a_member_said_goes_with_it(
    members: Members, clock: Any, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    members.beat("a", sub(expression="A"))
    members.beat("b", sub(expression="B"))
    if way == "closed":
        members.close("b")
    elif way == "unregistered":
        gone = Client(members.peers["b"], "b", 0, 513, clock.now)
        members.consumers.unregister("g", gone, True)
    else:
        clock.now += 100_000
        members.beat("a", sub(expression="A"))
        clock.now += 100_000
        at_once(members.consumers.scan_expired())
    assert members.since == {}
    assert warnings(caplog)[1:] == ["members of a group agree again: group=g"]
    members.close("a")
    assert (members.consumers.disagreements, members.consumers.groups_in_dispute) == (1, 0)


def test_who_overwrites_whom(members: Members, clock: Any) -> None:
    members.beat("a", sub(expression="A"), sub("U"))
    clock.now += 1000
    members.beat("b", sub(expression="B", version=2))
    clock.now += 1000
    members.beat("a", sub(expression="A"), sub("U"))
    clock.now += 1000
    members.beat("b", sub(expression="B", version=2))
    told = [asdict(one) for one in members.group.agreement.overwrites]
    first, back, again = START + 1000, START + 2000, START + 3000
    assert told == [
        _overwrite("T", "b", "a", ("A", "B"), first, first, 1),
        _overwrite("U", "a", "b", (None, "*"), back, back, 1),
        _overwrite("U", "b", "a", ("*", None), first, again, 2),
    ]


def _overwrite(
    topic: str, by: str, of: str, texts: tuple[str | None, str | None], *figures: int
) -> dict[str, Any]:
    names = ("topic", "by", "of", "before", "after", "first", "last", "count")
    return dict(zip(names, (topic, by, of, *texts, *figures), strict=True))


def test_a_member_that_changes_its_mind_overwrites_nobody(members: Members) -> None:
    members.beat("a", sub(expression="A"), sub("U"))
    members.beat("a", sub(expression="B", version=2))
    assert members.group.agreement.overwrites == []


def test_only_so_many_overwrites_are_remembered() -> None:
    agreement = Agreement("g")
    for number in range(200):
        agreement.put("T", "ab"[number % 2], sub(expression=f"t{number}"), number)
    kept = agreement.overwrites
    assert [one.last for one in kept] == list(range(150, 200))
    for number in range(5000):
        agreement.put(f"T{number}", "a", sub(), number)
        agreement.put(f"T{number}", "b", None, number)
    assert len(agreement._authors) <= 1001


def test_the_second_member_that_disagrees_is_refused_if_so_configured(
    clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    members = Members(clock, refuse_inconsistent_subscription=True)
    assert members.objection("a", sub(expression="A")) is None
    members.beat("a", sub(expression="A"))
    reason = members.objection("b", sub(expression="B"), where="CONSUME_FROM_FIRST_OFFSET")
    assert reason is not None
    assert "topic T (b: 'B' (TAG), a: 'A' (TAG))" in reason
    assert "consumeFromWhere (b: CONSUME_FROM_FIRST_OFFSET, a: CONSUME_FROM_LAST_OFF" in reason
    again = members.objection(
        "b", sub(expression="B", version=3), where="CONSUME_FROM_FIRST_OFFSET"
    )
    assert again == reason
    assert [text for text in caplog.messages if "refused" in text] == [
        f"consumer refused: client=b reason={reason}"
    ]
    assert members.objection("b", sub(expression="A", version=3)) is None
    # The same client on a new connection, before the old one is known to be gone.
    assert members.objection("a", sub(expression="B"), peer="c") is None
    # Alone, everybody may change its mind.
    assert members.objection("a", sub(expression="C")) is None


def test_members_from_before_the_setting_stay(clock: Any) -> None:
    members = Members(clock)
    members.beat("a", sub(expression="A"))
    members.beat("b", sub(expression="B"))
    assert members.objection("b", sub(expression="C")) is None
    strict = Members(clock, refuse_inconsistent_subscription=True)
    strict.beat("a", sub(expression="A"))
    strict.beat("b", sub(expression="B"))
    assert strict.objection("a", sub(expression="A", version=5)) is None
    assert strict.objection("b", without_sub=True) is None
    assert strict.objection("b", sub(expression="C")) is not None
