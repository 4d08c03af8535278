"""PULL_MESSAGE: every status and refusal; expectations read off RocketMQ 5.5.0."""

import os

import pytest
import trio

from tests.processors.consume.conftest import CLASS_FILTER, COMMIT, SUBSCRIPTION, SUSPEND
from trimq.base.file_body import FileBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.record import parse_record
from trimq.remoting.contract import LimitReached
from trimq.store import native

SEE_FAQ = "\nSee https://rocketmq.apache.org/docs/faq/ for further details."
HELD = SUSPEND | SUBSCRIPTION


def bodies(response):
    body = response.body
    data = body if isinstance(body, bytes) else b"".join(bytes(part) for part in body)
    found = []
    at = 0
    while at < len(data):
        record = parse_record(data, at)
        found.append(record.body)
        at += record.total_size
    return found


def fields(low, high, following):
    return {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": str(following),
        "minOffset": str(low),
        "maxOffset": str(high),
        "topicSysFlag": "0",
        "groupSysFlag": "0",
    }


@pytest.fixture
def five(consuming):
    """Five messages, tags B A B A B."""
    for index in range(5):
        consuming.put("A" if index % 2 else "B", b"m%d" % index)
    return consuming


def test_messages_from_an_offset_on(five):
    response = five.pull(queueOffset=1, maxMsgNums=3)
    assert (response.code, response.remark) == (0, "FOUND")
    assert response.ext_fields == fields(0, 5, 4)
    assert bodies(response) == [b"m1", b"m2", b"m3"]


@pytest.mark.parametrize(
    ("asked", "code", "remark", "expected"),
    [
        ({"queueId": 1}, 19, "NO_MESSAGE_IN_QUEUE", fields(0, 0, 0)),
        ({"queueId": 1, "queueOffset": 5}, 21, "NO_MESSAGE_IN_QUEUE", fields(0, 0, 0)),
        ({"queueOffset": 5}, 19, "OFFSET_OVERFLOW_ONE", fields(0, 5, 5)),
        ({"queueOffset": 9}, 21, "OFFSET_OVERFLOW_BADLY", fields(0, 5, 5)),
        ({"queueOffset": -1}, 21, "OFFSET_TOO_SMALL", fields(0, 5, 0)),
        ({"subscription": "ZZ"}, 20, "NO_MATCHED_MESSAGE", fields(0, 5, 5)),
        ({"subscription": " "}, 20, "NO_MATCHED_MESSAGE", fields(0, 5, 5)),
        ({"subscription": " || || "}, 20, "NO_MATCHED_MESSAGE", fields(0, 5, 5)),
        ({"subscription": "A", "expressionType": ""}, 20, "NO_MATCHED_MESSAGE", fields(0, 5, 5)),
        (
            {"sysFlag": SUBSCRIPTION | CLASS_FILTER, "subscription": "com.Foo"},
            20,
            "NO_MATCHED_MESSAGE",
            fields(0, 5, 5),
        ),
    ],
)
def test_what_a_queue_can_say(five, asked, code, remark, expected):
    response = five.pull(**asked)
    assert (response.code, response.remark, response.ext_fields) == (code, remark, expected)
    assert not response.body


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"subscription": "A"}, 2),
        ({"subscription": " A ||B"}, 5),
        ({"subscription": ""}, 5),
        ({"subscription": None}, 5),
        ({"subscription": "A", "expressionType": "TAG"}, 2),
        ({"maxMsgNums": 0}, 1),
        ({"maxMsgNums": -1}, 1),
        ({"maxMsgNums": 1000}, 5),
        ({"maxMsgBytes": 10}, 5),
        ({"requestSource": 1, "proxyFrowardClientId": "c"}, 5),
    ],
)
def test_how_many_are_found(five, asked, found):
    response = five.pull(**asked)
    assert response.code == 0
    assert len(bodies(response)) == found


