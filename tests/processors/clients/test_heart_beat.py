"""Heartbeats: who becomes a member, retry topics, fingerprints; and saying goodbye."""

from typing import Any

import pytest

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import TopicSysFlag
from trimq.codec.headers.clients import UnregisterClientRequestHeader
from trimq.processors.clients.heart_beat import HeartBeat
from trimq.processors.clients.unregister_client import UnregisterClient
from trimq.remoting.contract import Later, RemotingError, Request
from trimq.remoting.testing import RecordingPeer, answer


class Clients:
    """The processors of a client's coming and going over one broker's managers."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.peer = RecordingPeer()
        self.producers = broker.producers
        self.heart_beat = broker.processor(HeartBeat)
        self.unregister_client = broker.processor(UnregisterClient)

    def create_topic(self) -> None:
        """T: what there is not has no filter."""
        self.broker.topics.update(TopicConfig(topic_name="T"))

    def beat(self, *groups: ConsumerData, **settings: Any) -> dict[str, str]:
        data = HeartbeatData(client_id="c1", consumer_data_set=list(groups), **settings)
        request = Request(RequestCode.HEART_BEAT, None, self.peer, encode_body(data), 513)
        response = self.heart_beat.handle(request)
        assert response is not None
        assert (response.code, response.remark, response.body) == (0, None, b"")
        return response.ext_fields or {}

    def bye(self, **groups: str) -> None:
        header = UnregisterClientRequestHeader(client_id="c1", **groups)
        request = Request(RequestCode.UNREGISTER_CLIENT, header, self.peer)
        response = self.unregister_client.handle(request)
        assert (response.code, response.remark) == (0, None)


@pytest.fixture
def clients(broker: Any) -> Clients:
    return Clients(broker)


def consumer(group: str = "g", topic: str = "T", **settings: Any) -> ConsumerData:
    return ConsumerData(
        group_name=group,
        consume_type=settings.pop("consume_type", "CONSUME_PASSIVELY"),
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        subscription_data_set=[SubscriptionData(topic=topic, sub_string="*", sub_version=1)],
        **settings,
    )


def test_a_consumer_becomes_a_member_and_its_group_gets_a_retry_topic(clients: Clients) -> None:
    told = clients.beat(consumer(), producer_data_set=[ProducerData(group_name="p")])
    assert told == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
    broker = clients.broker
    assert broker.groups.get("g") is not None
    group = broker.consumers.group("g")
    assert group.client_ids() == ["c1"]
    assert group.consume_from_where == "CONSUME_FROM_LAST_OFFSET"
    retry = broker.topics.get("%RETRY%g")
    assert (retry.read_queue_nums, retry.write_queue_nums, retry.perm) == (1, 1, 6)
    assert (retry.order, retry.topic_sys_flag) == (False, 0)
    assert clients.producers.find("c1") is clients.peer
    assert len(clients.peer.notices) == 1


def test_a_retry_topic_takes_order_and_unit_from_the_heartbeat(clients: Clients) -> None:
    topics = clients.broker.topics
    topics.create_in_send("T", "TBW102", "", 4, 0)
    topics.set_ordered(["T"])
    clients.beat(consumer(unit_mode=True))
    retry = topics.get("%RETRY%g")
    assert (retry.order, retry.topic_sys_flag) == (True, TopicSysFlag.UNIT_SUB)


def test_a_group_that_may_not_exist_is_left_out_without_a_word(clients: Clients) -> None:
    assert clients.beat(consumer("not a group"), consumer("g"))["IS_SUB_CHANGE"] == "true"
    assert list(clients.broker.consumers.groups()) == ["g"]
    assert "%RETRY%not a group" not in clients.broker.topics


def test_consumers_that_pull_can_be_ignored(make_broker: Any) -> None:
    clients = Clients(make_broker(reject_pull_consumer_enable=True))
    clients.beat(consumer("g", consume_type="CONSUME_ACTIVELY"), consumer("h"))
    assert list(clients.broker.consumers.groups()) == ["h"]


def test_a_member_that_contradicts_the_group_is_refused_if_so_configured(make_broker: Any) -> None:
    clients = Clients(make_broker(refuse_inconsistent_subscription=True))
    clients.beat(consumer("g"))
    second = Clients(clients.broker)
    second.peer = RecordingPeer(peer_id=2)
    data = HeartbeatData(
        client_id="c2",
        consumer_data_set=[consumer("g", "U"), consumer("h", "U")],
        producer_data_set=[ProducerData(group_name="p")],
    )
    with pytest.raises(
        RemotingError, match=r"topic T \(c2: nothing, c1: '\*' \(TAG\)\)"
    ) as refused:
        second.heart_beat.handle(Request(34, None, second.peer, encode_body(data), 513))
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    groups = clients.broker.consumers.groups()
    assert {name: group.client_ids() for name, group in groups.items()} == {
        "g": ["c1"],
        "h": ["c2"],
    }
    assert list(groups["g"].subscriptions) == ["T"]
    assert second.producers.online("p")
    assert clients.beat(consumer("g"))["IS_SUB_CHANGE"] == "true"


def test_version_2_is_told_when_the_groups_fingerprint_was_different(clients: Clients) -> None:
    def changed(fingerprint: int, **how: Any) -> str:
        told = clients.beat(consumer(), heartbeat_fingerprint=fingerprint, **how)
        assert told["IS_SUPPORT_HEART_BEAT_V2"] == "true"
        return told["IS_SUB_CHANGE"]

    assert changed(7) == "false"
    assert changed(7) == "false"
    assert changed(8) == "true"
    assert changed(8) == "false"


def test_version_2_may_leave_subscriptions_out(clients: Clients) -> None:
    clients.beat(consumer(), heartbeat_fingerprint=7)
    short = consumer()
    short.subscription_data_set = []
    clients.beat(short, heartbeat_fingerprint=7, without_sub=True)
    assert clients.broker.consumers.find_subscription("g", "T") is not None
    # Version 1 does not know the flag: without subscriptions there are none.
    clients.beat(short, without_sub=True)
    assert clients.broker.consumers.find_subscription("g", "T") is None


def test_what_is_not_a_heartbeat_is_refused(clients: Clients) -> None:
    for body in (b"", b"[]", b"{", b'{"consumerDataSet":5}'):
        with pytest.raises(CodecError):
            clients.heart_beat.handle(Request(34, None, clients.peer, body))


def test_goodbye_ends_membership(clients: Clients) -> None:
    clients.beat(consumer(), producer_data_set=[ProducerData(group_name="p")])
    clients.bye(producer_group="p")
    assert not clients.producers.online("p")
    assert clients.broker.consumers.group("g") is not None
    clients.bye(consumer_group="g", producer_group="nobody")
    assert clients.broker.consumers.group("g") is None
    clients.bye()


def filtering(text: str, version: int = 1, group: str = "g") -> ConsumerData:
    beat = consumer(group)
    one = beat.subscription_data_set[0]
    one.sub_string, one.expression_type, one.sub_version = text, "SQL92", version
    return beat


async def test_filters_are_registered_and_bad_ones_accepted(clients: Clients) -> None:
    clients.create_topic()
    filters = clients.broker.filters.table
    for version, text in enumerate(("n > 5", "n >", "n > 6"), 1):
        data = HeartbeatData(client_id="c1", consumer_data_set=[filtering(text, version)])
        request = Request(RequestCode.HEART_BEAT, None, clients.peer, encode_body(data), 513)
        # A new expression is read first, outside the connection's read loop.
        assert isinstance(clients.heart_beat.handle(request), Later)
        assert (await answer(clients.heart_beat, request)).code == 0
        known = filters.find("T", "g")
        assert (known is None) == (text == "n >")
        assert known is None or known.data.expression == text
    # A known one is not.
    assert clients.beat(filtering("n > 6", 3))
    assert not filters.find("T", "g").is_dead
    clients.bye(consumer_group="g")
    assert filters.find("T", "g").is_dead
    assert clients.beat(filtering("n > 6", 3))
    assert not filters.find("T", "g").is_dead


async def test_heartbeats_without_subscriptions_change_no_filter(clients: Clients) -> None:
    clients.create_topic()
    data = HeartbeatData(client_id="c1", consumer_data_set=[filtering("n > 5")])
    await answer(
        clients.heart_beat,
        Request(RequestCode.HEART_BEAT, None, clients.peer, encode_body(data), 513),
    )
    bare = consumer()
    bare.subscription_data_set = []
    clients.beat(bare, heartbeat_fingerprint=7, without_sub=True)
    assert not clients.broker.filters.table.find("T", "g").is_dead
    clients.beat(bare)
    assert clients.broker.filters.table.find("T", "g").is_dead


async def test_the_first_heartbeat_brings_the_filter_of_the_groups_retry_topic(
    clients: Clients,
) -> None:
    """The topic is made with it: its expression is read all the same."""
    beat = filtering("n > 5")
    beat.subscription_data_set[0].topic = "%RETRY%g"
    data = HeartbeatData(client_id="c1", consumer_data_set=[beat])
    request = Request(RequestCode.HEART_BEAT, None, clients.peer, encode_body(data), 513)
    assert (await answer(clients.heart_beat, request)).code == 0
    known = clients.broker.filters.table.find("%RETRY%g", "g")
    assert known is not None
    assert known.expression is not None


async def test_a_topic_that_comes_later_gets_its_filter_with_any_heartbeat(
    clients: Clients,
) -> None:
    """In RocketMQ 5.5.1 not with one without subscriptions, so never."""
    filters = clients.broker.filters
    data = HeartbeatData(
        client_id="c1", heartbeat_fingerprint=7, consumer_data_set=[filtering("n > 5")]
    )
    request = Request(RequestCode.HEART_BEAT, None, clients.peer, encode_body(data), 513)
    assert (await answer(clients.heart_beat, request)).code == 0
    assert filters.table.find("T", "g") is None
    clients.create_topic()
    bare = consumer()
    bare.subscription_data_set = []
    clients.beat(bare, heartbeat_fingerprint=7, without_sub=True)
    assert filters.table.find("T", "g").data.expression == "n > 5"


def test_a_connection_that_ends_takes_its_groups_filters_out_of_use(clients: Clients) -> None:
    clients.create_topic()
    broker = clients.broker
    broker.filters.expressions.read_now("SQL92", "n > 5")
    clients.beat(filtering("n > 5"), filtering("n > 5", group="h"))
    broker.parts.closed(clients.peer)
    assert all(broker.filters.table.find("T", group).is_dead for group in "gh")
