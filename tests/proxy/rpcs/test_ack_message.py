"""AckMessage: each entry has its own status."""

from __future__ import annotations

import pytest

from tests.proxy.consuming import Consuming, asking, record
from tests.proxy.fake_broker import BROKER, answer, caller
from trimq.codec.bodies.pop import BatchAckMessageRequestBody, decode_batch_ack
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.proxy.config import ProxyConfig
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import AckMessageRequest
from trimq.proxy.rpcs.ack_message import AckMessage
from trimq.proxy.statuses import ProxyError
from trimq.remoting.errors import RemotingTimeout

ACK = RequestCode.ACK_MESSAGE
BATCH = RequestCode.BATCH_ACK_MESSAGE
INNER = "org.apache.rocketmq.proxy.common.ProxyException: "


def handle(stage, offset, broker=BROKER, age=0, first=0):
    popped = stage.clock.millis() - age
    return f"{first} {popped} 60000 3 0 {broker} 2 {offset} {offset * 100}"


async def ack(stage, *entries, config=None, **fields):
    request = AckMessageRequest()
    request.group.name, request.topic.name = "G", "T"
    for at, text in enumerate(entries):
        request.entries.add(message_id=f"id{at}", receipt_handle=text, **fields)
    call = AckMessage(config or ProxyConfig(), stage.acknowledging, stage.receipts)
    return await call(caller(), request)


def told(response):
    return [
        f"{Code.Name(one.code)}: {one.message}"
        for one in [response.status, *(entry.status for entry in response.entries)]
    ]


@pytest.fixture
def stage(nursery):
    return Consuming(nursery)


async def test_done(stage, autojump_clock):
    text = handle(stage, 5)
    response = await ack(stage, text, lite_topic="one")
    assert told(response) == ["OK: OK", "OK: OK"]
    entry = response.entries[0]
    assert (entry.message_id, entry.receipt_handle) == ("id0", text)
    assert stage.broker.of(ACK)[0].fields == {
        "consumerGroup": "G",
        "topic": "T",
        "queueId": "2",
        "extraInfo": text,
        "offset": "5",
        "liteTopic": "one",
    }


async def test_each_its_own_status_in_their_order(stage, autojump_clock):
    stage.broker.answers[ACK] = lambda asked: answer(
        ResponseCode.NO_MESSAGE if asked.fields["offset"] == "6" else ResponseCode.SUCCESS
    )
    response = await ack(
        stage,
        handle(stage, 5),
        handle(stage, 6),
        "garbage",
        handle(stage, 7, age=60_000),
        handle(stage, 8, "nobody"),
    )
    assert told(response) == [
        "MULTIPLE_RESULTS: MULTIPLE_RESULTS",
        "OK: OK",
        "INTERNAL_SERVER_ERROR: ack failed: status is abnormal",
        "INTERNAL_SERVER_ERROR: Parse failed, dataList size 1",
        f"INVALID_RECEIPT_HANDLE: {INNER}receipt handle is expired",
        f"INVALID_RECEIPT_HANDLE: {INNER}cannot find broker nobody",
    ]


async def test_one_code_for_all_is_that_code(stage, autojump_clock):
    response = await ack(stage, handle(stage, 5, age=60_000), handle(stage, 6, age=60_000))
    assert told(response)[0] == "INVALID_RECEIPT_HANDLE: INVALID_RECEIPT_HANDLE"


async def test_none(stage, autojump_clock):
    assert told(await ack(stage)) == ["INTERNAL_SERVER_ERROR: ack message result is empty"]


async def test_a_broker_that_does_not_answer(stage, autojump_clock):
    def silent(asked):
        raise RemotingTimeout("no answer")

    stage.broker.answers[ACK] = silent
    assert told(await ack(stage, handle(stage, 5)))[1] == "PROXY_TIMEOUT: no answer"


async def test_by_the_newest_handle(stage, nursery, autojump_clock):
    stage.has(record("a", 0))
    await stage.receive(asking(auto_renew=True))
    given = f"0 {stage.clock.millis()} 60000 1 0 {BROKER} 0 0 0"
    nursery.start_soon(stage.receipts.run)
    for _ in range(6):
        await stage.clock.sleep(10)
        stage.clients.heard_of("c", "127.0.0.1:1")
    response = await ack(stage, given)
    assert told(response)[0] == "OK: OK"
    assert response.entries[0].receipt_handle == given
    newest = stage.broker.of(ACK)[0].fields["extraInfo"].split(" ")
    assert newest[1] > given.split(" ")[1]
    assert stage.receipts.open_count("c", "G") == 0


BATCHES = ProxyConfig(enable_batch_ack=True)


async def test_in_batches(stage, autojump_clock):
    texts = [handle(stage, 5, first=4), handle(stage, 7, first=4), handle(stage, 9, first=9)]
    response = await ack(stage, handle(stage, 6, age=60_000), *texts, config=BATCHES)
    assert [entry.message_id for entry in response.entries] == ["id0", "id1", "id2", "id3"]
    assert told(response)[2:] == ["OK: OK"] * 3
    assert stage.broker.of(ACK) == []
    asked = stage.broker.of(BATCH)
    assert len(asked) == 1
    body: BatchAckMessageRequestBody = decode_batch_ack(asked[0].body)
    assert body.broker_name == BROKER
    # Bits 1 and 3, bit 0.
    assert [(one.so, one.q, one.r, one.rq, one.b) for one in body.acks or []] == [
        (4, 2, "0", 3, "Cg=="),
        (9, 2, "0", 3, "AQ=="),
    ]
    assert {(one.c, one.t, one.it) for one in body.acks or []} == {("G", "T", 60000)}


async def test_a_batch_that_fails(stage, autojump_clock):
    stage.broker.answers[BATCH] = lambda _: answer(ResponseCode.SYSTEM_ERROR)
    response = await ack(stage, handle(stage, 5), handle(stage, 6), config=BATCHES)
    assert told(response)[1:] == ["INTERNAL_SERVER_ERROR: ack failed: status is abnormal"] * 2


async def test_a_message_that_cannot_be_of_its_batch(stage, autojump_clock):
    response = await ack(stage, handle(stage, 5_000_000_000), config=BATCHES)
    assert told(response)[1].startswith("INTERNAL_SERVER_ERROR: bitIndex out of range")
    assert stage.broker.of(BATCH) == []


async def test_lite_ones_are_not_batched(stage, autojump_clock):
    await ack(stage, handle(stage, 5), config=BATCHES, lite_topic="one")
    assert len(stage.broker.of(ACK)) == 1


async def test_a_batch_with_garbage_or_nothing_fails_as_a_whole(stage, autojump_clock):
    for entries in [(handle(stage, 5), "garbage"), ()]:
        with pytest.raises(ProxyError) as error:
            await ack(stage, *entries, config=BATCHES)
        assert error.value.code == Code.INTERNAL_SERVER_ERROR
