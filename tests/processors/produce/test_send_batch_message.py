"""SEND_BATCH_MESSAGE: one record per item, consecutive offsets; expectations read off RocketMQ 5.5.0."""

import pytest

from trimq.codec.batch import BatchItem, join_batch
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.properties import parse_properties
from trimq.codec.record import parse_record
from trimq.processors.produce.send_batch_message import SendBatchMessage

TWO = join_batch([BatchItem(3, b"one", b"UNIQ_KEY\x01U2\x02"), BatchItem(0, b"two", b"")])


MANY = join_batch([BatchItem(0, b"", b"")] * 32768)


def test_items_become_records_of_their_own(producing):
    producing.send()
    producing.broker.store.write_staged()
    response = producing.send(body=TWO, m="true", j=1)
    first, second = producing.broker.records("T", 0, 1)
    ids = [f"7F00000100002A9F{record.physical_offset:016X}" for record in (first, second)]
    assert response.ext_fields == {
        "msgId": ",".join(ids),
        "queueId": "0",
        "queueOffset": "1",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    assert response.staged
    assert [(r.body, r.flag, r.queue_offset, r.reconsume_times) for r in (first, second)] == [
        (b"one", 3, 1, 1),
        (b"two", 0, 2, 1),
    ]
    # Properties as sent: nothing of the broker's is added.
    assert [parse_properties(r.properties) for r in (first, second)] == [{"UNIQ_KEY": "U2"}, {}]


def test_the_batch_as_a_whole_may_have_a_key(producing, props):
    response = producing.send(body=TWO, m="true", i=props(UNIQ_KEY="BU"))
    assert response.ext_fields["transactionId"] == "BU"


def test_the_flag_decides_not_the_code(producing):
    response = producing.send(body=TWO, m="false")
    assert response.code == 0
    assert producing.broker.records("T")[0].body == TWO


def test_the_broker_chooses_the_queue(producing):
    queues = {producing.send(body=TWO, m="true", e=-1).ext_fields["queueId"] for _ in range(60)}
    assert queues == {"0", "1", "2", "3"}


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
        (
            {"i": "TIMER_DELAY_SEC\x012\x02"},
            1,
            "accurate timer message is not enabled, timerWheelEnable is false",
        ),
        ({"e": 4}, 29, None),
    ],
)
def test_refusals(producing, fields, code, remark):
    response = producing.send(**{"body": TWO, "m": "true", **fields})
    assert response.code == code
    assert remark is None or response.remark == remark
    producing.broker.store.write_staged()
    assert producing.broker.store.max_physical_offset == 0


def test_a_batch_above_the_limit_is_a_system_error(producing):
    body = join_batch([BatchItem(0, b"x" * 4194304, b"")])
    refused = producing.send(body=body, m="true")
    assert (refused.code, refused.ext_fields) == (1, None)
    assert "message body size exceeded" in refused.remark


def test_a_delay_inside_an_item_means_nothing(producing):
    body = join_batch([BatchItem(0, b"q", b"DELAY\x012\x02")])
    assert producing.send(body=body, m="true").code == 0
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
    topic = TopicConfig(topic_name="T", attributes={"+queue.type": "BatchCQ"})
    producing.broker.topics.update(topic)
    producing.broker.store.declare_batch_topic("T")
    return producing


def test_a_batch_of_a_batch_topic_is_one_record(batching, props):
    one = batching.send(body=b"single")
    first = batching.send(body=TWO, m="true", i=props(UNIQ_KEY="BU", TAGS="a"))
    second = batching.send(body=TWO, m="true", i=props(UNIQ_KEY="BV"))
    assert [one.code, first.code, second.code] == [0, 0, 0]
    assert (one.ext_fields["queueOffset"], "batchUniqId" in one.ext_fields) == ("0", False)
    fields = first.ext_fields
    assert (fields["queueOffset"], fields["msgId"].count(",")) == ("1", 0)
    assert (fields["batchUniqId"], fields["transactionId"]) == ("BU", "BU")
    assert second.ext_fields["queueOffset"] == "3"
    batching.broker.store.write_staged()
    record = parse_record(batching.broker.store.record_at(int(fields["msgId"][-16:], 16)))
    assert (record.body, record.queue_offset) == (TWO, 1)
    assert record.sys_flag & (SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH) == 0xC0
    kept = parse_properties(record.properties)
    assert (kept["INNER_NUM"], kept["INNER_BASE"], kept["TAGS"]) == ("2", "1", "a")


def test_a_batch_without_a_key_of_its_own_is_split_even_there(batching):
    response = batching.send(body=TWO, m="true")
    assert (response.code, response.ext_fields["msgId"].count(",")) == (0, 1)
    assert "batchUniqId" not in response.ext_fields
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
    assert response.ext_fields["batchUniqId"] == "U"
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


def test_the_processor(producing):
    ext = {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
    processor = SendBatchMessage(producing.sending)
    header = processor.decode_header({**ext, "m": "true"})
    assert processor.handle(producing.broker.request(320, header, TWO)).code == 0
