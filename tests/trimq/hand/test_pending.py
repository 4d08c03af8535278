"""What waits for its time, and transactions that are open."""

import time

import pytest

from tests.requests import send_header
from tests.trimq.hand.conftest import Opens
from tests.trimq.hand.looking import Looking
from trimq.codec.codes import RequestCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.codec.records.message_id import parse_offset_message_id
from trimq.codec.records.properties import format_properties
from trimq.hand.looks.answers import HalfMessage, PendingTimer, Sent

HOUR = 3_600_000


def now_millis() -> int:
    return time.time_ns() // 1_000_000


async def timers(it: Looking) -> list[PendingTimer]:
    return await it.get(list[PendingTimer], "looks/pending_timers")


async def test_timer_messages_and_delay_levels(opens: Opens) -> None:
    async with opens() as it:
        assert await timers(it) == []
        due = now_millis() + HOUR
        due -= due % 1000
        await it.send("Orders", b"hour", UNIQ_KEY="id1", KEYS="k", TIMER_DELIVER_MS=str(due))
        # It rolls on its way: its slot is not that of its time.
        far = due + 72 * HOUR - HOUR
        await it.send("Orders", b"far", UNIQ_KEY="id2", TIMER_DELIVER_MS=str(far))
        await it.send("Orders", b"level", UNIQ_KEY="id3", DELAY="18")
        before = now_millis()
        waiting = await timers(it)
    assert [(one.id, one.level, one.topic) for one in waiting] == [
        ("id1", None, "Orders"),
        ("id3", 18, "Orders"),
        ("id2", None, "Orders"),
    ]
    assert waiting[0].keys == "k"
    assert (waiting[0].due_millis, waiting[2].due_millis) == (due, far)
    assert before + HOUR < waiting[1].due_millis < before + 3 * HOUR


async def test_what_was_recalled_or_delivered_does_not_wait(opens: Opens) -> None:
    async with opens(timerPrecisionMs="100") as it:
        due = now_millis() + HOUR
        await it.send("Orders", b"x", UNIQ_KEY="id1", TIMER_DELIVER_MS=str(due))
        await it.send("Orders", b"x", UNIQ_KEY="id2", TIMER_DELIVER_MS=str(due))
        await it.send("Orders", b"0", TIMER_DEL_UNIQKEY="id1", TIMER_DELIVER_MS=str(due))
        assert [one.id for one in await timers(it)] == ["id2"]
        await it.send("Soon", b"x", TIMER_DELIVER_MS=str(now_millis() + 1))
        await it.ask("looks/wait_for", topic="Soon", timeout="1m")
        assert [one.id for one in await timers(it)] == ["id2"]


async def test_what_the_clock_has_passed_does_not_wait(opens: Opens) -> None:
    async with opens() as it:
        await it.send("Orders", b"level", DELAY="16")
        await it.send("Orders", b"later", UNIQ_KEY="id", DELAY="18")
        await it.send("Orders", b"timer", TIMER_DELIVER_MS=str(now_millis() + HOUR))
        await it.ask("time/advance", by="1h5s")
        assert [one.id for one in await timers(it)] == ["id"]
        sent = await it.get(Sent, "looks/sent", topic="Orders")
    assert [one.text for one in sent.messages] == ["level", "timer"]


async def test_without_a_wheel(opens: Opens) -> None:
    async with opens(timerWheelEnable="false") as it:
        await it.send("Orders", b"x", DELAY="3")
        assert [one.level for one in await timers(it)] == [3]


async def test_half_messages(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Orders")
        assert await it.ask("looks/half_messages") == []
        properties = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "id1", "KEYS": "k"}
        header = send_header(
            "Orders",
            sys_flag=SysFlag.PREPARED,
            born_timestamp=now_millis(),
            properties=format_properties(properties).decode(),
        )
        answer = await it.request(RequestCode.SEND_MESSAGE, header, b"half")
        half = (await it.get(list[HalfMessage], "looks/half_messages"))[0]
        assert (half.topic, half.id, half.keys, half.text) == ("Orders", "id1", "k", "half")
        assert half.checks == 0
        assert half.born_millis == header.born_timestamp
        fields = answer.ext_fields
        end = EndTransactionRequestHeader(
            producer_group="P",
            tran_state_table_offset=int(fields["queueOffset"]),
            commit_log_offset=parse_offset_message_id(fields["msgId"])[1],
            commit_or_rollback=SysFlag.COMMIT,
        )
        assert (await it.get(Sent, "looks/sent", topic="Orders")).count == 0
        await it.request(RequestCode.END_TRANSACTION, end)
        assert await it.ask("looks/half_messages") == []
        assert (await it.get(Sent, "looks/sent", topic="Orders")).messages[0].text == "half"


@pytest.mark.parametrize("checks", [2])
async def test_how_often_a_transaction_was_asked_about(opens: Opens, checks: int) -> None:
    async with opens(transactionTimeOut="1", transactionCheckInterval="20") as it:
        properties = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "id1"}
        header = send_header(
            "Orders",
            sys_flag=SysFlag.PREPARED,
            born_timestamp=now_millis(),
            properties=format_properties(properties).decode(),
        )
        await it.request(RequestCode.SEND_MESSAGE, header, b"half")
        # Each check puts it back at the end of the queue of half messages.
        await it.ask(
            "looks/wait_for", topic="RMQ_SYS_TRANS_HALF_TOPIC", count=1 + checks, timeout="1m"
        )
        half = (await it.get(list[HalfMessage], "looks/half_messages"))[0]
    assert half.checks >= checks
