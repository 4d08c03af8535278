"""ReceiveMessage: what is asked, what is answered, and what becomes of messages that are not handed out."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from tests.proxy.consuming import Consuming, asking, record
from tests.proxy.fake_broker import ADDR, FakeOut, answer, caller
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.lite import PopLiteMessageResponseHeader
from trimq.proxy.config import ProxyConfig
from trimq.proxy.protos.definition_pb2 import ClientType, FilterType

POP = RequestCode.POP_MESSAGE
CHANGE = RequestCode.CHANGE_MESSAGE_INVISIBLETIME
NOT_ENOUGH = "The deadline time remaining is not enough for polling, please check network condition"


@pytest.fixture
def stage(nursery):
    return Consuming(nursery)


async def test_status_messages_and_time(stage, autojump_clock):
    stage.has(record("a", 0), record("b", 1))
    assert await stage.receive(asking()) == ["OK: OK", "a", "b", "time"]
    asked = stage.broker.of(POP)[0]
    assert asked.addr == ADDR
    assert asked.fields == {
        "consumerGroup": "G",
        "topic": "T",
        "queueId": "-1",
        "maxMsgNums": "32",
        "invisibleTime": "30000",
        "pollTime": "20000",
        "bornTime": "0",
        "initMode": "1",
        "expType": "TAG",
        "exp": "*",
        "order": "false",
    }
    assert len(stage.receipts) == 0


async def test_renewed_ones_are_hidden_for_a_minute(stage, autojump_clock):
    stage.has(record("a", 0), record("b", 1))
    request = asking(auto_renew=True)
    request.invisible_duration.Clear()
    assert await stage.receive(request) == ["OK: OK", "a", "b", "time"]
    assert stage.broker.of(POP)[0].fields["invisibleTime"] == "60000"
    assert stage.receipts.open_count("c", "G") == 2


async def test_ordered_groups_and_attempts(stage, autojump_clock):
    stage.broker.groups["G"] = SubscriptionGroupConfig(consume_message_orderly=True)
    stage.has(record("a", 0))
    await stage.receive(asking(attempt_id="try", batch_size=1000))
    fields = stage.broker.of(POP)[0].fields
    assert (fields["order"], fields["attemptId"], fields["queueId"]) == ("true", "try", "-1")
    assert fields["maxMsgNums"] == "32"


@pytest.mark.parametrize(
    ("fields", "who", "poll", "seconds"),
    [
        ({}, {"seconds": 60}, 20_000, 60),
        ({}, {"seconds": 12}, 10_500, 12),
        ({}, {"seconds": 5.5}, 5_000, 5.5),
        ({"wait": 7_000}, {"seconds": 60}, 7_000, 60),
        ({"wait": 1_000}, {"seconds": 60}, 5_000, 60),
        ({"wait": 90_000}, {"seconds": 60}, 20_000, 60),
        ({"wait": 9_000}, {"seconds": 8}, 8_000, 8),
        ({"wait": 9_000}, {}, 9_000, 12),
    ],
)
async def test_how_long_it_waits(stage, fields, who, poll, seconds, autojump_clock):
    stage.has()
    request = asking()
    if "wait" in fields:
        request.long_polling_timeout.FromMilliseconds(fields["wait"])
    await stage.receive(request, **who)
    asked = stage.broker.of(POP)[0]
    assert int(asked.fields["pollTime"]) == poll
    assert asked.timeout == pytest.approx(seconds, abs=0.01)


@pytest.mark.parametrize(
    ("version", "code"),
    [("5.0.3", "ILLEGAL_POLLING_TIME"), ("5.0.2", "BAD_REQUEST"), ("", "BAD_REQUEST")],
)
async def test_a_deadline_that_is_too_short(stage, version, code, autojump_clock):
    told = await stage.receive(asking(), seconds=4, version=version)
    assert told == [f"{code}: {NOT_ENOUGH}", "time"]
    assert stage.broker.of(POP) == []


async def test_who_is_not_known(stage, autojump_clock):
    assert await stage.receive(asking(), client_id="") == [
        "CLIENT_ID_REQUIRED: client id cannot be empty"
    ]
    assert await stage.receive(asking(), client_id="x") == [
        "INTERNAL_SERVER_ERROR: cannot find client settings for this client",
        "time",
    ]


INNER = "org.apache.rocketmq.proxy.common.ProxyException: "


async def test_what_is_refused(stage, autojump_clock):
    short = asking()
    short.invisible_duration.FromMilliseconds(9_999)
    assert await stage.receive(short) == [
        "ILLEGAL_INVISIBLE_TIME: the invisibleTime is too small. min is 10000",
        "time",
    ]
    wrong = asking()
    wrong.filter_expression.type = FilterType.SQL
    assert await stage.receive(wrong) == [
        "ILLEGAL_FILTER_EXPRESSION: Expression can't be null! SQL92",
        "time",
    ]
    told = await stage.receive(asking(topic="X"))
    assert told[0].startswith("TOPIC_NOT_FOUND: CODE: 17  DESC: No topic route info")
    stage.broker.perm = 2
    assert await stage.receive(asking()) == [f"FORBIDDEN: {INNER}no readable queue", "time"]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ResponseCode.POLLING_FULL, "TOO_MANY_REQUESTS: polling full"),
        (ResponseCode.POLLING_TIMEOUT, "MESSAGE_NOT_FOUND: no new message"),
        (ResponseCode.PULL_NOT_FOUND, "MESSAGE_NOT_FOUND: no new message"),
        (ResponseCode.SYSTEM_ERROR, "INTERNAL_SERVER_ERROR: because"),
        (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "CONSUMER_GROUP_NOT_FOUND: because"),
    ],
)
async def test_nothing(stage, code, told, autojump_clock):
    stage.broker.answers[POP] = lambda _: answer(code, remark="because")
    assert await stage.receive(asking()) == [told, "time"]


async def test_tags_that_do_not_match_are_done_with(stage, autojump_clock):
    stage.has(record("a", 0, TAGS="A"), record("b", 1, TAGS="B"), record("c", 2))
    request = asking()
    request.filter_expression.expression = "A || D"
    assert await stage.receive(request) == ["OK: OK", "a", "time"]
    await trio.testing.wait_all_tasks_blocked()
    acks = stage.broker.of(RequestCode.ACK_MESSAGE)
    assert {one.fields["offset"] for one in acks} == {"1", "2"}


async def test_none_of_them_matches(stage, autojump_clock):
    stage.has(record("b", 1, TAGS="B"))
    request = asking()
    request.filter_expression.expression = "A"
    assert await stage.receive(request) == ["MESSAGE_NOT_FOUND: no match message", "time"]


async def test_worn_out_ones_go_to_the_dead_letters(stage, autojump_clock):
    stage.broker.groups["G"] = SubscriptionGroupConfig(retry_max_times=2)
    stage.has(record("a", 0, times=2), record("b", 1, times=3))
    assert await stage.receive(asking()) == ["OK: OK", "a", "time"]
    await trio.testing.wait_all_tasks_blocked()
    sent = stage.broker.of(RequestCode.CONSUMER_SEND_MSG_BACK)
    assert [one.fields for one in sent] == [
        {
            "offset": "100",
            "group": "G",
            "delayLevel": "-1",
            "originMsgId": "id1",
            "originTopic": "T",
            "unitMode": "false",
            "maxReconsumeTimes": "0",
        }
    ]
    assert [one.fields["offset"] for one in stage.broker.of(RequestCode.ACK_MESSAGE)] == ["1"]


async def test_a_dead_letter_that_is_refused_is_not_done_with(stage, autojump_clock):
    stage.broker.answers[RequestCode.CONSUMER_SEND_MSG_BACK] = lambda _: answer(
        ResponseCode.SYSTEM_ERROR
    )
    stage.has(record("a", 0, times=17))
    assert await stage.receive(asking()) == ["MESSAGE_NOT_FOUND: no match message", "time"]
    await trio.testing.wait_all_tasks_blocked()
    assert stage.broker.of(RequestCode.ACK_MESSAGE) == []


def visible_soon(stage):
    return {
        (one.fields["offset"], one.fields["invisibleTime"], one.fields["suspend"])
        for one in stage.broker.of(CHANGE)
    }


async def test_what_cannot_be_written_is_visible_again_in_a_second(stage, autojump_clock):
    stage.has(record("a", 0), record("b", 1), record("c", 2))
    with trio.move_on_after(1):
        await stage.receive_message(caller(), asking(auto_renew=True), FakeOut(room=2))
    await trio.testing.wait_all_tasks_blocked()
    assert visible_soon(stage) == {("1", "1000", "true"), ("2", "1000", "true")}
    assert stage.receipts.open_count("c", "G") == 1


async def test_what_comes_when_the_client_has_gone_is_visible_again_in_a_second(
    stage, autojump_clock
):
    async def never(asked):
        await trio.sleep_forever()

    stage.broker.answers[POP] = never
    with trio.move_on_after(1):
        await stage.receive(asking())
    stage.broker.late(stage.found(record("a", 0), record("b", 1)))
    await trio.testing.wait_all_tasks_blocked()
    assert visible_soon(stage) == {("0", "1000", "true"), ("1", "1000", "true")}
    stage.broker.late(answer(ResponseCode.POLLING_TIMEOUT))
    await trio.testing.wait_all_tasks_blocked()
    assert len(stage.broker.of(CHANGE)) == 2


async def test_a_client_that_left_meanwhile_gets_none_to_renew(stage, autojump_clock):
    def left(asked):
        stage.clients.remove("c")
        return stage.found(record("a", 0))

    stage.broker.answers[POP] = left
    told = await stage.receive(asking(auto_renew=True))
    assert told == ["MESSAGE_NOT_FOUND: The client [c] is disconnected.", "time"]
    await trio.testing.wait_all_tasks_blocked()
    assert visible_soon(stage) == {("0", "1000", "true")}
    assert len(stage.receipts) == 0


def lite(stage, offset):
    header = PopLiteMessageResponseHeader(
        pop_time=stage.clock.millis(), invisible_time=60_000, revive_qid=999
    )
    found = record(
        f"m{offset}",
        offset,
        INNER_MULTI_DISPATCH="%LMQ%$T$one",
        INNER_MULTI_QUEUE_OFFSET=str(offset),
        __LITE_TOPIC="one",
    )
    stage.broker.answers[RequestCode.POP_LITE_MESSAGE] = lambda _: answer(header=header, body=found)


async def test_lite_consumers_pop_by_their_client_id(stage, autojump_clock):
    stage.join(ClientType.LITE_PUSH_CONSUMER)
    lite(stage, 4)
    assert await stage.receive(asking(attempt_id="try", auto_renew=True)) == [
        "OK: OK",
        "m4",
        "time",
    ]
    assert stage.broker.of(RequestCode.POP_LITE_MESSAGE)[0].fields == {
        "clientId": "c",
        "consumerGroup": "G",
        "topic": "T",
        "maxMsgNum": "32",
        "invisibleTime": "60000",
        "pollTime": "20000",
        "bornTime": str(stage.clock.millis()),
        "attemptId": "try",
    }
    assert stage.receipts.open_count("c", "G") == 1


async def test_a_lite_consumer_with_too_many_open_ones(nursery, autojump_clock):
    stage = Consuming(nursery, ProxyConfig(max_lite_renew_num_per_channel=2))
    stage.join(ClientType.LITE_PUSH_CONSUMER)
    for offset in range(3):
        lite(stage, offset)
        await stage.receive(asking(auto_renew=True))
    assert await stage.receive(asking(auto_renew=True)) == [
        "FORBIDDEN: The client [c] has too many unacked messages. Unacked count: 3",
        "time",
    ]
