"""`updateTopic --drain`: fewer queues without losing what lies in the last ones.

First writes to them stop; when every group has read them, they are removed. If it is interrupted,
it says how far it came, and the same command continues from there.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import click
import msgspec

from trimq.admin.brokers.namesrv import ORDER_TOPICS
from trimq.admin.errors import Invalid, NotFound
from trimq.admin.topics.draining import Tail
from trimq.codec.bodies.topics import TopicConfig
from trimq.mqadmin.common.drain_bar import DrainBar, saying_what_next
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run
from trimq.mqadmin.output import complain

_POLL_SECONDS: Final = 1.0
SETTLE_SECONDS: Final = 35.0
"""Producers ask for routes every 30 s unless told otherwise (ClientConfig.pollNameServerInterval)."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a drain has to do. `timeout` and `settle` in seconds; a timeout of None waits for ever."""

    topic: str
    reads: int
    writes: int
    timeout: float | None = None
    settle: float = SETTLE_SECONDS
    ignored: frozenset[str] = frozenset()


@dataclass(slots=True)
class Part:
    """The topic on one broker. `quiet_since`: when messages were last seen to arrive in the tail."""

    addr: str
    config: TopicConfig
    stopped: bool = False
    done: bool = False
    tail: Tail = field(default_factory=Tail)
    quiet_since: float = 0.0

    def behind(self, goal: Goal) -> dict[str, int]:
        """Messages not yet read by the groups that count."""
        left = self.tail.behind.items()
        return {group: number for group, number in left if group not in goal.ignored}

    def is_dry(self, goal: Goal, now: float) -> bool:
        """Whether nothing is left, and nothing can come any more."""
        return not self.behind(goal) and now - self.quiet_since >= goal.settle


