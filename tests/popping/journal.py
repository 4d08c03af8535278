"""What clients of a POP run asked for and were answered, in the order of the answers; `judging` reads it."""

from __future__ import annotations

import threading
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

    `batch` numbers the answers: what one of them holds is handed out together.
    """

    group: str
    key: str
    place: str
    offset: int
    at: int
    until: int
    batch: int


@dataclass(frozen=True)
class Acked:
    """An ack that was asked for at `at`, of what was handed out at `popped`.

    `counts`: answered, and so early that the message was still hidden.
    """

    group: str
    key: str
    popped: int
    at: int
    counts: bool


@dataclass(frozen=True)
class Changed:
    """Another time was asked for; `until` is the one that was answered. None: there was no answer in time."""

    group: str
    key: str
    popped: int
    until: int | None


@dataclass(frozen=True)
class Killed:
    """No answer came from this broker after `at`."""

    at: int


Event = Sent | Popped | Acked | Changed | Killed


@dataclass
class Journal:
    """Events of several threads, and the groups that they are about."""

    groups: dict[str, Reader]
    events: list[Event] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, *events: Event) -> None:
        with self._lock:
            self.events += events
