"""SEND_BATCH_MESSAGE: from a request to a reply; the rules are in tests/broker/produce."""

import pytest

from trimq.codec.headers.fast import decode_send_v2
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.processors.produce.send_batch_message import SendBatchMessage

TWO = join_batch([BatchItem(3, b"one", b"UNIQ_KEY\x01U2\x02"), BatchItem(0, b"two", b"")])


def test_the_reply_names_all_records(producing):
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


def test_a_batch_above_the_limit_is_a_system_error(producing):
    body = join_batch([BatchItem(0, b"x" * 4194304, b"")])
    refused = producing.send(body=body, m="true")
    assert (refused.code, refused.ext_fields) == (1, None)
    assert "message body size exceeded" in refused.remark


@pytest.mark.parametrize(("code", "told"), [(310, True), (320, False)])
def test_a_handle_to_recall_is_not_for_senders_of_batches(producing, props, code, told):
    text = props(UNIQ_KEY="U1", TIMER_DELAY_SEC="3600")
    fields = {"a": "g", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "0", "h": "0"}
    header = decode_send_v2({**fields, "i": text})
    processor = producing.broker.processor(SendBatchMessage)
    response = processor.handle(producing.broker.request(code, header, b"x"))
    assert ("recallHandle" in response.ext_fields) is told


@pytest.fixture
def batching(producing):
    """T is a topic whose batches stay in one record."""
    producing.broker.keep_batches("T")
    return producing


def test_a_batch_that_stays_whole_is_named_by_its_own_key(batching, props):
    one = batching.send(body=b"single")
    first = batching.send(body=TWO, m="true", i=props(UNIQ_KEY="BU", TAGS="a"))
    second = batching.send(body=TWO, m="true", i=props(UNIQ_KEY="BV"))
    assert [one.code, first.code, second.code] == [0, 0, 0]
    assert (one.ext_fields["queueOffset"], "batchUniqId" in one.ext_fields) == ("0", False)
    fields = first.ext_fields
    assert (fields["queueOffset"], fields["msgId"].count(",")) == ("1", 0)
    assert (fields["batchUniqId"], fields["transactionId"]) == ("BU", "BU")
    assert second.ext_fields["queueOffset"] == "3"


def test_a_refused_batch_is_named_by_its_own_key(batching):
    response = batching.send(body=TWO, m="true", i="UNIQ_KEY\x01U\x02DELAY\x012\x02")
    assert response.code == 13
    assert response.ext_fields["batchUniqId"] == "U"


def test_the_processor(producing):
    ext = {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
    processor = producing.broker.processor(SendBatchMessage)
    header = processor.decode_header({**ext, "m": "true"})
    assert processor.handle(producing.broker.request(320, header, TWO)).code == 0
