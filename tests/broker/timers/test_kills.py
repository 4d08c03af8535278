"""Killed in each state that a timer message can be in: nothing is lost, early, or delivered twice."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.lowlevel

from tests.broker.timers.timing import BEGIN, SECOND, Timing
from tests.interpreted import needs_plain_timers
from trimq.codec.names import TIMER_TOPIC
from trimq.store.errors import StoreError


async def restarted(timing: Timing, **settings: Any) -> None:
    timing.kill()
    timing.settings |= settings
    await timing.start()


def no_more_flushes(timing: Timing, monkeypatch: pytest.MonkeyPatch) -> None:
    async def not_now() -> None: ...

    monkeypatch.setattr(timing.timers, "_flush", not_now)


@pytest.fixture
async def rolling(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> AsyncIterator[Timing]:
    """Messages roll after 30 seconds."""
    timing = Timing(tmp_path / "rolls", nursery, timer_roll_window_slot=30)
    await timing.start()
    yield timing
    timing.kill()


async def recalled(timing: Timing) -> None:
    """Two messages that roll, and the recall of the first one."""
    timing.send("gone", 70)
    timing.send("stays", 70)
    await timing.until(10)
    timing.recall("U1", 60)


async def test_stored_but_not_on_the_wheel(autojump_clock: Any, timing: Timing) -> None:
    """And nothing of the timer's is on the disk at all."""
    timing.send("x", 5)
    timing.send("y", 1)
    timing.kill()
    assert not (timing.root / "config" / "timercheck").exists()
    timing.clock.jumped += 3 * SECOND
    await timing.start()
    await timing.until(4)
    # It was due when it was read again.
    assert timing.bodies == ["y"]
    await timing.until(8)
    assert timing.bodies == ["y", "x"]
    assert timing.delivered[1].at >= 5000


async def test_on_the_wheel_but_not_in_the_checkpoint(autojump_clock: Any, timing: Timing) -> None:
    timing.send("a", 30)
    await timing.until(3)
    timing.send("b", 30)
    timing.send("c", 31)
    timing.recall("U3", 31)
    # The log has them, the wheel's file and the checkpoint do not.
    timing.timers._files.log.write()
    await restarted(timing)
    assert timing.timers.waiting() == 2
    assert timing.timers.unread() == 0
    await timing.until(5)
    assert b'"count":2' in timing.timers.metrics()
    await timing.until(40)
    assert timing.bodies == ["a", "b"]