REFUSALS = [
    (
        {"topic": "NONE"},
        17,
        "topic[NONE] not exist, apply first please! " + SEE_FAQ,
    ),
    (
        {"queueId": 7},
        29,
        "queueId[7] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/10.0.0.7:4711]",
    ),
    (
        {"queueId": -1},
        29,
        "queueId[-1] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/10.0.0.7:4711]",
    ),
    ({"subscription": "||"}, 23, "parse the consumer's subscription failed"),
    (
        {"subscription": "", "expressionType": "SQL92"},
        23,
        "parse the consumer's subscription failed",
    ),
    ({"subscription": "", "expressionType": ""}, 23, "parse the consumer's subscription failed"),
    (
        {"subscription": "a > 1", "expressionType": "SQL92"},
        1,
        "The broker does not support consumer to filter message by SQL92",
    ),
    ({"sysFlag": 0}, 24, "the consumer's group info not exist" + SEE_FAQ),
    ({"consumerGroup": "a b"}, 26, "subscription group [a b] does not exist, " + SEE_FAQ),
    ({"consumerGroup": ""}, 26, "subscription group [] does not exist, " + SEE_FAQ),
]


@pytest.mark.parametrize(("asked", "code", "remark"), REFUSALS)
def test_refusals(five, asked, code, remark):
    response = five.pull(**asked)
    assert (response.code, response.remark) == (code, remark)


def forbidden(response):
    return (response.code, response.ext_fields, response.remark)


def test_who_may_not_pull(make_consuming, five):
    five.broker.groups.find("CG").consume_enable = False
    assert forbidden(five.pull()) == (
        16,
        {"forbiddenType": "2"},
        "subscription group no permission, CG",
    )
    five.broker.groups.find("CG").consume_enable = True
    five.broker.topics.get("T").perm = Perm.WRITE
    assert forbidden(five.pull()) == (
        16,
        {"forbiddenType": "3"},
        "the topic[T] pulling message is forbidden",
    )


def test_a_broker_that_may_not_be_read(make_consuming):
    consuming = make_consuming(broker_permission=Perm.WRITE)
    assert forbidden(consuming.pull()) == (
        16,
        {"forbiddenType": "1"},
        "the broker[127.0.0.1] pulling message is forbidden",
    )


def test_lite_pull_has_a_switch(make_consuming):
    consuming = make_consuming(lite_pull_message_enable=False)
    assert consuming.pull().code == ResponseCode.PULL_NOT_FOUND
    assert forbidden(consuming.pull(RequestCode.LITE_PULL_MESSAGE)) == (
        16,
        {"forbiddenType": "1"},
        "the broker[127.0.0.1] for lite pull consumer is forbidden",
    )


def test_lite_pull_reads_like_pull(five):
    assert len(bodies(five.pull(RequestCode.LITE_PULL_MESSAGE, sysFlag=SUBSCRIPTION | 16))) == 5


class TestSubscriptionOfTheGroup:
    def test_found(self, five):
        five.heartbeat("A", {string_hash("A")})
        assert bodies(five.pull(sysFlag=0, subVersion=100)) == [b"m1", b"m3"]

    def test_all_tags(self, five):
        five.heartbeat("*", set())
        assert len(bodies(five.pull(sysFlag=0, subVersion=1))) == 5

    def test_class_filters_are_the_client_s_business(self, five):
        five.heartbeat("com.Foo", set(), class_filter_mode=True)
        assert len(bodies(five.pull(sysFlag=0))) == 5

    def test_a_newer_one_is_not_known_yet(self, five):
        five.heartbeat("A", {65})
        response = five.pull(sysFlag=0, subVersion=101)
        assert (response.code, response.remark) == (25, "the consumer's subscription not latest")

    def test_another_topic(self, five):
        five.heartbeat("A", {65}, topic="Other")
        response = five.pull(sysFlag=0)
        assert (response.code, response.remark) == (
            24,
            "the consumer's subscription not exist" + SEE_FAQ,
        )

    def test_filters_over_properties(self, five):
        five.heartbeat("a > 1", set(), expression_type="SQL92")
        assert five.pull(sysFlag=0).code == ResponseCode.SYSTEM_ERROR

    def test_a_filter_without_expression(self, five):
        five.heartbeat("", set(), expression_type="SQL92")
        assert five.pull(sysFlag=0).code == ResponseCode.FILTER_DATA_NOT_EXIST

    def test_broadcasting_can_be_forbidden(self, five):
        five.heartbeat("*", set(), message_model="BROADCASTING")
        five.broker.groups.find("CG").consume_broadcast_enable = False
        assert forbidden(five.pull(sysFlag=0)) == (
            16,
            {"forbiddenType": "4"},
            "the consumer group[CG] can not consume by broadcast way",
        )

    def test_a_topic_can_be_forbidden(self, five):
        five.heartbeat("*", set())
        five.broker.groups.set_forbidden("CG", "T", 2, True)
        assert forbidden(five.pull(sysFlag=0)) == (
            16,
            {"forbiddenType": "5"},
            "the consumer group[CG] is forbidden for topic[T]",
        )