class Drain:
    """One run for one topic on some brokers."""

    def __init__(self, run: Run, addrs: list[str], goal: Goal) -> None:
        if goal.reads < goal.writes:
            raise click.UsageError("-r must be at least -w: what is written has to be read")
        self._run = run
        self._goal = goal
        self._parts = self._find(addrs)
        self._warned: set[str] = set()

    def run(self) -> None:
        """Both steps. Failed, with what to do next, when it is interrupted or takes too long."""
        with saying_what_next(self._state):
            self._stop_writes()
            self._wait()
            self._drop_reads()

    def _find(self, addrs: list[str]) -> list[Part]:
        """The topic on each broker that has it; NotFound when none has."""
        parts: list[Part] = []
        missing: NotFound | None = None
        for addr in addrs:
            try:
                config = self._run.admin.topic_config(addr, self._goal.topic)
            except NotFound as error:
                missing = error
                continue
            if config.mapping_detail is not None:
                raise Invalid(f"{self._goal.topic!r} is a static topic: it can only grow")
            parts.append(Part(addr, config))
        if missing is not None and not parts:
            raise missing
        return parts

    # --- the two steps

    def _stop_writes(self) -> None:
        """Step 1. Queues to be added are added at once: nobody loses anything by that."""
        goal = self._goal
        for part in self._parts:
            reads = max(part.config.read_queue_nums, goal.reads)
            if (part.config.write_queue_nums, part.config.read_queue_nums) != (goal.writes, reads):
                self._put(part, reads)
            part.stopped = True
            part.done = reads == goal.reads
            part.quiet_since = time.monotonic()
            what = (
                "nothing is left to do"
                if part.done
                else f"queues {_range(goal.reads, part.config.read_queue_nums)} are being drained"
            )
            self._say(
                f"{part.addr}: {goal.writes} write queues, {reads} read queues; {what}.", part
            )

    def _drop_reads(self) -> None:
        """Step 2."""
        for part in self._parts:
            if part.done:
                continue
            self._put(part, self._goal.reads)
            part.done = True
            reads = self._goal.reads
            self._say(
                f"{part.addr}: {self._goal.writes} write queues, {reads} read queues; done.", part
            )

    def _put(self, part: Part, reads: int) -> None:
        writes = self._goal.writes
        config = msgspec.structs.replace(
            part.config, read_queue_nums=reads, write_queue_nums=writes, attributes={}
        )
        self._run.admin.put_topic(part.addr, config)
        if part.config.order and part.config.write_queue_nums != writes:
            self._put_order(part, writes)

    def _put_order(self, part: Part, writes: int) -> None:
        """Producers take an ordered topic's queues from the NameServer's entry."""
        name = self._run.admin.broker_name_of(part.addr)
        try:
            entry = self._run.admin.get_kv(ORDER_TOPICS, self._goal.topic)
        except FAILURES:
            return
        if name in {one.partition(":")[0] for one in entry.split(";")}:
            self._run.admin.set_broker_order(self._goal.topic, name, writes)

    # --- waiting

    def _wait(self) -> None:
        waiting = [part for part in self._parts if not part.done]
        if not waiting:
            return
        begin = time.monotonic()
        with _Progress(self._run, self._goal) as progress:
            while True:
                problem = self._look(waiting)
                now = time.monotonic()
                if problem is None and all(part.is_dry(self._goal, now) for part in waiting):
                    return
                progress.show(self._left(), problem)
                if self._goal.timeout is not None and now - begin >= self._goal.timeout:
                    raise Failed(f"not drained within {self._goal.timeout:g} s; {self._state()}")
                time.sleep(_POLL_SECONDS)

    def _look(self, waiting: list[Part]) -> str | None:
        """Ask every broker again; returns why one of them could not be asked, if so."""
        for part in waiting:
            try:
                tail = self._run.admin.tail_of(part.addr, self._goal.topic, self._goal.reads)
            except FAILURES as error:
                # A broker that restarts will be there again.
                return str(error)
            if tail.ends != part.tail.ends:
                part.quiet_since = time.monotonic()
            part.tail = tail
            for group in set(tail.unknown) - self._warned - self._goal.ignored:
                self._warned.add(group)
                self._warn(f"group {group!r} broadcasts: it is not known what it has read")
        return None

    def _left(self) -> Counter[str]:
        left: Counter[str] = Counter()
        for part in self._parts:
            left.update(part.behind(self._goal))
        return left

    # --- words

    def _state(self) -> str:
        """Where the topic stands, and how to continue or go back."""
        goal = self._goal
        states = [f"{part.addr} {self._state_of(part)}" for part in self._parts]
        if all(part.done for part in self._parts):
            return f"topic {goal.topic!r} is drained"
        left = ", ".join(f"{group} {number}" for group, number in sorted(self._left().items()))
        unread = f" Not read yet, by group: {left}." if left else ""
        back = "; ".join(map(self._way_back, self._parts))
        return (
            f"topic {goal.topic!r}: {', '.join(states)}.{unread} Nothing is lost: the same command "
            f"continues from here, and this undoes it: {back}"
        )

    def _way_back(self, part: Part) -> str:
        """The command that allows writes everywhere again."""
        config = part.config
        # Where an earlier run has stopped the writes, most likely as many queues were written to as
        # read.
        same = config.write_queue_nums == self._goal.writes
        writes = config.read_queue_nums if same else config.write_queue_nums
        order = " -o true" if config.order else ""
        return (
            f"mqadmin updateTopic -b {part.addr} -t {config.topic_name} -p {config.perm}"
            f" -r {config.read_queue_nums} -w {writes}{order}"
        )

    def _state_of(self, part: Part) -> str:
        if part.done:
            return "is done"
        if not part.stopped:
            return "may be unchanged"
        stopped = _range(self._goal.writes, part.config.read_queue_nums)
        return f"takes no more writes in queues {stopped}, which are still read"

    def _say(self, text: str, part: Part) -> None:
        self._run.out.row(text, {"addr": part.addr, "stopped": part.stopped, "done": part.done})

    def _warn(self, text: str) -> None:
        complain(text, "yellow")


def _range(first: int, end: int) -> str:
    return f"{first}-{end - 1}" if end - 1 > first else str(first)


class _Progress(DrainBar):
    """Of one topic."""

    def __init__(self, run: Run, goal: Goal) -> None:
        super().__init__(run, f"draining {goal.topic}")

    def show(self, left: Counter[str], problem: str | None) -> None:
        """How many messages each group still has before it, or why nobody knows."""
        total = left.total()
        if self.watched and problem is None:
            self.draw(total)
            return
        groups = ", ".join(f"{group} {number}" for group, number in sorted(left.items()))
        text = problem or (
            f"{total} messages left: {groups}" if total else "all read, waiting for late sends"
        )
        self.line(text, {"left": left, "problem": problem})
