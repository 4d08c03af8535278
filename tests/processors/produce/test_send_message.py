"""SEND_MESSAGE and SEND_MESSAGE_V2: from a request to a reply; the rules are in tests/broker/produce."""

import pytest

from tests.processors.static_topics import map_queue
from trimq.codec.codes import ResponseCode
from trimq.processors.produce.send_message import SendMessage
from trimq.processors.produce.send_message_v2 import SendMessageV2


def test_what_the_producer_of_a_stored_message_is_told(producing, props):
    response = producing.send(i=props(KEYS="k", UNIQ_KEY="U1", WAIT="true", TAGS="A"))
    assert response.code == ResponseCode.SUCCESS
    assert response.remark is None
    assert response.staged
    assert response.ext_fields == {
        "msgId": "7F00000100002A9F0000000000000000",
        "queueId": "0",
        "queueOffset": "0",
        "transactionId": "U1",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": " "}, 29),
        ({"topic": "NOPE", "c": "UNKNOWN"}, 17),
        ({"i": "INNER_NUM\x015\x02"}, 13),
    ],
)
def test_refusals_have_two_fields_as_well(producing, fields, code):
    response = producing.send(**fields)
    assert (response.code, response.staged) == (code, False)
    assert response.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def test_what_the_real_broker_fails_on_has_none(producing):
    response = producing.send(body=b"")
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "the message has no body",
    )
    assert response.ext_fields is None


def test_sync_flush_holds_the_reply_until_the_record_is_safe(make_producing, props):
    producing = make_producing(flush_disk_type="SYNC_FLUSH")
    first = producing.send(i=props(UNIQ_KEY="U"))
    # After a time-out it says what it waited for.
    assert (first.durable_at, first.durable_timeout_code) == (
        producing.broker.records("T")[0].total_size,
        -1,
    )
    assert producing.send(i=props(WAIT="false")).durable_at == -1
    assert producing.send(i=props(WAIT="true")).durable_at > 0
    assert producing.send(i=props(WAIT="nonsense", DELAY="0")).durable_at == -1


def test_both_codes_reach_the_same(producing):
    broker = producing.broker
    long_names = {
        "producerGroup": "PG",
        "topic": "T",
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "1",
        "sysFlag": "0",
        "bornTimestamp": "1",
        "flag": "0",
    }
    processor = producing.broker.processor(SendMessage)
    header = processor.decode_header(long_names)
    assert processor.handle(broker.request(10, header, b"x")).ext_fields["queueId"] == "1"
    letters = dict(zip("abcdefgh", long_names.values(), strict=True))
    second = producing.broker.processor(SendMessageV2)
    header = second.decode_header(letters)
    assert second.handle(broker.request(310, header, b"x")).ext_fields["queueOffset"] == "1"


def test_a_static_topics_queue_is_answered_in_its_own_numbers(producing):
    map_queue(producing.broker, (False, 0), (True, 10_000))
    fields = producing.send("S").ext_fields
    assert (fields["queueId"], fields["queueOffset"]) == ("0", "10000")
    refused = producing.send("S", i="TAGS\x01" + "x" * 40_000 + "\x02")
    assert refused.code == ResponseCode.MESSAGE_ILLEGAL
    assert "queueOffset" not in refused.ext_fields
    elsewhere = producing.send("S", e=7)
    assert (elsewhere.code, elsewhere.ext_fields) == (
        ResponseCode.NOT_LEADER_FOR_QUEUE,
        None,
    )


def test_only_the_long_header_can_name_the_brokers_own_queue(producing):
    map_queue(producing.broker, (True, 0), (False, 10_000))
    ext = {
        **{"producerGroup": "PG", "topic": "S", "defaultTopic": "TBW102", "sysFlag": "0"},
        **{"defaultTopicQueueNums": "4", "queueId": "2", "bornTimestamp": "1", "flag": "0"},
        "lo": "false",
    }
    processor = producing.broker.processor(SendMessage)
    request = producing.broker.request(10, processor.decode_header(ext), b"x")
    request.ext_fields = ext
    fields = processor.handle(request).ext_fields
    assert (fields["queueId"], fields["queueOffset"]) == ("2", "0")