def test_a_pull_s_own_subscription_is_remembered(five):
    five.pull(subscription="A")
    known = five.broker.consumers.find_subscription("CG", "T")
    assert (known.sub_string, known.tags_set) == ("A", {"A"})


def test_active_consumers_can_be_rejected(make_consuming):
    consuming = make_consuming(reject_pull_consumer_enable=True)
    consuming.put()
    response = consuming.pull()
    assert response.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    assert response.remark.startswith("the consumer's group info not exist, or the pull consumer")
    assert consuming.pull(consumerGroup="TOOLS_CONSUMER").code == 0
    consuming.heartbeat("*", set(), consume_type="CONSUME_ACTIVELY")
    assert consuming.pull().code == 0


def test_offsets_are_noted(five):
    five.pull(maxMsgNums=2)
    assert five.broker.offsets.query("CG", "T", 0) == -1
    assert five.broker.offsets.query_pull("CG", "T", 0) == 2
    five.pull(sysFlag=SUBSCRIPTION | COMMIT, commitOffset=3)
    assert five.broker.offsets.query("CG", "T", 0) == 3


def test_an_operator_s_reset_is_answered_once(five):
    five.broker.offsets.assign_reset("CG", "T", 0, 4)
    response = five.pull()
    assert (response.code, response.remark) == (21, "OFFSET_RESET")
    assert response.ext_fields == fields(0, 5, 4)
    assert five.pull().code == 0


def test_a_slave_is_suggested_only_where_it_may_be_read(make_consuming):
    consuming = make_consuming(slave_read_enable=True, physical_memory=1)
    consuming.put()
    consuming.put()
    assert consuming.pull().ext_fields["suggestWhichBrokerId"] == "1"


@pytest.fixture
def not_joined(five, monkeypatch):
    """Too much for one piece, say, or a build without a compiler."""
    monkeypatch.setattr(five.broker.store, "join", lambda found: None)
    return five


def test_only_peers_that_do_not_read_the_bytes_get_views(not_joined):
    """TLS does: a page that cannot be read would end the process there."""
    five = not_joined
    assert not any(isinstance(part, bytes) for part in five.pull().body)
    five.broker.peer.takes_views = False
    assert {type(part) for part in five.pull().body} == {bytes}


def test_little_comes_in_one_piece(five):
    if not native.IN_C:
        pytest.skip("store/native/_pages.c is not compiled here (make compiled does it)")
    for takes_views in (True, False):
        five.broker.peer.takes_views = takes_views
        response = five.pull()
        assert type(response.body) is bytes
        assert len(bodies(response)) == 5


class TestFiles:
    """Replies that a thread sends from the log's files, for peers whose socket the kernel fills."""

    @pytest.fixture
    def large(self, consuming):
        """Three messages of 60 KiB together."""
        consuming.broker.peer.takes_files = True
        for _ in range(3):
            consuming.put(body=b"x" * 60 * 1024)
        return consuming

    @staticmethod
    def sent(body):
        return b"".join(
            os.pread(part[0], part[2], part[1]) if isinstance(part, tuple) else part
            for part in body.parts()
        )

    def test_what_is_large_leaves_from_there(self, large, monkeypatch):
        at_once = b"".join(large.pull().body)
        monkeypatch.setattr(large.broker.store, "is_hot", lambda offset: False)
        body = large.pull().body
        assert isinstance(body, FileBody)
        assert (body.size, self.sent(body)) == (len(at_once), at_once)

    def test_what_has_just_been_written_is_sent_at_once(self, large):
        assert not isinstance(large.pull().body, FileBody)

    def test_what_is_not_in_memory_leaves_from_there(self, not_joined, monkeypatch):
        five = not_joined
        at_once = b"".join(five.pull().body)
        five.broker.peer.takes_files = True
        monkeypatch.setattr(five.broker.store, "view", lambda extents: None)
        body = five.pull().body
        assert isinstance(body, FileBody)
        assert self.sent(body) == at_once


