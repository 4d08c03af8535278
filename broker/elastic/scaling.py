"""Changes that an operator has asked for: what comes when, and what may be asked for.

More queues: they are announced for reading first, and the changes come when every online group that
reads in order has asked for messages in each of them, at the latest after `READY_SECONDS` (clients ask for
routes every 30 s, rebalance every 20 s, and Go locks every 20 s). Fewer: the changes come at once, and
what becomes of the queues at the end is in `retired_queues.py`. What is planned is not kept over a restart: the map
is, so the same request goes on from there.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import trio

from trimq.base.clock import Clock
from trimq.base.waits import Wakeup
from trimq.broker.elastic.model import Change, Move, PlanError, TopicMap, plan_scale
from trimq.broker.elastic.retired_queues import RetiredQueues
from trimq.store.errors import StoreError

log = logging.getLogger("trimq.broker")

READY_SECONDS: Final = 90.0
_LOOK_SECONDS: Final = 0.25
TAIL_SECONDS: Final = 2.0
"""How soon queues at the end leave the route, or come back."""


class Maps(Protocol):
    """What of ElasticMaps is needed here."""

    def state(self, topic: str) -> TopicMap | None: ...

    def topics(self) -> Sequence[str]: ...

    def change(self, topic: str, move: Move) -> Change: ...

    def check_moves(self, topic: str, moves: Iterable[Move]) -> None:
        """PlanError when these changes could not all be made."""


class Readers(Protocol):
    """Who reads an elastic topic."""

    def online(self, topic: str) -> Sequence[str]:
        """The groups that read it in order and have members."""

    def passed(self, group: str, topic: str) -> frozenset[int]: ...

    def last_read(self, group: str, topic: str, queue: int) -> int:
        """When a consumer of the group asked for messages last, in milliseconds since 1970; -1: never."""


@dataclass(slots=True)
class Scale:
    """What one request asked for and has not been done yet."""

    topic: str
    moves: deque[Move]
    before: int
    after: int
    since: float
    # The same as milliseconds since 1970.
    since_millis: int
    stage: str = ""
    # Readers have come to the new queues, or were waited for long enough.
    is_ready: bool = False


class Scaling:
    """At most one request at a time for a topic; `run` is a service."""

    def __init__(
        self, maps: Maps, readers: Readers, retired_queues: RetiredQueues, clock: Clock
    ) -> None:
        self._maps = maps
        self._readers = readers
        self._retired_queues = retired_queues
        self._clock = clock
        self._plans: dict[str, Scale] = {}
        self._asked = Wakeup()

    def scale(
        self, topic: str, queues: int, *, now: bool, ignore: Iterable[str], dry_run: bool
    ) -> list[Move]:
        """Plan so many queues; PlanError when that cannot be."""
        state = self._known(topic)
        moves = plan_scale(state, queues)
        if not now:
            self._check_passed(topic, state, frozenset(ignore))
        return self._begin(topic, state, moves, queues, dry_run)

    def move(self, topic: str, make: Callable[[TopicMap], Move], *, dry_run: bool) -> list[Move]:
        """Plan one change that `make` chooses; PlanError when that cannot be."""
        state = self._known(topic)
        chosen = make(state)
        after = max(chosen.targets.get(lp, queue) for lp, queue in enumerate(state.queues)) + 1
        return self._begin(topic, state, [chosen], after, dry_run)

    def cancel(self, topic: str) -> list[Move]:
        """Forget what has not happened yet; the queues that nothing came to leave the route."""
        self._known(topic)
        plan = self._plans.pop(topic, None)
        if plan is None:
            return []
        self._retired_queues.tend(topic)
        return list(plan.moves)

    def forget(self, topic: str) -> None:
        """The topic was deleted."""
        self._plans.pop(topic, None)

    def pending(self, topic: str) -> tuple[int, str | None]:
        """How many changes are to come, and what they wait for; or what becomes of queues at the end."""
        plan = self._plans.get(topic)
        return (
            (0, self._retired_queues.stage(topic))
            if plan is None
            else (len(plan.moves), plan.stage)
        )

    async def run(self) -> None:
        """Make planned changes when their time has come. Ends only by being cancelled."""
        tended = self._clock.current_time()
        while True:
            if not self._plans:
                await self._asked.wait(TAIL_SECONDS)
            is_busy = False
            for plan in list(self._plans.values()):
                # Cancelled, or the topic is deleted, while others had their turn.
                if self._plans.get(plan.topic) is plan:
                    is_busy |= self._step(plan)
                    await trio.lowlevel.checkpoint()
            if self._clock.current_time() - tended >= TAIL_SECONDS:
                tended = self._clock.current_time()
                for topic in self._maps.topics():
                    if topic not in self._plans:
                        self._retired_queues.tend(topic)
            if not is_busy:
                await trio.sleep(_LOOK_SECONDS)

    def _known(self, topic: str) -> TopicMap:
        state = self._maps.state(topic)
        if state is None:
            raise PlanError(f"{topic!r} is not an elastic topic: create it as one first")
        return state

    def _check_passed(self, topic: str, state: TopicMap, ignored: frozenset[str]) -> None:
        versions = {change.version for change in state.changes}
        for group in self._readers.online(topic):
            if group not in ignored and not versions <= self._readers.passed(group, topic):
                raise PlanError(
                    f"group {group!r} has not passed the last changes yet: wait (show says for what),"
                    f" or use --ignore {group}, or --now"
                )

    def _begin(
        self, topic: str, state: TopicMap, moves: list[Move], after: int, dry_run: bool
    ) -> list[Move]:
        plan = self._plans.get(topic)
        if plan is not None:
            raise PlanError(
                f"{topic!r} is still changing: {plan.stage}; wait, or cancel that first"
            )
        self._maps.check_moves(topic, moves)
        reads = self._retired_queues.reads(topic, after)
        if after > state.in_use:
            self._retired_queues.check(topic, after)
        if moves and not dry_run:
            now, millis = self._clock.current_time(), self._clock.steady_millis()
            plan = Scale(topic, deque(moves), state.in_use, after, now, millis)
            plan.stage = "the new queues are announced"
            if after > plan.before:
                # What fails here leaves no plan behind.
                self._retired_queues.tell(topic, after, reads)
            self._plans[topic] = plan
            self._asked.give()
        return moves

    def _step(self, plan: Scale) -> bool:
        """Make one change, if its time has come; whether more can follow at once.

        Only one: each writes to the log, and a plan may have a thousand.
        """
        if not plan.is_ready:
            if not self._is_ready(plan):
                return False
            plan.is_ready = True
            plan.stage = "the changes are being made"
        if self._make(plan) and plan.moves:
            return True
        del self._plans[plan.topic]
        self._retired_queues.tend(plan.topic)
        return False

    def _is_ready(self, plan: Scale) -> bool:
        """Whether each group that reads in order has asked in all new queues since they were announced."""
        waited = self._clock.current_time() - plan.since
        missing = None if waited >= READY_SECONDS else self._missing(plan)
        if missing is None:
            return True
        group, queue = missing
        plan.stage = (
            f"group {group} has not come to queue {queue} yet,"
            f" {READY_SECONDS - waited:.0f} s at most"
        )
        return False

    def _missing(self, plan: Scale) -> tuple[str, int] | None:
        """A group and a new queue that none of its consumers has come to."""
        for group in self._readers.online(plan.topic):
            for queue in range(plan.before, plan.after):
                if self._readers.last_read(group, plan.topic, queue) < plan.since_millis:
                    return group, queue
        return None

    def _make(self, plan: Scale) -> bool:
        """The next change; False: it could not be made, and the rest is given up."""
        try:
            self._maps.change(plan.topic, plan.moves[0])
        except (PlanError, StoreError) as error:
            log.warning(
                "elastic topic not changed, the rest is given up: topic=%s left=%d",
                plan.topic,
                len(plan.moves),
                exc_info=error,
            )
            return False
        plan.moves.popleft()
        return True
