"""What was sent, and waiting for it."""

import zlib

import pytest
import trio

from tests.requests import send_header_v2
from tests.trimq.hand.conftest import Opens
from trimq.codec.codes import RequestCode
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.hand.client_looks import Looks
from trimq.hand.looks.answers import Sent
from trimq.hand.operation import HandError


async def test_what_was_sent_in_the_order_of_its_storing(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Orders", 2)
        await it.send("Orders", b"first", 1, TAGS="paid", KEYS="o1 o2", UNIQ_KEY="id1", own="x")
        await it.send("Orders", b"\xff\x00", 0)
        sent = await it.get(Sent, "looks/sent", topic="Orders")
    first, second = sent.messages
    assert sent.count == 2
    assert (first.queue_id, first.offset, first.body, first.text) == (1, 0, b"first", "first")
    assert (first.tags, first.keys, first.id) == ("paid", "o1 o2", "id1")
    assert first.properties["own"] == "x"
    assert first.position < second.position
    assert first.store_millis <= second.store_millis
    assert first.store_millis > 1_600_000_000_000
    assert (second.queue_id, second.body, second.text) == (0, b"\xff\x00", None)


async def test_the_last_of_many(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Many", 2)
        for number in range(6):
            await it.send("Many", b"%d" % number, number % 2)
        sent = await it.get(Sent, "looks/sent", topic="Many", most=3)
        with pytest.raises(HandError, match="from 1 on"):
            await it.ask("looks/sent", topic="Many", most=0)
    assert (sent.count, [one.text for one in sent.messages]) == (6, ["3", "4", "5"])


async def test_messages_of_a_batch_and_packed_bodies(opens: Opens) -> None:
    async with opens() as it:
        await it.create("Packed")
        batch = [BatchItem(0, b"%d" % number, b"TAGS\x01t%d" % number) for number in range(3)]
        header = send_header_v2("Packed", batch=True)
        await it.request(RequestCode.SEND_BATCH_MESSAGE, header, join_batch(batch))
        await it.send("Packed", zlib.compress(b"long"), sys_flag=SysFlag.COMPRESSED)
        sent = await it.get(Sent, "looks/sent", topic="Packed")
    assert [one.text for one in sent.messages] == ["0", "1", "2", "long"]
    assert [one.tags for one in sent.messages] == ["t0", "t1", "t2", None]


async def test_an_empty_topic_and_a_wrong_name(opens: Opens) -> None:
    async with opens() as it:
        with pytest.raises(HandError, match="there is no topic Orders: there is none at all yet"):
            await it.ask("looks/sent", topic="Orders")
        await it.create("Orders")
        assert (await it.get(Sent, "looks/sent", topic="Orders")).messages == []
        with pytest.raises(HandError, match="no topic orders: the nearest name is Orders"):
            await it.ask("looks/sent", topic="orders")
        with pytest.raises(HandError, match=r"no topic Q: there are Orders$"):
            await it.ask("looks/sent", topic="Q")


async def test_waiting_ends_with_the_message(opens: Opens) -> None:
    async with opens() as it, trio.open_nursery() as nursery:
        found: list[Sent] = []

        async def wait() -> None:
            found.append(await it.get(Sent, "looks/wait_for", topic="New", count=2, timeout="1m"))

        nursery.start_soon(wait)
        await it.send("New", b"a")
        assert not found
        # It does not exist before the first send: the wait goes on.
        await it.send("New", b"b")
        with trio.fail_after(30):
            while not found:
                await trio.lowlevel.checkpoint()
    assert [one.text for one in found[0].messages] == ["a", "b"]


async def test_a_wait_that_is_over_says_what_is_there(opens: Opens) -> None:
    async with opens() as it:
        with pytest.raises(
            HandError, match=r"waited 0 s for 1 message of topic Orders; there is no"
        ):
            await it.ask("looks/wait_for", topic="Orders", timeout=0)
        await it.create("Orders")
        with pytest.raises(HandError, match=r"waited 0.01 s for 1 message .* it is empty"):
            await it.ask("looks/wait_for", topic="Orders", timeout="10ms")
        await it.send("Orders", b"a", KEYS="k1")
        await it.send("Orders", b"b" * 100)
        with pytest.raises(HandError) as raised:
            await it.ask("looks/wait_for", topic="Orders", count=3, timeout=0)
        with pytest.raises(HandError, match="from 1 on"):
            await it.ask("looks/wait_for", topic="Orders", count=0)
    assert str(raised.value) == (
        "waited 0 s for 3 messages of topic Orders; there are 2: queue 0 offset 0 keys k1 'a'; "
        f"queue 0 offset 1 '{'b' * 60}'... (100 bytes)"
    )


def test_the_python_face() -> None:
    asked = []

    class Called:
        def call(self, path: str, **words: object) -> object:
            asked.append((path, words))
            return {"topic": "T", "count": 0, "messages": []}

    looks = Looks(Called())
    assert looks.sent("T") == []
    assert looks.wait_for("T", 2, "5s") == []
    assert asked == [
        ("looks/sent", {"topic": "T", "most": 1000}),
        ("looks/wait_for", {"topic": "T", "count": 2, "timeout": 5.0}),
    ]
