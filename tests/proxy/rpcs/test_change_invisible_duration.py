"""ChangeInvisibleDuration: the new handle, and the old one back for whoever was too early."""

from __future__ import annotations

import pytest

from tests.proxy.consuming import Consuming, asking, record
from tests.proxy.fake_broker import BROKER, answer, caller
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.proxy.config import ProxyConfig
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import ChangeInvisibleDurationRequest
from trimq.proxy.rpcs.change_invisible_duration import ChangeInvisibleDuration, refused
from trimq.proxy.statuses import ProxyError, status

CHANGE = RequestCode.CHANGE_MESSAGE_INVISIBLETIME


@pytest.fixture
def stage(nursery):
    return Consuming(nursery)


def asked(handle, millis=20_000, **fields):
    request = ChangeInvisibleDurationRequest(receipt_handle=handle, message_id="id0", **fields)
    request.group.name, request.topic.name = "G", "T"
    request.invisible_duration.FromMilliseconds(millis)
    return request


async def change(stage, request):
    call = ChangeInvisibleDuration(ProxyConfig(), stage.acknowledging, stage.receipts)
    return await call(caller(), request)


async def test_the_new_handle(stage, autojump_clock):
    now = stage.clock.millis()
    handle = f"4 {now - 10} 60000 3 2 {BROKER} 1 6 700"
    response = await change(stage, asked(handle, suspend=True, lite_topic="one"))
    assert response.status.code == Code.OK
    assert response.receipt_handle == f"6 {now} 20000 2 2 {BROKER} 1 6 700"
    assert stage.broker.of(CHANGE)[0].fields == {
        "consumerGroup": "G",
        "topic": "%RETRY%G+T",
        "queueId": "1",
        "extraInfo": handle,
        "offset": "6",
        "invisibleTime": "20000",
        "liteTopic": "one",
        "suspend": "true",
    }


async def test_a_kind_that_nobody_knows_and_no_place(stage, autojump_clock):
    now = stage.clock.millis()
    response = await change(stage, asked(f"4 {now} 60000 3 7 {BROKER} 1 6"))
    assert response.receipt_handle == f"6 {now} 20000 2 0 {BROKER} 1 6 -1"


@pytest.mark.parametrize(
    ("millis", "code"),
    [(-1, Code.ILLEGAL_INVISIBLE_TIME), (43_200_001, Code.ILLEGAL_INVISIBLE_TIME)],
)
async def test_times_that_may_not_be(stage, millis, code, autojump_clock):
    with pytest.raises(ProxyError) as error:
        await change(stage, asked("garbage", millis))
    assert error.value.code == code


async def test_the_broker_does_not_agree(stage, autojump_clock):
    stage.broker.answers[CHANGE] = lambda _: answer(ResponseCode.NO_MESSAGE)
    with pytest.raises(ProxyError) as error:
        await change(stage, asked(f"4 {stage.clock.millis()} 60000 3 0 {BROKER} 1 6 700"))
    assert error.value.text == "changeInvisibleDuration failed: status is abnormal"


async def test_it_is_renewed_no_more_even_if_that_failed(stage, autojump_clock):
    stage.has(record("a", 0))
    await stage.receive(asking(auto_renew=True))
    stage.broker.answers[CHANGE] = lambda _: answer(ResponseCode.NO_MESSAGE)
    with pytest.raises(ProxyError):
        await change(stage, asked(f"0 {stage.clock.millis()} 60000 1 0 {BROKER} 0 0 0"))
    assert len(stage.receipts) == 0


@pytest.mark.parametrize(
    ("code", "back"), [(Code.TOO_MANY_REQUESTS, "h"), (Code.INTERNAL_SERVER_ERROR, "")]
)
def test_who_was_too_early_has_its_handle_back(code, back):
    assert refused(asked("h"), status(code)).receipt_handle == back
