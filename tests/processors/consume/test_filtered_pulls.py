"""Pulls by SQL92: what is refused with which code, what is found, who wakes whom."""

import pytest
import trio

from tests.cold import make_cold
from tests.interpreted import needs_plain_log
from trimq.codec.codes import ResponseCode
from trimq.codec.records.record import parse_record
from trimq.store.messages.message import Message

COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4
SQL = {"expressionType": "SQL92"}
MISSING = "The broker's consumer filter data is not exist!Your expression may be wrong!"


def bodies(response):
    body = response.body
    data = body if isinstance(body, bytes) else b"".join(bytes(part) for part in body)
    found, at = [], 0
    while at < len(data):
        record = parse_record(data, at)
        found.append(record.body)
        at += record.total_size
    return found


def put(consuming, body, topic="T", **properties):
    block = "".join(f"{name}\x01{value}\x02" for name, value in properties.items()).encode()
    consuming.broker.store.put(Message(topic, 0, body, block))


@pytest.fixture
def filtering(make_consuming):
    """Messages 0 to 9 with n = 0 to 9."""
    consuming = make_consuming(enable_property_filter=True)
    for number in range(10):
        put(consuming, b"%d" % number, n=number)
    return consuming


async def test_its_own_expression(filtering):
    asked = {"subscription": "n > 6", **SQL}
    # Nobody has read it yet.
    assert filtering.pull(**asked) is None
    response = await filtering.wait(**asked)
    assert bodies(response) == [b"7", b"8", b"9"]
    assert response.ext_fields["nextBeginOffset"] == "10"
    assert bodies(filtering.pull(**asked)) == [b"7", b"8", b"9"]


async def test_nothing_matches(filtering):
    response = await filtering.wait(subscription="n > 60", **SQL)
    assert (response.code, response.remark) == (20, "NO_MATCHED_MESSAGE")


async def test_its_own_expression_cannot_be_read(filtering):
    response = await filtering.wait(subscription="n >", **SQL)
    assert response.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert response.remark.startswith(
        "parse the consumer's subscription failed: at the end: expected ("
    )
    response = filtering.pull(subscription="n", expressionType="ELVISH")
    assert response.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


async def test_not_allowed(consuming):
    for expression in ("n > 5", "n >"):
        response = consuming.pull(subscription=expression, **SQL)
        assert (response.code, response.remark) == (
            1,
            "The broker does not support consumer to filter message by SQL92",
        )
    consuming.heartbeat("n > 5", set(), expression_type="SQL92")
    assert consuming.pull(sysFlag=0).code == 1


def test_the_groups_expression(filtering):
    filtering.heartbeat("n < 2", set(), expression_type="SQL92")
    assert bodies(filtering.pull(sysFlag=0)) == [b"0", b"1"]
    filtering.heartbeat("n < 3", set(), expression_type="SQL92", sub_version=101)
    assert bodies(filtering.pull(sysFlag=0)) == [b"0", b"1", b"2"]


def test_the_groups_expression_cannot_be_read(filtering):
    filtering.heartbeat("n <", set(), expression_type="SQL92")
    response = filtering.pull(sysFlag=0)
    assert (response.code, response.remark) == (ResponseCode.FILTER_DATA_NOT_EXIST, MISSING)


def test_the_groups_filter_is_older_than_the_subscription(filtering):
    filtering.heartbeat("n < 2", set(), expression_type="SQL92")
    filtering.heartbeat("", set(), expression_type="SQL92", sub_version=101)
    response = filtering.pull(sysFlag=0, subVersion=101)
    assert (response.code, response.remark) == (
        ResponseCode.FILTER_DATA_NOT_LATEST,
        "the consumer's consumer filter data not latest",
    )
    assert bodies(filtering.pull(sysFlag=0, subVersion=100)) == [b"0", b"1"]


def test_class_filters_are_the_clients_business(filtering):
    filtering.heartbeat("n < 2", set(), expression_type="SQL92", class_filter_mode=True)
    assert len(bodies(filtering.pull(sysFlag=0))) == 10


def test_after_a_restart_the_filter_waits_for_its_group(filtering):
    filtering.heartbeat("n < 2", set(), expression_type="SQL92")
    filtering.broker.filters.table.find("T", "CG").expression = None
    assert filtering.pull(sysFlag=0).code == ResponseCode.FILTER_DATA_NOT_EXIST