@pytest.mark.parametrize("checkpoint_between", [False, True])
async def test_half_of_a_slot_delivered(
    autojump_clock: Any, timing: Timing, checkpoint_between: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three batches of it; the checkpoint is from before the slot, or from the middle of it."""
    sent = [str(number) for number in range(400)]
    for body in sent:
        timing.send(body, 5)
    await timing.until(4)
    real = timing.puts.stage

    def stage(message: Any, properties: Any) -> str | None:
        if len(timing.delivered) >= 192:
            raise Stopped
        return real(message, properties)

    class Stopped(BaseException):
        pass

    monkeypatch.setattr(timing.puts, "stage", stage)
    timing.scope.cancel()
    timing.clock.jumped += 3 * SECOND
    with pytest.raises(Stopped):
        await timing.timers.deliver()
    assert timing.bodies == sent[:192]
    if checkpoint_between:
        await timing.timers._flush()
    monkeypatch.undo()
    await restarted(timing)
    await trio.sleep(3)
    assert timing.bodies == sent
    assert timing.timers.waiting() == 0


async def test_the_same_key_twice_in_a_slot_is_delivered_twice(
    autojump_clock: Any, timing: Timing
) -> None:
    """A producer's own doing; after a kill, one that is out stands for one of them."""
    for body in ("a", "b"):
        timing.send(body, 5, UNIQ_KEY="same", TIMER_DELIVER_MS=str(BEGIN + 5500))
    await timing.until(7)
    assert timing.bodies == ["a", "b"]
    await restarted(timing)
    await timing.until(9)
    assert timing.bodies == ["a", "b"]


async def test_delivered_and_not_in_the_checkpoint(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing.send("x", 2)
    timing.send("y", 20)
    await timing.until(2)
    no_more_flushes(timing, monkeypatch)
    await timing.until(5)
    assert timing.bodies == ["x"]
    monkeypatch.undo()
    await restarted(timing)
    assert len(timing.timers.copy_writer.out) == 1
    await timing.until(30)
    assert timing.bodies == ["x", "y"]


async def test_rolled_and_not_in_the_checkpoint(
    autojump_clock: Any, rolling: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    rolling.send("x", 70)
    rolling.send("gone", 70)
    rolling.recall("U2", 70)
    await rolling.until(20)
    no_more_flushes(rolling, monkeypatch)
    before = rolling.store.max_offset(TIMER_TOPIC, 0)
    await rolling.until(32)
    rolled = rolling.store.max_offset(TIMER_TOPIC, 0)
    assert rolled == before + 3
    monkeypatch.undo()
    await restarted(rolling)
    await rolling.until(34)
    # It did not roll a second time.
    assert rolling.store.max_offset(TIMER_TOPIC, 0) == rolled
    await rolling.until(80)
    assert rolling.bodies == ["x"]


async def test_a_recall_that_was_read_is_read_again(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing.send("gone", 3)
    timing.send("stays", 3)
    timing.recall("U1", 3)
    await timing.until(2)
    read = []
    real = timing.timers.copy_writer.deletes

    async def deletes(batch: Any) -> set[str]:
        read.append(await real(batch))
        await trio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(timing.timers.copy_writer, "deletes", deletes)
    await timing.until(5)
    assert read == [{"U1"}]
    assert timing.delivered == []
    monkeypatch.undo()
    await restarted(timing)
    await timing.until(7)
    assert timing.bodies == ["stays"]


async def test_due_at_once_and_not_in_the_checkpoint(autojump_clock: Any, timing: Timing) -> None:
    timing.set(timer_stop_enqueue=True)
    timing.send("x", 1)
    timing.send("y", 600)
    await timing.until(3)
    timing.set(timer_stop_enqueue=False)
    while not timing.delivered:
        timing.noted = trio.Event()
        await timing.noted.wait()
    await restarted(timing)
    await timing.until(8)
    assert timing.bodies == ["x"]
    assert timing.timers.waiting() == 1


async def test_killed_again_and_again(autojump_clock: Any, timing: Timing) -> None:
    """Wherever each kill falls; the ledger is exact."""
    due = {}
    for number in range(60):
        seconds = 0.3 + number % 7
        due[str(number)] = timing.now + int(seconds * SECOND)
        timing.send(str(number), seconds)
        if number % 3 == 0:
            await trio.sleep(0.37)
        if number % 5 == 0:
            await restarted(timing)
    await trio.sleep(10)
    assert sorted(timing.bodies, key=int) == list(due)
    for copy in timing.delivered:
        assert copy.at >= due[copy.body]
    assert timing.timers.waiting() == 0


async def test_stopped_in_order(autojump_clock: Any, timing: Timing) -> None:
    for number in range(10):
        timing.send(str(number), 1 + number)
    for second in range(2, 12, 3):
        await timing.until(second + 0.5)
        timing.stop()
        await timing.start()
    await timing.until(14)
    assert timing.bodies == [str(number) for number in range(10)]


@pytest.mark.parametrize("gone", ["timerwheel", "timerlog", "timercheck"])
async def test_files_that_somebody_removed(autojump_clock: Any, timing: Timing, gone: str) -> None:
    """What is left gives the rest: nothing that waits is lost."""
    timing.send("out", 1)
    timing.send("x", 30)
    timing.send("y", 30)
    await timing.until(5)
    timing.stop()
    if gone == "timerlog":
        for path in (timing.root / gone).iterdir():
            path.unlink()
        (timing.root / gone).rmdir()
    else:
        (timing.root / ("config" if gone == "timercheck" else "") / gone).unlink()
    await timing.start()
    await timing.until(40)
    assert timing.bodies[:3] == ["out", "x", "y"]
    # Without the checkpoint nobody knows what is done; what is out would have to be looked for everywhere.
    assert gone == "timercheck" or len(timing.bodies) == 3


async def test_a_recall_that_was_not_read_yet_counts(autojump_clock: Any, timing: Timing) -> None:
    """Both are due when the broker is back, and the recall is not on the wheel."""
    timing.send("gone", 5)
    timing.send("stays", 5)
    await timing.until(2)
    timing.set(timer_stop_enqueue=True)
    timing.recall("U1", 3)
    timing.kill()
    timing.clock.jumped += 60 * SECOND
    await timing.start()
    await trio.sleep(2)
    assert timing.bodies == ["stays"]


async def test_a_recall_of_a_message_that_rolls_counts_after_a_stop(
    autojump_clock: Any, rolling: Timing
) -> None:
    """Their stops, which are not the same, and their time have all passed in the meantime (7991)."""
    await recalled(rolling)
    await rolling.until(12)
    rolling.stop()
    rolling.clock.jumped += 600 * SECOND
    await rolling.start()
    await trio.sleep(3)
    assert rolling.bodies == ["stays"]
    assert rolling.timers.waiting() == 0


async def test_a_message_that_has_rolled_is_not_taken_for_its_recall(
    autojump_clock: Any, rolling: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recall has the key and the time of the message, and rolls later, when the broker is back. The message's slot
    is empty in the wheel then, and the checkpoint, which is written after it, does not say that it is done.
    """
    await recalled(rolling)
    before = rolling.store.max_offset(TIMER_TOPIC, 0)
    await rolling.until(20)
    no_more_flushes(rolling, monkeypatch)
    await rolling.until(32)
    assert rolling.store.max_offset(TIMER_TOPIC, 0) == before + 2
    monkeypatch.undo()
    checkpoint = rolling.root / "config" / "timercheck"
    before_the_flush = checkpoint.read_bytes()
    rolling.scope.cancel()
    await rolling.timers._flush()
    rolling.kill()
    checkpoint.write_bytes(before_the_flush)
    rolling.clock.jumped += 15 * SECOND
    await rolling.start()
    assert len(rolling.timers.copy_writer.out) == 2
    await rolling.until(90)
    assert rolling.bodies == ["stays"]


async def test_killed_twice_before_a_slot_is_done(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was out before the first kill is still known after the second, whatever checkpoint is in between."""
    sent = [str(number) for number in range(100)]
    for body in sent:
        timing.send(body, 5)
    await timing.until(4)

    class Stopped(BaseException):
        pass

    def stage(message: Any, properties: Any) -> str | None:
        if len(timing.delivered) >= 64:
            raise Stopped
        return real(message, properties)

    real = timing.puts.stage
    monkeypatch.setattr(timing.puts, "stage", stage)
    timing.scope.cancel()
    timing.clock.jumped += 3 * SECOND
    with pytest.raises(Stopped):
        await timing.timers.deliver()
    monkeypatch.undo()
    timing.kill()
    await timing.start(run=False)
    assert len(timing.timers.copy_writer.out) == 64
    # Something else is sent, and a checkpoint speaks of it.
    timing.send("later", 30)
    await timing.timers._flush()
    timing.kill()
    await timing.start()
    assert len(timing.timers.copy_writer.out) == 64
    await trio.sleep(3)
    assert timing.bodies == sent
    assert len(timing.timers.copy_writer.out) == 0
    await timing.until(50)
    assert timing.bodies == [*sent, "later"]


@pytest.mark.parametrize("flushed", [False, True])
async def test_what_is_cut_off_is_not_delivered(
    autojump_clock: Any, timing: Timing, flushed: bool
) -> None:
    """As after a kill with a log that ends there; and what comes in its place is."""
    timing.send("stays", 8)
    await timing.until(2)
    end = timing.store.max_physical_offset
    timing.send("goes", 8)
    timing.recall("U1", 8)
    await timing.until(5 if flushed else 2.1)
    assert timing.timers.waiting() == 1
    timing.scope.cancel()
    await trio.lowlevel.checkpoint()
    timing.store.cut(end)
    timing.timers.recover(end)
    timing.send("comes", 5)
    timing.scope = trio.CancelScope()
    timing.run()
    await timing.until(12)
    assert sorted(timing.bodies) == ["comes", "stays"]
    timing.stop()
    await timing.start()
    assert timing.timers.waiting() == 0


def broken_queue(timing: Timing, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is for the topic Broken cannot be stored."""
    real = timing.puts.stage

    def stage(message: Any, properties: Any) -> str | None:
        if message.topic == "Broken":
            raise StoreError("its queue is damaged")
        return real(message, properties)

    monkeypatch.setattr(timing.puts, "stage", stage)


@pytest.mark.parametrize(
    "written",
    ["nothing", "log", pytest.param("while it is taken out", marks=needs_plain_timers), "all"],
)
async def test_put_off(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    """It lies where it was, too, until that is written: once is enough, and those entered behind it are known."""
    broken_queue(timing, monkeypatch)
    for body in ("a", "b", "c"):
        timing.send(body, 5, topic="Broken" if body == "b" else "T")
    await timing.until(4)

    async def not_now() -> None:
        """Nothing is flushed any more."""

    flush = timing.timers._flush
    monkeypatch.setattr(timing.timers, "_flush", not_now)
    files, finish = timing.timers._files, timing.timers._files.finish

    def flushed_first(time: int) -> None:
        end, now = timing.store.max_physical_offset, timing.clock.millis()
        plan = files.plan_flush(end, now, thorough=True)
        if plan is not None:
            plan.run()
            files.flushed(plan)
        finish(time)

    if written == "while it is taken out":
        monkeypatch.setattr(files, "finish", flushed_first)
    await timing.until(6.5)
    assert timing.bodies == ["a", "c"]
    for body in ("d", "e"):
        timing.send(body, 20)
    await timing.until(7)
    if written == "log":
        timing.timers._files.log.write()
    elif written == "all":
        await flush()
    monkeypatch.undo()
    await restarted(timing)
    await timing.until(40)
    assert timing.bodies == ["a", "c", "b", "d", "e"]
    assert timing.timers.waiting() == 0
    assert b'"count":' not in timing.timers.metrics().replace(b'"count":0', b"")


async def test_put_off_when_it_came_from_the_queue(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was due when it was read, and its queue is read once more from there."""
    timing.send("a", 20)
    await timing.until(3)
    timing.set(timer_stop_enqueue=True)
    timing.send("b", 1, topic="Broken")
    await timing.until(5)
    broken_queue(timing, monkeypatch)
    timing.set(timer_stop_enqueue=False)
    no_more_flushes(timing, monkeypatch)
    await timing.until(7)
    assert timing.bodies == []
    timing.timers._files.log.write()
    monkeypatch.undo()
    await restarted(timing)
    await timing.until(40)
    assert timing.bodies == ["b", "a"]
    assert timing.timers.waiting() == 0
    assert b'"count":' not in timing.timers.metrics().replace(b'"count":0', b"")
