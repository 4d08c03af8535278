"""The timer's files against a model: sends, rolls, recalls, messages put off, kills and power losses at any moment.

The clock jumps besides. Nothing is early, nothing is lost, nothing is delivered twice that is not found in the commit
log's tail; and whatever a checkpoint speaks of is on the disk.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.interpreted import needs_plain_timers
from tests.store.timers.conftest import BEGIN, LOG_FILE, SECOND, SIZE, SLOTS, WINDOW
from trimq.broker.timers.conversion import NEVER_ENTERED
from trimq.codec.entries.timer import MAGIC_ROLL
from trimq.store.errors import StoreError
from trimq.store.timers.chain import Chain, Due
from trimq.store.timers.timer_store import Entered, TimerStore


class Stored:
    """A record of the imagined commit log: a message of the timer's queue, a delivered copy, or both."""

    def __init__(self, message: int, rolls: int, queued: bool, copied: bool, time: int) -> None:
        self.message = message
        self.rolls = rolls
        self.queued = queued
        self.copied = copied
        self.time = time


class TimerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="timers-"))
        # What the disk has is kept in `synced`: there is no need to wait for the real one.
        self.patches = ExitStack()
        for name in ("fdatasync", "fsync"):
            self.patches.enter_context(mock.patch.object(os, name, return_value=None))
        self.now = BEGIN
        # By message: when it is due, and the message that it recalls.
        self.due: list[tuple[int, int | None]] = []
        self.commit_log: list[Stored] = []
        self.queue: list[int] = []
        self.flushed_log = 0
        self.at_once: list[int] = []
        self.slot: int | None = None
        self.left: list[Due] = []
        self.recalled: set[int] = set()
        self.may_be_recalled: set[int] = set()
        self.synced: dict[str, bytes] = {}
        self.kills = 0
        self.open()

    def teardown(self) -> None:
        try:
            self.finish_all()
        finally:
            self.store.close()
            self.patches.close()
            shutil.rmtree(self.root)

    # --- the store and what stands for the broker

    @property
    def log_end(self) -> int:
        return len(self.commit_log) * SIZE

    def open(self) -> None:
        self.store = TimerStore(self.root, SECOND, LOG_FILE, SLOTS)
        found = self.store.load(len(self.queue), self.log_end, self.now, WINDOW, self.find)
        self.done = (0, 0) if found is None else (found.done_before, found.read_time)
        self.store.queue_offset = min(self.store.queue_offset, len(self.queue))
        begin = self.store.file.delivered_from or 0
        self.out = Counter(
            (one.message, one.rolls)
            for at, one in enumerate(self.commit_log)
            if one.copied and at * SIZE >= begin
        )
        if self.out:
            self.store.hold(begin)
        copies = [one.time for one in self.commit_log[begin // SIZE :] if one.copied]
        self.until = max([self.now, *copies])
        self.at_once, self.slot, self.left, self.recalled = [], None, [], set()

    def find(self, physical_offset: int, size: int) -> int | None:
        at = physical_offset // SIZE
        return self.queue.index(at) if at in self.queue else None

    def append(self, one: Stored) -> None:
        if one.queued:
            self.queue.append(len(self.commit_log))
        self.commit_log.append(one)

    def copies_of(self, message: int) -> int:
        return sum(
            one.message == message and one.copied and not one.queued for one in self.commit_log
        )

    def put(self, due: Due, put_off_until: int = 0) -> None:
        """Delivers, rolls or puts off, as broker/timers/copy_writer.py does."""
        if self.store.is_put_off(due.physical_offset):
            return
        source = self.commit_log[due.physical_offset // SIZE]
        out_ms, recalls = self.due[source.message]
        key = source.message, source.rolls + due.rolls
        if not due.rolls and (recalls is not None or source.message in self.recalled):
            return
        if self.out[key]:
            self.out[key] -= 1
            return
        of_queue = due.write_time == NEVER_ENTERED
        if put_off_until and self.store.put_off(due, 7, put_off_until, of_queue=of_queue):
            return
        if not due.rolls:
            assert self.now >= out_ms // SECOND * SECOND + SECOND, "early"
            assert not self.copies_of(source.message), "twice"
        self.append(Stored(*key, queued=due.rolls, copied=True, time=self.now))

    def feed_one(self, put_off_until: int = 0) -> bool:
        offset = self.store.queue_offset
        if self.at_once or offset >= len(self.queue):
            return False
        at = self.queue[offset]
        if self.store.is_put_off(at * SIZE, of_queue=True):
            self.store.queue_offset += 1
            return True
        source = self.commit_log[at]
        out_ms, recalls = self.due[source.message]
        if offset < self.done[0] and out_ms < self.done[1]:
            self.store.queue_offset += 1
            return True
        result = self.store.enter(
            out_ms,
            at * SIZE,
            SIZE,
            is_delete=recalls is not None,
            topic_hash=7,
            now=self.now,
            window=WINDOW,
        )
        if result is Entered.DUE:
            self.put(Due(at * SIZE, SIZE, NEVER_ENTERED, 1), put_off_until)
        if result is not Entered.LATER:
            self.store.queue_offset += 1
        return result is not Entered.LATER

    def begin_slot(self) -> bool:
        if self.slot is None:
            time = self.store.find_due(self.now)
            if time is None:
                return False
            chain = self.chain(time)
            self.recalled = set()
            for index in range(len(chain.deletes)):
                source = self.commit_log[chain.deletes.at(index).physical_offset // SIZE]
                target = self.due[source.message][1]
                assert target is not None
                self.recalled.add(target)
            self.left = [chain.others.at(index) for index in range(len(chain.others))]
            self.slot = time
        return True

    def make_room(self) -> None:
        """As broker/timers/delivery.py does it."""
        time = None if self.slot is not None else self.store.take_in_the_way()
        if time is None:
            return
        chain = self.chain(time)
        for found in (chain.deletes, chain.others):
            for index in range(len(found)):
                due = found.at(index)
                self.put(due._replace(magic=due.magic | MAGIC_ROLL))
        self.store.finish(time)

    def chain(self, time: int) -> Chain:
        chain = self.store.begin(time, self.log_end)
        while not chain.done:
            start, size = chain.wanted()
            chain.take(start, self.store.log.read_blocking(start, size))
        return chain

    def finish_all(self) -> None:
        """Wait until everything is due: then everything is out."""
        last = max((out_ms for out_ms, _ in self.due), default=0)
        for _ in range(12):
            while self.feed_one():
                pass
            self.make_room()
            while self.store.is_behind(self.now) or self.slot is not None:
                self.deliver(1000)
            self.now = max(self.now + WINDOW // 2 * SECOND, last)
        assert self.store.queue_offset == len(self.queue)
        for message, (_, recalls) in enumerate(self.due):
            stored = any(one.message == message and not one.copied for one in self.commit_log)
            if recalls is None and stored and message not in self.may_be_recalled:
                assert self.copies_of(message) == 1, "lost"
        assert self.store.wheel.waiting == 0

    # --- what happens

    @rule(seconds=st.integers(0, 3), far=st.sampled_from([0, 0, 0, WINDOW, 2 * WINDOW]))
    def send(self, seconds: int, far: int) -> None:
        self.due.append((self.now // SECOND * SECOND + (seconds + far) * SECOND, None))
        self.append(Stored(len(self.due) - 1, 0, queued=True, copied=False, time=self.now))

    @precondition(lambda self: self.due)
    @rule(data=st.data())
    def recall(self, data: st.DataObject) -> None:
        target = data.draw(st.integers(0, len(self.due) - 1))
        out_ms, recalls = self.due[target]
        if recalls is None and out_ms > self.now:
            self.due.append((out_ms, target))
            self.may_be_recalled.add(target)
            self.append(Stored(len(self.due) - 1, 0, queued=True, copied=False, time=self.now))

    @rule(most=st.integers(1, 30))
    def feed(self, most: int) -> None:
        for _ in range(most):
            if not self.feed_one():
                break

    @rule(seconds=st.integers(1, 12))
    def put_off_from_the_queue(self, seconds: int) -> None:
        """If it is due when it is read."""
        self.feed_one(self.now + seconds * SECOND)

    @rule(seconds=st.integers(1, 12))
    def put_off_from_its_slot(self, seconds: int) -> None:
        if self.begin_slot() and self.left:
            self.put(self.left.pop(0), self.now + seconds * SECOND)

    @rule(millis=st.sampled_from([1, 999, 1000, 1001, 2500, 30_000]))
    def time_passes(self, millis: int) -> None:
        self.now += millis

    @rule(seconds=st.integers(1, 20))
    def clock_is_set_back(self, seconds: int) -> None:
        self.now -= seconds * SECOND

    @rule(seconds=st.sampled_from([-20 * SLOTS, -SLOTS, SLOTS, 20 * SLOTS, 25 * 86_400]))
    def clock_jumps(self, seconds: int) -> None:
        self.now = max(self.now + seconds * SECOND, BEGIN // 2)

    @rule()
    def room_is_made(self) -> None:
        self.make_room()

    @rule(most=st.integers(1, 10))
    def deliver(self, most: int) -> None:
        """Some of a slot, or what is left of it."""
        if not self.begin_slot():
            return
        for due in self.left[:most]:
            self.put(due)
        del self.left[:most]
        if not self.left and self.slot is not None:
            self.store.finish(self.slot)
            self.slot = None
            if self.store.read_time > self.until and self.store.queue_offset == len(self.queue):
                self.store.let_go()
                self.out.clear()

    @rule(steps=st.integers(0, 4))
    def flush(self, steps: int) -> None:
        """Up to the commit log, the timer log, the wheel, or the checkpoint."""
        plan = self.store.plan_flush(self.log_end, self.now)
        if plan is None:
            return
        log_end = len(self.commit_log)
        store = self.store
        real = store.log.sync_files, store.wheel.write, store.file.save
        done = 0

        def step(act, *arguments):  # type: ignore[no-untyped-def]
            nonlocal done
            done += 1
            if done >= steps:
                raise StoreError("that is how far it comes")
            act(*arguments)
            self.note_synced(act)

        if steps:
            self.flushed_log = log_end
            store.log.sync_files = lambda *given: step(real[0], *given)  # type: ignore[method-assign]
            store.wheel.write = lambda *given: step(real[1], *given)  # type: ignore[method-assign]
            store.file.save = lambda *given: step(real[2], *given)  # type: ignore[method-assign]
        try:
            if not steps:
                raise StoreError("not even the commit log")
            plan.run()
        except StoreError:
            store.not_flushed(plan)
        else:
            store.flushed(plan)
        finally:
            store.log.sync_files, store.wheel.write, store.file.save = real  # type: ignore[method-assign]

    def note_synced(self, act: object) -> None:
        """What of the files a power loss leaves."""
        name = getattr(act, "__name__", "")
        paths = {
            "sync_files": (self.root / "timerlog").glob("*"),
            "write": [self.root / "timerwheel"],
            "save": [self.root / "config" / "timercheck"],
        }[name]
        for path in paths:
            self.synced[str(path)] = path.read_bytes()

    @rule()
    def kill(self) -> None:
        """What was handed to the kernel stays."""
        self.kills += 1
        self.store.close()
        self.open()

    @rule(data=st.data())
    def power_loss(self, data: st.DataObject) -> None:
        """Of what was not synced, nothing stays; of the commit log, anything up to its end."""
        self.store.close()
        for path in [*(self.root / "timerlog").glob("*"), self.root / "timerwheel"]:
            if path.exists():
                kept = self.synced.get(str(path))
                if kept is None:
                    path.unlink()
                else:
                    path.write_bytes(kept)
        end = data.draw(st.integers(self.flushed_log, len(self.commit_log)))
        del self.commit_log[end:]
        self.queue = [at for at in self.queue if at < end]
        self.open()

    @rule()
    def stop_and_start(self) -> None:
        """As WheelTimers.close does it."""
        plan = self.store.plan_flush(self.log_end, self.now, thorough=True)
        self.flushed_log = len(self.commit_log)
        if plan is not None:
            plan.run()
            for act in (self.store.log.sync_files, self.store.wheel.write, self.store.file.save):
                if act.__name__ != "write" or (self.root / "timerwheel").exists():
                    self.note_synced(act)
        self.store.close()
        self.open()

    @invariant()
    def no_slot_points_behind_the_log(self) -> None:
        assert self.store.wheel.waiting >= -len(self.may_be_recalled) * 2
        assert self.store.log.written <= self.store.log.end


TimerMachine.TestCase.settings = settings(stateful_step_count=40, deadline=None)
TestTimers = needs_plain_timers(TimerMachine.TestCase)
