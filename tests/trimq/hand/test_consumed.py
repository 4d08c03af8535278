"""How far groups are, by commits and by pops; dead letters."""

from collections.abc import Awaitable, Callable

import pytest
import trio

from tests.requests import heartbeat
from tests.trimq.hand.conftest import Opens
from tests.trimq.hand.looking import Looking
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.pop import AckMessageRequestHeader, PopMessageRequestHeader
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.hand.looks.answers import Popped, Progress, QueueProgress, Sent
from trimq.hand.operation import HandError

LONG = "2m"


async def pop(it: Looking, topic: str, count: int = 8) -> RemotingCommand:
    header = PopMessageRequestHeader(
        consumer_group="G", topic=topic, max_msg_nums=count, invisible_time=600_000
    )
    return await it.request(RequestCode.POP_MESSAGE, header)


async def ack(it: Looking, popped: RemotingCommand, topic: str, offset: int) -> None:
    fields = popped.ext_fields
    first = fields["startOffsetInfo"].split(" ")[2]
    handle = (
        f"{first} {fields['popTime']} {fields['invisibleTime']} {fields['reviveQid']}"
        f" 0 broker-a 0 {offset}"
    )
    header = AckMessageRequestHeader(
        consumer_group="G", topic=topic, queue_id=0, extra_info=handle, offset=offset
    )
    await it.request(RequestCode.ACK_MESSAGE, header)


async def waited(it: Looking, acts: list[Callable[[], Awaitable[None]]], **words: str) -> Progress:
    """What a wait answers that is not over before the last of these acts."""
    found: list[Progress] = []

    async def wait() -> None:
        found.append(
            await it.get(Progress, "looks/wait_until_consumed", group="G", timeout=LONG, **words)
        )

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            for act in acts:
                await trio.testing.wait_all_tasks_blocked()
                assert not found
                await act()
    return found[0]


async def test_all_queues_are_committed_up_to_their_ends(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Orders", 3)
        await it.create_group("G")
        for queue_id in (0, 1, 1):
            await it.send("Orders", b"x", queue_id)
        at = await waited(
            it,
            [
                lambda: it.commit("G", "Orders", 0, 1),
                lambda: it.commit("G", "Orders", 1, 1),
                lambda: it.commit("G", "Orders", 1, 2),
            ],
            topic="Orders",
        )
    assert at.queues == [
        QueueProgress(topic="Orders", queue_id=0, committed=1, end=1),
        QueueProgress(topic="Orders", queue_id=1, committed=2, end=2),
    ]
    assert at.in_flight == []


async def test_a_group_that_has_yet_to_come_and_all_that_it_subscribes_to(opens: Opens) -> None:
    async with opens() as it:
        for topic in ("A", "B"):
            await it.create(topic)
            await it.send(topic, b"x")

        async def join() -> None:
            await it.request(RequestCode.HEART_BEAT, None, heartbeat(["G"], topics=["A", "B"]))

        at = await waited(
            it, [join, lambda: it.commit("G", "A", 0, 1), lambda: it.commit("G", "B", 0, 1)]
        )
    assert {one.topic for one in at.queues} == {"A", "B"}


async def test_what_is_popped_has_to_be_acknowledged(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Pops")
        for body in (b"a", b"b"):
            await it.send("Pops", body)
        popped = await pop(it, "Pops")
        assert await it.get(list[Popped], "looks/in_flight", group="G") == [
            Popped(topic="Pops", count=2)
        ]
        with pytest.raises(
            HandError, match="to consume its topics; 2 of Pops popped and not acknowledged"
        ):
            await it.ask("looks/wait_until_consumed", group="G", timeout=0)
        await waited(it, [lambda: ack(it, popped, "Pops", 0), lambda: ack(it, popped, "Pops", 1)])
        assert await it.ask("looks/in_flight", group="G") == []


async def test_what_is_not_consumed_is_said(opens: Opens) -> None:
    async with opens() as it:

        async def why(**words: object) -> str:
            with pytest.raises(HandError) as raised:
                await it.ask("looks/wait_until_consumed", timeout=0, **words)
            return str(raised.value)

        assert "there is no consumer group G: there is none at all yet" in await why(group="G")
        await it.create("Orders", 2)
        await it.send("Orders", b"x", 1)
        await it.send("Orders", b"x", 0)
        await it.create_group("Billing")
        await it.commit("Billing", "Orders", 1, 0)
        assert "the nearest name is Billing" in await why(group="Biling")
        assert "no topic Order: the nearest name is Orders" in await why(
            group="Billing", topic="Order"
        )
        assert await why(group="Billing") == (
            "waited 0 s for group Billing to consume its topics; "
            "queue 0 of Orders ends at 1, and nothing is committed; "
            "queue 1 of Orders ends at 1, committed is 0"
        )
        await it.request(RequestCode.HEART_BEAT, None, heartbeat(["Idle"], topics=[]))
        assert "it has read no topic" in await why(group="Idle")
        for path in ("looks/in_flight", "looks/dead_letters"):
            with pytest.raises(HandError, match="the nearest name is Billing"):
                await it.ask(path, group="billing")


async def test_a_retry_topic_belongs_to_what_is_to_be_consumed(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Orders")
        await it.request(RequestCode.HEART_BEAT, None, heartbeat(["G"], topics=["Orders"]))
        await it.create("%RETRY%G")
        await it.send("Orders", b"x")
        await it.send("%RETRY%G", b"again")
        await it.commit("G", "Orders", 0, 1)
        with pytest.raises(HandError, match="queue 0 of %RETRY%G ends at 1"):
            await it.ask("looks/wait_until_consumed", group="G", topic="Orders", timeout=0)
        await waited(it, [lambda: it.commit("G", "%RETRY%G", 0, 1)], topic="Orders")


async def test_dead_letters(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Orders")
        await it.send("Orders", b"bad", KEYS="k")
        await it.request(RequestCode.HEART_BEAT, None, heartbeat(["G"], topics=["Orders"]))
        assert (await it.get(Sent, "looks/dead_letters", group="G")).messages == []
        sent = await it.get(Sent, "looks/sent", topic="Orders")
        header = ConsumerSendMsgBackRequestHeader(
            offset=sent.messages[0].position, group="G", delay_level=-1, max_reconsume_times=0
        )
        await it.request(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        dead = await it.get(Sent, "looks/dead_letters", group="G")
    assert [(one.topic, one.text, one.keys) for one in dead.messages] == [("%DLQ%G", "bad", "k")]
