"""What follows the time that a test moves: all that a broker does by the clock, and nothing that clients live by."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.patience import until_in_trio
from tests.requests import heartbeat
from tests.trimq.hand.moving import Moving, moving, real_millis, waiting
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, MessageQueue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.entries.timer import MAGIC_DEFAULT
from trimq.codec.headers.pop import NotificationRequestHeader
from trimq.hand.clock import HandClock
from trimq.hand.operation import HandError, Nothing
from trimq.hand.time import Advance, Speed, Time, To
from trimq.store.timers.chain import Due
from trimq.store.timers.wheel import SLOTS, SLOTS_PER_STEP, TimerWheel

TRANSACTION_PREPARED = 4
# What is sent in `later`, in the order in which it comes, and after how many milliseconds.
COMES = {"10 s": 10_000, "1 m": 60_000, "90 s": 90_000, "100 m": 6_000_000, "2 h": 7_200_000}
HALF = "RMQ_SYS_TRANS_HALF_TOPIC"


async def later(it: Moving) -> None:
    """Five messages, and none of them is sent in the order in which it comes."""
    await it.send("Later", "2 h", DELAY="18")
    await it.send("Later", "1 m", DELAY="5")
    await it.send("Later", "90 s", TIMER_DELAY_SEC="90", UNIQ_KEY="a")
    await it.send("Later", "10 s", DELAY="3")
    await it.send("Later", "100 m", TIMER_DELAY_MS="6000000", UNIQ_KEY="b")
    assert it.stored("Later") == []


async def test_delays_and_timers_come_in_the_order_of_real_time(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        await it.hand.time.freeze(Nothing())
        begun = await it.now()
        await later(it)
        shown = await it.advance("2h1s")
        took = {
            one.body.decode(): one.store_timestamp - begun - millis
            for one, millis in zip(it.stored("Later"), COMES.values(), strict=True)
        }
        assert list(took) == list(COMES)
        # A slot of timers is taken out when it is over.
        slots = {name: took.pop(name) for name in ("90 s", "100 m")}
        assert set(took.values()) == {0}
        assert all(0 < millis <= 1000 for millis in slots.values())
        assert shown.millis == begun + 7_201_000


async def test_so_they_do_while_the_clock_goes_on(tmp_path: Path) -> None:
    """How long all that takes is added to the times that they have then."""
    async with moving(tmp_path) as it:
        begun = await it.now()
        await later(it)
        shown = await it.advance("2h1s")
        found = it.stored("Later")
        assert [one.body.decode() for one in found] == list(COMES)
        for one, millis in zip(found, COMES.values(), strict=True):
            assert one.store_timestamp >= begun + millis
        assert shown.millis >= begun + 7_201_000
        assert shown.ahead_seconds <= 7201


async def test_what_is_under_way_is_waited_for_before_the_first_stop() -> None:
    """A broker that was opened just now, or timers that are not on the wheel: nobody knows yet when they are due."""
    clock = HandClock()
    clock.run_at(0)
    begun, looks, done = clock.millis(), 0, list[int]()

    def due(until: int) -> dict[str, int]:
        nonlocal looks
        looks += 1
        if looks <= 3:
            return {"timers": 0}
        if clock.millis() < begun + 90_000:
            return {"timers": begun + 90_000}
        done.append(clock.millis())
        return {}

    await Time(clock, due, trio.lowlevel.checkpoint).advance(Advance(by="2h"))
    assert done[0] == begun + 90_000


async def test_what_is_not_due_yet_stays(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        await it.send("Later", "10 s", DELAY="3")
        await it.advance("9s")
        assert it.stored("Later") == []
        found = await it.hand.time.next_due(Nothing())
        assert found is not None
        assert found.what == "delays"
        assert 0 < found.in_seconds < 1
        await it.hand.time.step(Nothing())
        assert len(it.stored("Later")) == 1
        assert await it.hand.time.next_due(Nothing()) is None
        with pytest.raises(HandError, match="nothing is due"):
            await it.hand.time.step(Nothing())


async def test_an_empty_wheel_is_looked_through_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with moving(tmp_path) as it:
        await it.send("Later", "in a day", TIMER_DELAY_SEC="86400", UNIQ_KEY="a")
        await it.advance("86402s")
        assert len(it.stored("Later")) == 1
        looks = 0
        real = TimerWheel.pass_empty

        def counted(wheel: TimerWheel, begin: int, end: int) -> tuple[int, bool]:
            nonlocal looks
            looks += 1
            return real(wheel, begin, end)

        monkeypatch.setattr(TimerWheel, "pass_empty", counted)
        assert await it.hand.time.next_due(Nothing()) is None
        # A year has many turns of the wheel.
        assert looks <= 2 * (SLOTS // SLOTS_PER_STEP + 2)
        looks = 0
        assert await it.hand.time.next_due(Nothing()) is None
        assert looks <= 8
        await it.send("Later", "in a minute", TIMER_DELAY_SEC="60", UNIQ_KEY="b")
        found = await it.hand.time.next_due(Nothing())
        assert found is not None
        assert found.what == "timers"
        assert 59 < found.in_seconds < 62


async def test_one_that_was_put_off_is_due_before_others(tmp_path: Path) -> None:
    """Its queue has refused it for a moment: it is on the wheel again, and nothing was put there by a client."""
    async with moving(tmp_path) as it:
        await it.hand.time.freeze(Nothing())
        await it.send("Later", "in two hours", TIMER_DELAY_SEC="7200", UNIQ_KEY="a")
        found = await it.hand.time.next_due(Nothing())
        assert found is not None
        assert 7199 < found.in_seconds < 7202
        timers = it.hand.broker.common.features.timers
        assert timers is not None
        refused = Due(0, 100, 0, MAGIC_DEFAULT)
        assert timers.files.put_off(refused, 0, await it.now() + 5000, of_queue=True)
        found = await it.hand.time.next_due(Nothing())
        assert found is not None
        assert 4 < found.in_seconds < 7


async def test_halves_are_asked_about(tmp_path: Path) -> None:
    async with moving(tmp_path, transactionCheckInterval="10000") as it:
        await it.advance("1d")
        await it.send("T", "half", TRANSACTION_PREPARED, TRAN_MSG="true", PGROUP="P", UNIQ_KEY="a")
        halves = it.hand.context.store.max_offset
        assert halves(HALF, 0) == 1
        # It is as old as it is for its producer: no check before its time.
        await it.advance("5s")
        assert halves(HALF, 0) == 1
        for checks in (1, 2, 3):
            await it.advance("10s")
            assert halves(HALF, 0) == 1 + checks


async def test_popped_messages_come_back(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        body = encode_body(SubscriptionGroupConfig(group_name="G"))
        await it.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)
        await it.advance("1d")
        await it.send("Pops", "one")
        assert (await it.pop("Pops", "G")).code == ResponseCode.SUCCESS
        await it.advance("55s")
        assert (await it.pop("Pops", "G")).code == ResponseCode.POLLING_TIMEOUT
        await it.advance("10s")
        again = await it.pop("Pops", "G")
        assert again.code == ResponseCode.SUCCESS


async def test_long_polls_end(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        await it.advance("1d")
        await it.send("T", "one")
        codes: list[int] = []

        async def asks(kind: str) -> None:
            if kind == "pull":
                codes.append((await it.pull("T", 1, 20_000)).code)
            else:
                codes.append((await it.pop("Empty", "G", wait_millis=20_000)).code)

        body = encode_body(SubscriptionGroupConfig(group_name="G"))
        await it.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)
        await it.send("Empty", "taken")
        await it.pop("Empty", "G")
        for kind, code in (
            ("pull", ResponseCode.PULL_NOT_FOUND),
            ("pop", ResponseCode.POLLING_TIMEOUT),
        ):
            codes.clear()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(asks, kind)
                await waiting(it, kind)
                await it.advance("15s")
                assert codes == []
                await it.advance("6s")
            assert codes == [code]


@pytest.mark.parametrize("kind", ["pull", "pop", "notification"])
async def test_long_polls_end_by_the_clients_time_while_the_clock_stands(
    tmp_path: Path, kind: str
) -> None:
    async with moving(tmp_path) as it:
        await it.ask(
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
            None,
            encode_body(SubscriptionGroupConfig(group_name="G")),
        )
        await it.send("T", "taken")
        assert (await it.pop("T", "G")).code == ResponseCode.SUCCESS
        await it.hand.time.freeze(Nothing())
        with trio.fail_after(5):
            if kind == "pull":
                assert (await it.pull("T", 1, 60)).code == ResponseCode.PULL_NOT_FOUND
            elif kind == "pop":
                answer = await it.pop("T", "G", wait_millis=100)
                assert answer.code == ResponseCode.POLLING_TIMEOUT
            else:
                header = NotificationRequestHeader(
                    consumer_group="G",
                    topic="T",
                    queue_id=-1,
                    poll_time=100,
                    born_time=real_millis(),
                )
                answer = await it.ask(RequestCode.NOTIFICATION, header)
                assert (answer.ext_fields or {})["hasMsg"] == "false"


async def test_locks_expire_and_clients_stay(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        await it.send("T", "one")
        await it.ask(RequestCode.HEART_BEAT, None, heartbeat(["G"]))
        queue = MessageQueue(broker_name=it.hand.context.identity.name, queue_id=0, topic="T")

        async def locks(client: str) -> int:
            body = LockBatchRequestBody(consumer_group="G", client_id=client, mq_set=[queue])
            answer = await it.ask(RequestCode.LOCK_BATCH_MQ, None, encode_body(body))
            return len(decode_body(LockBatchResponseBody, answer.body).lock_ok_mq_set)

        assert await locks("one") == 1
        await it.advance("55s")
        assert await locks("two") == 0
        await it.advance("2h")
        assert await locks("two") == 1
        assert it.hand.broker.common.readers.clients.consumers.groups()


async def test_retention(tmp_path: Path) -> None:
    """A file goes at four o'clock, when it is three days old."""
    settings = {"mappedFileSizeCommitLog": "65536", "fileReservedTime": "72"}
    async with moving(tmp_path, **settings) as it:
        for number in range(200):
            await it.send("Old", f"{number:01000d}")
        store = it.hand.context.store
        assert store.min_physical_offset == 0
        await it.advance("2d")
        assert store.min_physical_offset == 0
        await it.advance("2d12h")
        assert store.min_physical_offset > 0
        assert 0 < store.min_offset("Old", 0) < 200