async def test_offsets_are_committed_once(filtering):
    flags = SUBSCRIPTION | COMMIT
    await filtering.wait(subscription="n > 6", sysFlag=flags, commitOffset=3, **SQL)
    assert filtering.broker.offsets.query("CG", "T", 0) == 3
    assert filtering.broker.offsets.query_pull("CG", "T", 0) == 10


async def test_a_held_one_wakes_for_a_match(filtering, autojump_clock, nursery):
    flags = SUBSCRIPTION | SUSPEND

    async def later():
        await trio.sleep(1)
        put(filtering, b"no", n=1)
        await trio.sleep(2)
        put(filtering, b"yes", n=70)

    nursery.start_soon(later)
    began = trio.current_time()
    response = await filtering.wait(subscription="n > 60", sysFlag=flags, queueOffset=10, **SQL)
    assert trio.current_time() - began == pytest.approx(3)
    assert bodies(response) == [b"yes"]


async def test_five_seconds_after_what_it_does_not_want(filtering, autojump_clock, nursery):
    async def later():
        await trio.sleep(1)
        put(filtering, b"no", n=1)

    nursery.start_soon(later)
    began = trio.current_time()
    flags = SUBSCRIPTION | SUSPEND
    response = await filtering.wait(subscription="n > 60", sysFlag=flags, queueOffset=10, **SQL)
    assert trio.current_time() - began == pytest.approx(6)
    assert (response.code, response.ext_fields["nextBeginOffset"]) == (20, "11")


async def test_many_messages_are_looked_at_in_steps(filtering, nursery):
    for number in range(10, 1000):
        put(filtering, b"%d" % number, n=number)
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    await filtering.wait(subscription="n = 5000", **SQL)
    nursery.start_soon(count)
    before = turns
    response = await filtering.wait(subscription="n = 5000", **SQL)
    assert (response.code, response.ext_fields["nextBeginOffset"]) == (20, "800")
    assert turns - before >= 2
    response = await filtering.wait(subscription="n = 999", queueOffset=800, **SQL)
    assert bodies(response) == [b"999"]
    nursery.cancel_scope.cancel()


async def test_what_is_on_the_disk_is_filtered_in_a_thread(filtering, monkeypatch):
    make_cold(monkeypatch, filtering.broker.store)
    await filtering.wait(subscription="n > 6", **SQL)
    response = await filtering.wait(subscription="n > 6", **SQL)
    assert bodies(response) == [b"7", b"8", b"9"]


@needs_plain_log
async def test_what_is_deleted_meanwhile_is_passed_over(filtering, monkeypatch):
    store = filtering.broker.store
    make_cold(monkeypatch, store)
    contains = type(store._log).contains
    asked = []

    def gone(log, offset, size):
        asked.append(offset)
        return len(asked) < 12 and contains(log, offset, size)

    await filtering.wait(subscription="n > 6", **SQL)
    monkeypatch.setattr(type(store._log), "contains", gone)
    response = await filtering.wait(subscription="n > 6", **SQL)
    assert (response.code, response.remark) == (20, "MESSAGE_WAS_REMOVING")


class TestRetryTopics:
    RETRY = "%RETRY%CG"

    @pytest.fixture
    def retrying(self, make_consuming):
        consuming = make_consuming(enable_property_filter=True, filter_support_retry=True)
        broker = consuming.broker
        broker.topics.create_in_send_back(self.RETRY, 1, 6, 0, order=False)
        consuming.heartbeat("n > 5", set(), expression_type="SQL92")
        for number in (1, 7):
            put(consuming, b"%d" % number, topic=self.RETRY, n=number, RETRY_TOPIC="T")
        put(consuming, b"other", topic=self.RETRY, n=1, RETRY_TOPIC="U")
        put(consuming, b"none", topic=self.RETRY, n=1)
        return consuming

    async def test_the_filter_on_the_messages_own_topic_counts(self, retrying):
        asked = {"topic": self.RETRY, "subscription": "n = 100", **SQL}
        assert bodies(await retrying.wait(**asked)) == [b"7", b"other", b"none"]

    def test_not_for_tags(self, retrying):
        assert len(bodies(retrying.pull(topic=self.RETRY))) == 4

    async def test_not_without_the_setting(self, retrying):
        object.__setattr__(retrying.broker.config, "filter_support_retry", False)
        asked = {"topic": self.RETRY, "subscription": "n = 1", **SQL}
        assert bodies(await retrying.wait(**asked)) == [b"1", b"other", b"none"]
