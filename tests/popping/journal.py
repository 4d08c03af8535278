"""What clients of a POP run asked for and were answered, in the order of the answers; `judging` reads it."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

# Kinds of groups, by what they are promised (docs/pop.md, docs/lite.md).
PLAIN, ORDERED, LITE = "plain", "ordered", "lite"


@dataclass(frozen=True)
class Reader:
    """A group: what it is promised, and the topic that it reads."""

    kind: str
    topic: str = "T"


@dataclass(frozen=True)
class Sent:
    """A send that was answered SUCCESS. `place`: the queue or lite topic within which there is an order."""

    key: str
    place: str
    topic: str = "T"


@dataclass(frozen=True)
class Popped:
    """A message in an answer: handed out at `at` by the broker's clock, hidden until `until`; milliseconds.

    `batch` numbers the answers: what one of them holds is handed out together. `attempt`: that of an ordered pop, empty
    for none. `times`: how often it was consumed before, as its record says; None: that is not looked at.
    """

    group: str
    key: str
    place: str
    offset: int
    at: int
    until: int
    batch: int
    attempt: str = ""
    times: int | None = None


@dataclass(frozen=True)
class Refused:
    """A pop of this attempt, asked for at `asked`, was answered at `at` that there is nothing in the place."""

    group: str
    place: str
    attempt: str
    asked: int
    at: int


@dataclass(frozen=True)
class Acked:
    """An ack of what was handed out at `popped`, asked for at `at`.

    `counts`: answered at `at`, and so early that the message was still hidden.
    """

    group: str
    key: str
    popped: int
    at: int
    counts: bool


@dataclass(frozen=True)
class Changed:
    """Another time was asked for at `at`; `until` is the one that was answered. None: there was no answer in time.

    `renewed`: the time of the pop that acks have to name now. `suspend`: coming again shall count as no attempt; for a
    lite topic, the time is that of all messages of the answer.
    """

    group: str
    key: str
    popped: int
    until: int | None
    at: int = 0
    renewed: int = 0
    suspend: bool = False


@dataclass(frozen=True)
class Killed:
    """No answer came from this broker after `at`."""

    at: int


Event = Sent | Popped | Refused | Acked | Changed | Killed


@dataclass
class Journal:
    """Events of several threads, and the groups that they are about. `did`: how often clients did what is rare."""

    groups: dict[str, Reader]
    events: list[Event] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, *events: Event) -> None:
        with self._lock:
            self.events += events

    def count(self, what: str) -> None:
        with self._lock:
            self.did[what] += 1