async def test_what_is_not_in_memory_is_read_in_a_thread_for_others(not_joined, monkeypatch):
    five = not_joined
    monkeypatch.setattr(five.broker.store, "view", lambda extents: None)
    assert five.pull() is None
    response = await five.wait()
    assert len(bodies(response)) == 5


class TestHolding:
    """Held pulls; time is Trio's mock clock."""

    def test_only_when_asked_for(self, consuming):
        assert consuming.pull(sysFlag=HELD) is None
        assert consuming.pull(sysFlag=SUBSCRIPTION).code == ResponseCode.PULL_NOT_FOUND
        # What is wrong or can be answered is not held.
        assert consuming.pull(sysFlag=HELD, queueOffset=5).code == ResponseCode.PULL_OFFSET_MOVED

    async def test_until_its_time_is_up(self, consuming, autojump_clock):
        began = trio.current_time()
        response = await consuming.wait(sysFlag=HELD, suspendTimeoutMillis=2000)
        assert trio.current_time() - began == pytest.approx(2)
        assert (response.code, response.remark) == (19, "NO_MESSAGE_IN_QUEUE")
        assert response.ext_fields == fields(0, 0, 0)
        assert consuming.arrivals.waiting == 0

    async def test_until_a_message_lands(self, consuming, autojump_clock, nursery):
        async def later():
            await trio.sleep(3)
            consuming.put("A")

        nursery.start_soon(later)
        began = trio.current_time()
        response = await consuming.wait(sysFlag=HELD, subscription="A")
        assert trio.current_time() - began == pytest.approx(3)
        assert bodies(response) == [b"x"]

    async def test_five_seconds_longer_for_another_tag(self, consuming, autojump_clock, nursery):
        async def later():
            await trio.sleep(3)
            consuming.put("B")
            await trio.sleep(1)
            consuming.put("B")

        nursery.start_soon(later)
        began = trio.current_time()
        response = await consuming.wait(sysFlag=HELD, subscription="A")
        assert trio.current_time() - began == pytest.approx(8)
        assert (response.code, response.ext_fields) == (20, fields(0, 2, 2))

    async def test_its_offset_is_committed_once(self, consuming, autojump_clock, nursery):
        async def later():
            await trio.sleep(1)
            consuming.broker.offsets.commit("c", "CG", "T", 0, 9)

        nursery.start_soon(later)
        await consuming.wait(sysFlag=HELD | COMMIT, commitOffset=3, suspendTimeoutMillis=2000)
        assert consuming.broker.offsets.query("CG", "T", 0) == 9

    async def test_everything_is_checked_again(self, consuming, autojump_clock, nursery):
        async def later():
            await trio.sleep(1)
            consuming.broker.topics.get("T").perm = Perm.WRITE
            consuming.put()

        nursery.start_soon(later)
        response = await consuming.wait(sysFlag=HELD)
        assert response.code == ResponseCode.NO_PERMISSION

    async def test_short_polling(self, make_consuming, autojump_clock, nursery):
        consuming = make_consuming(long_polling_enable=False)

        async def later():
            await trio.sleep(0.2)
            consuming.put()

        nursery.start_soon(later)
        began = trio.current_time()
        response = await consuming.wait(sysFlag=HELD)
        assert trio.current_time() - began == pytest.approx(1)
        assert response.code == 0

    async def test_only_so_many(self, make_consuming, autojump_clock):
        consuming = make_consuming(max_held_pulls=1)
        consuming.arrivals.waiting = 1
        with pytest.raises(LimitReached, match="maxHeldPulls") as refused:
            await consuming.wait(sysFlag=HELD)
        assert refused.value.code == ResponseCode.SYSTEM_BUSY

    async def test_nobody_waits_for_days(self, consuming, autojump_clock):
        began = trio.current_time()
        await consuming.wait(sysFlag=HELD, suspendTimeoutMillis="86400000000")
        assert trio.current_time() - began == pytest.approx(300)
