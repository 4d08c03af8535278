"""What clients of a run asked for, when, and what became of it; `checking` reads it. Knows nothing of a broker.

Times are seconds of one monotonic clock, which all processes of a host share.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from sys import intern
from typing import Any, Final, NamedTuple


class Role(StrEnum):
    """What the asked broker was taken for."""

    MASTER = "master"
    SLAVE = "slave"


class Outcome(StrEnum):
    """UNKNOWN: no answer in time, or the connection was lost. It may happen at any time after its begin, or never."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Place(NamedTuple):
    """A queue of a broker name, whichever of its copies serves it."""

    broker: str
    topic: str
    queue: int

    def __str__(self) -> str:
        return f"{self.broker}/{self.topic}/{self.queue}"


class Entry(NamedTuple):
    """A message at its queue offset: whose attempt it is, and `digest_of` its body."""

    offset: int
    attempt: str
    digest: int


@dataclass(slots=True)
class Call:
    """`code`: that of the answer, 0 without one."""

    client: str
    addr: str
    role: Role
    begin: float
    end: float
    outcome: Outcome
    code: int
    place: Place

    @property
    def is_done(self) -> bool:
        return self.outcome is Outcome.DONE


@dataclass(slots=True)
class Send(Call):
    """Messages of one request, each an attempt of its own; `offset`: what the first was given, None unless DONE.

    `place` is where an answer says that they are; without one, where they were sent to.
    """

    attempts: tuple[str, ...]
    digests: tuple[int, ...]
    offset: int | None


@dataclass(slots=True)
class Pull(Call):
    """`offset`: from where; `entries`: what the answer held."""

    group: str
    offset: int
    entries: tuple[Entry, ...]


@dataclass(slots=True)
class Commit(Call):
    """A group has everything before `offset`."""

    group: str
    offset: int


@dataclass(slots=True)
class Query(Call):
    """`offset`: what the group has committed by that answer; None: nothing."""

    group: str
    offset: int | None


class Change(StrEnum):
    """What takes committed offsets back.

    KILL: of a master, which had not saved them. ROLE: to a new master, which had not synced them. CUT: a slave hears
    nothing of its master, or is away itself; that explains the slave's answers alone.
    """

    KILL = "kill"
    ROLE = "role"
    CUT = "cut"


@dataclass(slots=True)
class Mark:
    """Something was done to the brokers of a name, between these times.

    Of a change of role, `since` is when the new master last heard of the old one, and `until` when the last client
    had its answer from the old one.
    """

    change: Change
    broker: str
    since: float
    until: float


Noted = Send | Pull | Commit | Query | Mark


@dataclass
class History:
    """All that was noted, in the order of noting; a send stands where it began."""

    sends: list[Send] = field(default_factory=list)
    pulls: list[Pull] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def __len__(self) -> int:
        """How many calls it holds."""
        return len(self.sends) + len(self.pulls) + len(self.commits) + len(self.queries)


def digest_of(body: bytes) -> int:
    return int(blake2b(body, digest_size=7).hexdigest(), 16)


KINDS: Final[dict[str, type[Noted]]] = {
    "send": Send,
    "pull": Pull,
    "commit": Commit,
    "query": Query,
    "mark": Mark,
}


def _values_of(kind: type[Noted]) -> Callable[[Any], tuple[object, ...]]:
    return attrgetter(*(one.name for one in fields(kind)))


_VALUES: Final = {kind: (name, _values_of(kind)) for name, kind in KINDS.items()}
_OUTCOMES: Final = {one.value: one for one in Outcome}
_ROLES: Final = {one.value: one for one in Role}


class Journal:
    """A file to which any number of threads and processes append: a line of JSON each, in one write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, *noted: Noted) -> None:
        """OSError when the disk is full: a history that lacks something proves nothing."""
        lines = []
        for one in noted:
            name, values = _VALUES[type(one)]
            lines.append(json.dumps((name, *values(one)), separators=(",", ":")))
        data = ("\n".join(lines) + "\n").encode()
        if os.write(self._fd, data) != len(data):
            raise OSError(f"{self.path} took a part of a line")

    def close(self) -> None:
        os.close(self._fd)

    def read(self) -> History:
        return read_journal(self.path)


def read_journal(path: Path) -> History:
    """A send may be noted twice: as UNKNOWN when it begins, so that a killed client leaves it, and with its outcome."""
    with path.open("rb") as lines:
        return _collect(map(json.loads, lines))


def _collect(rows: Iterable[Sequence[Any]]) -> History:
    history = History()
    # One object for all that are equal: memory is what bounds a long run.
    places: dict[tuple[object, ...], Place] = {}
    begun: dict[str, int] = {}
    for name, *values in rows:
        if name == "mark":
            history.marks.append(Mark(Change(values[0]), *values[1:]))
            continue
        values[0], values[1] = intern(values[0]), intern(values[1])
        values[2], values[5] = _ROLES[values[2]], _OUTCOMES[values[5]]
        key = tuple(values[7])
        values[7] = places.get(key) or places.setdefault(key, Place(*key))
        if name == "send":
            values[8], values[9] = tuple(map(intern, values[8])), tuple(values[9])
            send = Send(*values)
            at = begun.setdefault(send.attempts[0], len(history.sends))
            history.sends[at : at + 1] = [send]
        elif name == "pull":
            values[10] = tuple([Entry(at, intern(it), digest) for at, it, digest in values[10]])
            history.pulls.append(Pull(*values))
        elif name == "commit":
            history.commits.append(Commit(*values))
        else:
            history.queries.append(Query(*values))
    return history


NEVER: Final = math.inf
