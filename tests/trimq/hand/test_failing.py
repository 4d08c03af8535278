"""Requests that fail, as clients see it, and which of them do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trimq.hand.faulty import GROUP, TOPIC, code, faulty
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import QueryConsumerOffsetRequestHeader
from trimq.codec.headers.pop import AckMessageRequestHeader, PopMessageRequestHeader
from trimq.hand.operation import HandError
from trimq.remoting.clients.client import Client

REJECTED = "[REJECTREQUEST]system busy, start flow control for a while"
OVERLOAD = "[OVERLOAD]system busy, start flow control for a while"
FAQ = "\nSee https://rocketmq.apache.org/docs/faq/ for further details."
QUERY = QueryConsumerOffsetRequestHeader(consumer_group=GROUP, topic=TOPIC, queue_id=0)
POP = PopMessageRequestHeader(
    consumer_group=GROUP, topic=TOPIC, queue_id=0, max_msg_nums=1, invisible_time=60_000
)
ACK = AckMessageRequestHeader(
    consumer_group=GROUP, topic=TOPIC, queue_id=0, extra_info="0 0 0 0 0 b 0 0", offset=0
)


async def test_the_next_sends_fail(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        [shown] = await it.ask("fail_next", sends=3, code="SYSTEM_BUSY")
        assert (shown["does"], shown["requests"], shown["left"]) == ("fail", "sends", 3)
        answers = [await it.send(), await it.send_v2(), await it.send(), await it.send()]
        assert [code(one) for one in answers] == ["SYSTEM_BUSY"] * 3 + ["SUCCESS"]
        assert answers[0].remark == REJECTED
        assert await it.stored() == 1
        [shown] = await it.ask("list")
        assert (shown["hits"], shown["left"]) == (3, 0)


async def test_each_family_is_counted_alone(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        counts = {"sends": 1, "pulls": 1, "pops": 1, "acks": 1, "heartbeats": 1}
        await it.ask("fail_next", **counts, code="SYSTEM_BUSY")
        request = it.client.request
        for expected in ("SYSTEM_BUSY", "SUCCESS"):
            assert code(await it.send()) == expected
            assert code(await it.beat("C")) == expected
            assert code(await it.pull()) == expected
            popped = await request(RequestCode.POP_MESSAGE, POP)
            assert (code(popped) == "SYSTEM_BUSY") == (expected == "SYSTEM_BUSY")
            acked = await request(RequestCode.ACK_MESSAGE, ACK)
            assert (acked.remark == OVERLOAD) == (expected == "SYSTEM_BUSY")
        assert await it.hits() == [1, 1, 1, 1, 1]


async def test_requests_by_the_names_of_their_codes(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        names = ["QUERY_CONSUMER_OFFSET", "get_max_offset"]
        await it.ask("fail_next", next=1, requests=names, code=3)
        assert code(await it.send()) == "SUCCESS"
        answer = await it.client.request(RequestCode.QUERY_CONSUMER_OFFSET, QUERY)
        assert (code(answer), answer.remark) == (
            "REQUEST_CODE_NOT_SUPPORTED",
            " request type 14 not supported",
        )
        assert await it.stored() == 1


async def test_until_it_is_taken_away(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        shown = await it.ask("fail", requests="sends", code="NO_PERMISSION")
        assert shown["left"] is None
        for _ in range(5):
            answer = await it.send()
            assert code(answer) == "NO_PERMISSION"
            assert answer.remark == "the broker[127.0.0.1] sending message is forbidden"
        await it.ask("remove", number=shown["number"])
        assert code(await it.send()) == "SUCCESS"
        await it.ask("fail", requests="all", code="SYSTEM_ERROR")
        await it.ask("clear")
        assert code(await it.send()) == "SUCCESS"
        assert await it.ask("list") == []


@pytest.mark.parametrize(
    ("which", "met"),
    [
        ({"topic": "T"}, "T"),
        ({"topic": "U"}, "U"),
        ({"topic": "*"}, "TU"),
        ({"topic": "t"}, ""),
        ({"group": "P-of-U"}, "U"),
        ({"group": "P-of-*"}, "TU"),
        ({"topic": "T", "group": "P-of-U"}, ""),
    ],
)
async def test_by_topic_and_group(tmp_path: Path, which: dict[str, str], met: str) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail", requests="sends", code="SYSTEM_BUSY", **which)
        for topic in "TU":
            expected = "SYSTEM_BUSY" if topic in met else "SUCCESS"
            assert code(await it.send(topic, f"P-of-{topic}")) == expected
            assert code(await it.send_v2(topic, f"P-of-{topic}")) == expected


async def test_by_what_a_body_says(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail", requests="heartbeats", code="SYSTEM_BUSY", group="G", topic="T")
        await it.ask("fail", requests="heartbeats", code="SYSTEM_ERROR", client="later-*")
        assert code(await it.beat("C")) == "SYSTEM_BUSY"
        await it.ask("remove", number=1)
        assert code(await it.beat("C")) == "SUCCESS"
        assert code(await it.beat("later-1")) == "SYSTEM_ERROR"


@pytest.mark.parametrize("by", ["id", "pattern", "address", "host"])
async def test_by_client(tmp_path: Path, by: str) -> None:
    async with (
        faulty(tmp_path) as it,
        Client.connect(it.server.broker_addr) as other,
    ):
        await it.beat("one")
        await it.beat("two", other)
        [address] = [
            peer.remote_addr
            for server in it.hand.broker.servers
            for peer in server.connections
            if "two" in it.hand.faults.client_ids(peer)
        ]
        named = {"id": "two", "pattern": "tw*", "address": address, "host": "127.0.0.1"}[by]
        await it.ask("fail", requests="pulls", code="SYSTEM_BUSY", client=named)
        assert code(await it.pull(client=other)) == "SYSTEM_BUSY"
        assert (code(await it.pull()) == "SYSTEM_BUSY") == (by == "host")


async def test_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:

        async def drawn(**words: Any) -> str:
            await it.ask("fail", requests="sends", code="SYSTEM_BUSY", probability=0.5, **words)
            answers = [await it.send() for _ in range(40)]
            await it.ask("clear")
            return "".join("-" if code(one) == "SYSTEM_BUSY" else "+" for one in answers)

        first = await drawn(seed=1)
        assert 5 < first.count("-") < 35
        assert await drawn(seed=1) == first
        assert await drawn(seed=2) != first
        assert await drawn() == await drawn(seed=0)
        assert (await drawn(seed=1, next=3)).count("-") == 3
        assert first.startswith((await drawn(seed=1, next=3)).rstrip("+"))


async def test_the_first_of_two_counts(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=1, code="SYSTEM_BUSY")
        await it.ask("fail_next", sends=2, code="SYSTEM_ERROR", topic="T")
        answers = [await it.send() for _ in range(4)]
        assert [code(one) for one in answers] == [
            "SYSTEM_BUSY",
            "SYSTEM_ERROR",
            "SYSTEM_ERROR",
            "SUCCESS",
        ]
        assert await it.hits() == [1, 2]


@pytest.mark.parametrize(
    "said", ["FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"]
)
async def test_what_is_stored_all_the_same(tmp_path: Path, said: str) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=2, code=said)
        for offset in range(2):
            answer = await it.send_v2()
            assert (code(answer), answer.remark) == (said, None)
            fields = answer.ext_fields or {}
            assert fields["queueOffset"] == str(offset)
            assert fields["msgId"]
        assert await it.stored() == 2


@pytest.mark.parametrize(
    ("said", "remark"),
    [
        ("TOPIC_NOT_EXIST", f"topic[T] not exist, apply first please!{FAQ}"),
        ("SYSTEM_ERROR", "UNKNOWN_ERROR"),
        ("FLOW_CONTROL", "FLOW_CONTROL: a test wants it"),
    ],
)
async def test_remarks_of_sends(tmp_path: Path, said: str, remark: str) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=1, code=said)
        answer = await it.send()
        assert (code(answer), answer.remark) == (said, remark)


async def test_a_service_that_is_not_available(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=1, code="service_not_available")
        answer = await it.send()
        assert code(answer) == "SERVICE_NOT_AVAILABLE"
        assert answer.remark is not None
        assert answer.remark.startswith(
            "service not available now. It may be caused by one of the following reasons: the"
            " broker's disk is full [CL:"
        )


@pytest.mark.parametrize(
    ("said", "remark"),
    [
        ("SYSTEM_BUSY", REJECTED),
        ("SUBSCRIPTION_GROUP_NOT_EXIST", f"subscription group [G] does not exist, {FAQ}"),
        ("SUBSCRIPTION_NOT_LATEST", "the consumer's subscription not latest"),
        ("NO_PERMISSION", "the broker[127.0.0.1] pulling message is forbidden"),
        ("PULL_RETRY_IMMEDIATELY", None),
        ("PULL_OFFSET_MOVED", None),
    ],
)
async def test_answers_to_pulls(tmp_path: Path, said: str, remark: str | None) -> None:
    async with faulty(tmp_path) as it:
        await it.send()
        await it.ask("fail_next", pulls=1, code=said)
        answer = await it.pull(5)
        assert (code(answer), answer.remark) == (said, remark)
        fields = answer.ext_fields or {}
        if said.startswith("PULL_"):
            read_on = {name: fields[name] for name in ("nextBeginOffset", "minOffset", "maxOffset")}
            assert read_on == {"nextBeginOffset": "5", "minOffset": "0", "maxOffset": "1"}
        elif said == "NO_PERMISSION":
            assert fields == {"forbiddenType": "1"}


async def test_a_remark_of_the_tests_own(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=1, code="SYSTEM_BUSY", remark="go away")
        assert (await it.send()).remark == "go away"


async def test_nobody_hears_that_a_oneway_request_failed(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=1, code="SYSTEM_BUSY")
        await it.send_oneway()
        assert code(await it.send()) == "SUCCESS"
        assert (await it.hits(), await it.stored()) == ([1], 1)


CANNOT_BE: list[tuple[str, dict[str, Any], str]] = [
    ("fail_next", {"sends": 1, "code": "SYSTEM_BUZY"}, "did you mean SYSTEM_BUSY"),
    ("fail_next", {"sends": 1, "code": 999}, "no response code 999: .*SYSTEM_BUSY"),
    ("fail_next", {"sends": 1, "code": "SUCCESS"}, "no failure"),
    ("fail_next", {"sends": 0, "code": 2}, "at least 1"),
    ("fail_next", {"code": 2}, "how many of what.*sends=1"),
    ("fail_next", {"code": 2, "sends": 1, "requests": "pulls"}, "next=1"),
    ("fail", {"code": 2, "requests": "send"}, "did you mean sends"),
    ("fail", {"code": 2, "requests": []}, "which requests"),
    ("fail", {"code": 2, "requests": "PULL_MESAGE"}, "did you mean PULL_MESSAGE"),
    ("fail", {"code": 2, "probability": 0}, "above 0, and at most 1"),
    ("slow", {"by": "5 parsecs"}, "500ms"),
    ("slow", {"by": 0}, "above 0"),
    ("remove", {"number": 7}, "no fault 7"),
    ("away", {"during": 1, "until": "2027-01-01T00:00Z"}, "real time, or until"),
    ("away", {"until": "1999-01-01T00:00Z"}, "is over"),
    ("split", {"broker": "another"}, "another is another one"),
    ("split", {"namesrv": "127.0.0.1:1"}, "no NameServer 127.0.0.1:1: (did you mean|it has)"),
    ("full_disk", {"room": -1}, "0 or more"),
]


async def test_what_cannot_be(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        for path, words, says in CANNOT_BE:
            with pytest.raises(HandError, match=says):
                await it.ask(path, **words)
        assert code(await it.send()) == "SUCCESS"
        assert await it.ask("list") == []
