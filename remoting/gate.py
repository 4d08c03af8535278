"""How far the commit log is durable, and who waits for it to get further.

Offsets mean something within one term only: when the log is cut, or another broker has led it, the same offsets are
other messages. So whoever waits when a term ends has waited in vain, and what is heard of the old term later opens
nothing.
"""

from collections.abc import Callable

from trimq.base.waits import Wakeup


class Awaited:
    """A gate that replies pass, or after so many seconds with a code in place of success."""

    __slots__ = ("code", "gate", "seconds")

    def __init__(self, gate: "Gate", seconds: float, code: int) -> None:
        self.gate = gate
        self.seconds = seconds
        self.code = code


class Gate:
    """Durability up to an offset: flushed, or acknowledged by replicas, as the wiring decides.

    Replies wait here; the service that makes data durable calls `advance`, and may sleep in
    `demanded` until somebody waits.
    """

    __slots__ = ("_demand", "_watchers", "offset", "parked", "term", "wanted")

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        # Counts those that have ended.
        self.term = 0
        self.wanted = offset
        # Replies that this gate, or one beside it, has not let pass; whoever parks them counts.
        self.parked = 0
        self._watchers: dict[Callable[[], None], None] = {}
        self._demand = Wakeup()

    def advance(self, offset: int, term: int = -1) -> None:
        """Everything before this offset is durable, of this term; -1: of the one there is. Going back is ignored."""
        if offset <= self.offset or term not in (-1, self.term):
            return
        self.offset = offset
        for watcher in tuple(self._watchers):
            watcher()

    def end_term(self, offset: int) -> None:
        """A new term begins, in which everything before this offset is durable, be it less than before."""
        self.term += 1
        self.offset = self.wanted = offset
        for watcher in tuple(self._watchers):
            watcher()

    def watch(self, wanted: int, watcher: Callable[[], None]) -> None:
        """Call the watcher after every advance, and when the term ends, until it is unwatched; it wants this offset."""
        self._watchers[watcher] = None
        self.want(wanted)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._watchers.pop(watcher, None)

    async def demanded(self) -> None:
        """Return as soon as somebody waits for more than is durable."""
        while self.wanted <= self.offset:
            await self._demand.wait()

    def want(self, offset: int) -> None:
        """Somebody would like this to be durable."""
        if offset > self.wanted:
            self.wanted = offset
            self._demand.give()
