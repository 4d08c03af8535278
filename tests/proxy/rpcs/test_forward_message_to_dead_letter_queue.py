"""ForwardMessageToDeadLetterQueue."""

from __future__ import annotations

import pytest
import trio.testing

from tests.proxy.consuming import Consuming
from tests.proxy.fake_broker import BROKER, answer, caller
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import ForwardMessageToDeadLetterQueueRequest
from trimq.proxy.rpcs.forward_message_to_dead_letter_queue import ForwardMessageToDeadLetterQueue
from trimq.proxy.statuses import ProxyError

SEND_BACK = RequestCode.CONSUMER_SEND_MSG_BACK


@pytest.fixture
def stage(nursery):
    return Consuming(nursery)


async def forward(stage, handle, **fields):
    request = ForwardMessageToDeadLetterQueueRequest(
        receipt_handle=handle, message_id="id", **fields
    )
    request.group.name, request.topic.name = "G", "T"
    call = ForwardMessageToDeadLetterQueue(stage.acknowledging, stage.receipts)
    return await call(caller(), request)


async def test_sent_and_done_with(stage, autojump_clock):
    handle = f"4 {stage.clock.millis()} 60000 3 1 {BROKER} 1 6 700"
    response = await forward(stage, handle, lite_topic="one")
    assert (response.status.code, response.status.message) == (Code.OK, "0")
    fields = stage.broker.of(SEND_BACK)[0].fields
    assert (fields["offset"], fields["delayLevel"], fields["originTopic"]) == (
        "700",
        "-1",
        "%RETRY%G_T",
    )
    await trio.testing.wait_all_tasks_blocked()
    done = stage.broker.of(RequestCode.ACK_MESSAGE)[0].fields
    assert (done["extraInfo"], done["liteTopic"]) == (handle, "one")


async def test_what_the_broker_says(stage, autojump_clock):
    handle = f"4 {stage.clock.millis()} 60000 3 0 {BROKER} 1 6 700"
    stage.broker.answers[SEND_BACK] = lambda _: answer(remark="fine")
    assert (await forward(stage, handle)).status.message == "fine"
    stage.broker.answers[SEND_BACK] = lambda _: answer(ResponseCode.SYSTEM_BUSY)
    with pytest.raises(ProxyError) as error:
        await forward(stage, handle)
    assert (error.value.code, error.value.text) == (Code.TOO_MANY_REQUESTS, "2")


async def test_a_handle_that_does_not_say_where_the_message_lies(stage, autojump_clock):
    with pytest.raises(ProxyError) as error:
        await forward(stage, f"4 {stage.clock.millis()} 60000 3 0 {BROKER} 1 6")
    assert error.value.code == Code.INVALID_RECEIPT_HANDLE
    assert error.value.text.endswith("commit log offset is empty")
    assert stage.broker.of(SEND_BACK) == []