async def test_stopped_and_fast(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        time = it.hand.time
        stopped = await time.freeze(Nothing())
        await it.send("T", "10 s", DELAY="3")
        await trio.sleep(0.01)
        assert await it.now() == stopped.millis
        await it.advance("10s")
        (one,) = it.stored("T")
        assert one.store_timestamp == stopped.millis + 10_000
        await it.send("T", "1 m", DELAY="5")
        await time.speed(Speed(times=10_000))
        with trio.fail_after(5):
            await until_in_trio(lambda: len(it.stored("T")) == 2)
        await time.resume(Nothing())
        assert await it.now() >= stopped.millis + 70_000


async def test_to_a_time(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        shown = await it.hand.time.to(To(time="2100-01-01T00:00+01:00"))
        assert shown.now.startswith("2099-12-31T23:00:00")
        with pytest.raises(HandError, match="is over"):
            await it.hand.time.to(To(time="2099-01-01T00:00Z"))
        with pytest.raises(HandError, match="time zone"):
            await it.hand.time.to(To(time="2101-01-01T00:00"))
        with pytest.raises(HandError, match="not a time"):
            await it.hand.time.to(To(time="tomorrow"))


async def test_two_at_once_move_it_by_both(tmp_path: Path) -> None:
    async with moving(tmp_path) as it:
        stopped = await it.hand.time.freeze(Nothing())
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(it.advance, "30d")
        assert await it.now() == stopped.millis + 120 * 86_400_000


async def test_after_years_timers_are_where_the_clock_is(tmp_path: Path) -> None:
    """Each of their slots was looked at before the time is said to be there."""
    async with moving(tmp_path) as it:
        await it.hand.time.freeze(Nothing())
        await it.send("Years", "two days", TIMER_DELAY_SEC="172800", UNIQ_KEY="a")
        await it.advance("730d")
        assert len(it.stored("Years")) == 1
        now = await it.now()
        await it.send("Years", "two seconds", TIMER_DELAY_SEC="2", UNIQ_KEY="b")
        await it.advance("4s")
        assert len(it.stored("Years")) == 2
        assert now + 2000 <= it.stored("Years")[1].store_timestamp <= now + 4000


async def test_only_the_brokers_time_is_moved(tmp_path: Path) -> None:
    """A NameServer forgets a broker that is silent for two minutes."""
    async with moving(tmp_path) as it:
        before = real_millis()
        await it.advance("365d")
        assert real_millis() - before < 60_000
        await it.ask(RequestCode.HEART_BEAT, None, heartbeat(["G"]))
        await it.advance("1h")
        assert "G" in it.hand.broker.common.readers.clients.consumers.groups()
