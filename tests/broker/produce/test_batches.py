"""Batch sends: one record per item, consecutive offsets; expectations read off RocketMQ 5.5.0."""

import pytest

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import parse_record

TWO = join_batch([BatchItem(3, b"one", b"UNIQ_KEY\x01U2\x02"), BatchItem(0, b"two", b"")])


MANY = join_batch([BatchItem(0, b"", b"")] * 32768)


def test_items_become_records_of_their_own(producing):
    producing.send()
    producing.broker.store.write_staged()
    response = producing.send(body=TWO, m="true", j=1)
    first, second = producing.broker.records("T", 0, 1)
    ids = [f"7F00000100002A9F{record.physical_offset:016X}" for record in (first, second)]
    assert response.message_id == ",".join(ids)
    assert (response.queue_id, response.queue_offset, response.unique) == (0, 1, None)
    assert [(r.body, r.flag, r.queue_offset, r.reconsume_times) for r in (first, second)] == [
        (b"one", 3, 1, 1),
        (b"two", 0, 2, 1),
    ]
    # Properties as sent: nothing of the broker's is added.
    assert [parse_properties(r.properties) for r in (first, second)] == [{"UNIQ_KEY": "U2"}, {}]


def test_the_batch_as_a_whole_may_have_a_key(producing, props):
    response = producing.send(body=TWO, m="true", i=props(UNIQ_KEY="BU"))
    assert response.unique == "BU"


def test_the_flag_decides_not_the_code(producing):
    assert producing.sent(body=TWO, m="false")
    assert producing.broker.records("T")[0].body == TWO


def test_the_broker_chooses_the_queue(producing):
    queues = {producing.sent(body=TWO, m="true", e=-1).queue_id for _ in range(60)}
    assert queues == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        (
            {"topic": "%RETRY%CG"},
            13,
            "batch request does not support retry group %RETRY%CG",
        ),
        ({"topic": "%DLQ%" + "g" * 130}, 13, "message topic length too long 135"),
        ({"i": "DELAY\x012\x02"}, 13, None),
        ({"i": "INNER_NUM\x012\x02"}, 13, None),
        ({"f": SysFlag.PREPARED}, 13, None),
        ({"e": 4}, 29, None),
    ],
)
def test_refusals(producing, fields, code, remark):
    response = producing.send(**{"body": TWO, "m": "true", **fields})
    assert response.code == code
    assert remark is None or response.remark == remark
    producing.broker.store.write_staged()
    assert producing.broker.store.max_physical_offset == 0


@pytest.mark.parametrize("key", ["TIMER_DELAY_SEC", "TIMER_DELAY_MS"])
def test_a_batch_does_not_wait(producing, batching, key):
    for batch in (producing, batching):
        text = f"UNIQ_KEY\x01U\x02{key}\x01200\x02"
        assert batch.refused(body=TWO, m="true", i=text).code == 13
        batch.broker.store.write_staged()
        assert batch.broker.store.max_physical_offset == 0


def test_a_batch_above_the_limit_is_a_system_error(producing):
    body = join_batch([BatchItem(0, b"x" * 4194304, b"")])
    refused = producing.send(body=body, m="true")
    assert (refused.code, refused.bare) == (1, True)
    assert "message body size exceeded" in refused.remark


def test_a_delay_inside_an_item_means_nothing(producing):
    body = join_batch([BatchItem(0, b"q", b"DELAY\x012\x02")])
    assert producing.sent(body=body, m="true")
    assert producing.broker.records("T")[0].body == b"q"


@pytest.mark.parametrize("body", [b"garbage", TWO[:-3], TWO + b"\0\0"])
def test_a_broken_batch_stores_nothing(producing, body):
    with pytest.raises(CodecError):
        producing.send(body=body, m="true")
    producing.broker.store.write_staged()
    assert producing.broker.store.max_physical_offset == 0


@pytest.fixture
def batching(producing):
    """T is a topic whose batches stay in one record."""
    producing.broker.keep_batches("T")
    return producing


def test_a_batch_of_a_batch_topic_is_one_record(batching, props):
    one = batching.sent(body=b"single")
    first = batching.sent(body=TWO, m="true", i=props(UNIQ_KEY="BU", TAGS="a"))
    second = batching.sent(body=TWO, m="true", i=props(UNIQ_KEY="BV"))
    assert (one.queue_offset, one.batch_unique) == (0, None)
    assert (first.queue_offset, first.message_id.count(",")) == (1, 0)
    assert (first.batch_unique, first.unique) == ("BU", "BU")
    assert second.queue_offset == 3
    batching.broker.store.write_staged()
    record = parse_record(batching.broker.store.record_at(int(first.message_id[-16:], 16)))
    assert (record.body, record.queue_offset) == (TWO, 1)
    assert record.sys_flag & (SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH) == 0xC0
    kept = parse_properties(record.properties)
    assert (kept["INNER_NUM"], kept["INNER_BASE"], kept["TAGS"]) == ("2", "1", "a")


def test_a_batch_without_a_key_of_its_own_is_split_even_there(batching):
    response = batching.sent(body=TWO, m="true")
    assert (response.message_id.count(","), response.batch_unique) == (1, None)
    batching.broker.store.write_staged()
    assert batching.broker.store.max_offset("T", 0) == 2


@pytest.mark.parametrize(
    ("fields", "body", "code"),
    [
        ({"i": "UNIQ_KEY\x01U\x02DELAY\x012\x02"}, TWO, 13),
        ({}, join_batch([BatchItem(0, b"x" * 4194304, b"")]), 13),
    ],
)
def test_refusals_of_a_batch_topic(batching, fields, body, code):
    response = batching.send(**{"body": body, "m": "true", "i": "UNIQ_KEY\x01U\x02", **fields})
    assert response.code == code
    assert response.batch_unique == "U"
    batching.broker.store.write_staged()
    assert batching.broker.store.max_physical_offset == 0


@pytest.mark.parametrize("body", [TWO[:-3], TWO + b"\0\0\0\0", b"\0\0", b"\xff\xff\xff\xff", MANY])
def test_a_broken_batch_of_a_batch_topic_stores_nothing(batching, body):
    with pytest.raises(CodecError):
        batching.send(body=body, m="true", i="UNIQ_KEY\x01U\x02")


def test_sync_flush_waits_for_the_last_record(make_producing, props):
    producing = make_producing(flush_disk_type="SYNC_FLUSH")
    response = producing.send(body=TWO, m="true")
    producing.broker.store.write_staged()
    assert response.durable_at == producing.broker.store.max_physical_offset
    assert producing.send(body=TWO, m="true", i=props(WAIT="false")).durable_at == -1
