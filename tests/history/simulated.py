"""Random histories of brokers that do all they promise, in a time of their own; and single faults for them."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from tests.history import calls
from tests.history.checking import Copy
from tests.history.committed import Periods

PLACES: Final = (calls.Place("a", "T", 0), calls.Place("a", "T", 1))
GROUPS: Final = ("G", "H")
MASTER, SLAVE = "10.0.0.1:10911", "10.0.0.2:10911"
PERIODS: Final = Periods(save=3, sync=4)
_OUTCOMES: Final = (calls.Outcome.DONE,) * 6 + (calls.Outcome.REFUSED, calls.Outcome.UNKNOWN)
Register = tuple[str, calls.Place]


@dataclass
class World:
    """A history, and what lies in the queues of both copies."""

    history: calls.History = field(default_factory=calls.History)
    queues: dict[calls.Place, list[calls.Entry]] = field(
        default_factory=lambda: {it: [] for it in PLACES}
    )
    slave: dict[calls.Place, list[calls.Entry]] = field(default_factory=dict)
    late: bool = False
    # By then all calls are over.
    end: float = 0

    def copies(self) -> list[Copy]:
        return [
            Copy("a", calls.Role.MASTER, MASTER, self.queues),
            Copy("a", calls.Role.SLAVE, SLAVE, self.slave, self.late),
        ]

    def both(self) -> list[dict[calls.Place, list[calls.Entry]]]:
        return [self.queues, self.slave]


class Simulation:
    """Each call has its effect at one moment between its begin and its end; what is unknown, then, later or never."""

    def __init__(self, chance: random.Random, last: float) -> None:
        """`last`: when nothing new begins, in seconds from 0."""
        self.chance = chance
        self.last = last
        self.world = World()
        self._due: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = itertools.count()
        # All that each register has held, with the time from when.
        self._held: dict[Register, list[tuple[float, int | None]]] = {}
        self._positions: dict[Register, int] = {}

    def run(self) -> World:
        for number in range(self.chance.randint(1, 3)):
            self._send(f"P{number}", self.chance.uniform(0, 3))
        for group in GROUPS:
            for place in PLACES:
                self._consume((group, place), self.chance.uniform(0, 5))
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            change = self.chance.choice((self._kill, self._change_role, self._cut))
            self._at(self.chance.uniform(0, self.last), change)
        while self._due:
            at, _, act = heapq.heappop(self._due)
            act(at)
        self.world.end = self.last + 20
        for group in GROUPS:
            for place in PLACES:
                self._drain((group, place))
        self._copy()
        return self.world

    def _at(self, time: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._due, (time, next(self._numbers), act))

    def _some(self) -> float:
        """Seconds; never so little that a client does not get on."""
        return self.chance.choice((0.01, 0.1, 0.5, 1.0)) * (0.1 + self.chance.random())

    def _send(self, client: str, begin: float) -> None:
        if begin > self.last:
            return
        number = next(self._numbers)
        attempts = tuple(f"{client}-{number}-{at}" for at in range(self.chance.choice((1, 1, 3))))
        outcome = self.chance.choice(_OUTCOMES)
        acts = begin + self._some()
        end = acts + self._some()
        asked = (client, MASTER, calls.Role.MASTER, begin, end, outcome, 0)
        digests = tuple(calls.digest_of(attempt.encode()) for attempt in attempts)
        send = calls.Send(*asked, self.chance.choice(PLACES), attempts, digests, None)
        self.world.history.sends.append(send)
        if outcome is calls.Outcome.UNKNOWN and self.chance.random() < 0.5:
            acts = min(begin + self.chance.uniform(0, 10), self.last)
        if outcome is calls.Outcome.DONE or self.chance.random() < 0.5:
            self._at(acts, lambda at: self._store(send))
        self._at(end, lambda at: self._send(client, at + self._some()))

    def _store(self, send: calls.Send) -> None:
        queue = self.world.queues[send.place]
        if send.is_done:
            send.offset = len(queue)
        for attempt, digest in zip(send.attempts, send.digests, strict=True):
            queue.append(calls.Entry(len(queue), attempt, digest))

    def _consume(self, register: Register, begin: float) -> None:
        if begin > self.last:
            return
        acts = begin + self._some()
        end = acts + self._some()
        steps = (self._pull, self._pull, self._commit, self._query, self._begin)
        step = self.chance.choice(steps)
        self._at(acts, lambda at: step(register, begin, at, end))
        self._at(end, lambda at: self._consume(register, at + self._some()))

    def _pull(self, register: Register, begin: float, at: float, end: float) -> None:
        group, place = register
        offset = self._positions.get(register, 0)
        entries = tuple(self.world.queues[place][offset : offset + self.chance.randint(1, 5)])
        asked = (f"{group}{place}", MASTER, calls.Role.MASTER, begin, end, calls.Outcome.DONE, 0)
        self.world.history.pulls.append(calls.Pull(*asked, place, group, offset, entries))
        self._positions[register] = offset + len(entries)

    def _commit(self, register: Register, begin: float, at: float, end: float) -> None:
        group, place = register
        offset = self._positions.get(register, 0)
        outcome = self.chance.choice(_OUTCOMES)
        asked = (f"{group}{place}", MASTER, calls.Role.MASTER, begin, end, outcome, 0)
        self.world.history.commits.append(calls.Commit(*asked, place, group, offset))
        if outcome is calls.Outcome.UNKNOWN:
            at += self.chance.choice((0, 3))
        if outcome is calls.Outcome.DONE:
            self._hold(register, at, offset)
        elif self.chance.random() < 0.5:
            self._at(at, lambda late: self._hold(register, late, offset))

    def _hold(self, register: Register, at: float, offset: int | None) -> None:
        self._held.setdefault(register, []).append((at, offset))

    def _value(self, register: Register, at: float) -> int | None:
        """What it held then, as of what is known by now."""
        held = [offset for since, offset in self._held.get(register, ()) if since <= at]
        return held[-1] if held else None

    def _query(self, register: Register, begin: float, at: float, end: float) -> None:
        role = self.chance.choice((calls.Role.MASTER, calls.Role.MASTER, calls.Role.SLAVE))
        known = self._synced(at) if role is calls.Role.SLAVE else at
        self._answer(register, (begin, end), role, self._value(register, known))

    def _answer(
        self, register: Register, times: tuple[float, float], role: calls.Role, offset: int | None
    ) -> int | None:
        group, place = register
        addr = SLAVE if role is calls.Role.SLAVE else MASTER
        asked = (f"{group}{place}", addr, role, *times, calls.Outcome.DONE, 0)
        self.world.history.queries.append(calls.Query(*asked, place, group, offset))
        return offset

    def _begin(self, register: Register, begin: float, at: float, end: float) -> None:
        offset = self._answer(register, (begin, end), calls.Role.MASTER, self._value(register, at))
        self._positions[register] = offset or 0

    def _kill(self, at: float) -> None:
        since, until = at - self._some(), at + self._some()
        self.world.history.marks.append(calls.Mark(calls.Change.KILL, "a", since, until))
        self._take_back(at, at - self.chance.uniform(0, PERIODS.save))

    def _change_role(self, at: float) -> None:
        """The old master may have been alone for seconds."""
        since, until = at - self.chance.choice((0, 5)), at + self._some()
        self.world.history.marks.append(calls.Mark(calls.Change.ROLE, "a", since, until))
        self._take_back(at, since - self.chance.uniform(0, PERIODS.sync))

    def _take_back(self, at: float, known: float) -> None:
        for register in self._held:
            self._hold(register, at, self._value(register, known))

    def _cut(self, at: float) -> None:
        self.world.history.marks.append(
            calls.Mark(calls.Change.CUT, "a", at, at + self.chance.uniform(0, 9))
        )

    def _synced(self, at: float) -> float:
        """What time the slave's offsets are of."""
        cuts = [
            mark.since
            for mark in self.world.history.marks
            if mark.change is calls.Change.CUT and mark.since <= at <= mark.until
        ]
        return min([at, *cuts]) - self.chance.uniform(0, PERIODS.sync)

    def _drain(self, register: Register) -> None:
        at = self.world.end
        self._begin(register, at, at, at)
        while self._positions[register] < len(self.world.queues[register[1]]):
            at += 1
            self._pull(register, at, at, at)

    def _copy(self) -> None:
        world = self.world
        world.late = self.chance.random() < 0.3
        for place, entries in world.queues.items():
            begin = self.chance.randint(0, len(entries)) if world.late else 0
            if entries[begin:] or not world.late:
                world.slave[place] = entries[begin:]


@dataclass(frozen=True)
class Fault:
    """What breaks a world; `plant` says whether there was something to break. `rules` may be found, the first must."""

    plant: Callable[[World, random.Random], bool]
    rules: str


def _acknowledged(world: World, chance: random.Random, least: int = 0) -> calls.Send | None:
    """One that lies behind that many messages."""
    sends = [one for one in world.history.sends if one.is_done and (one.offset or 0) >= least]
    return chance.choice(sends) if sends else None


def _renumber(entries: list[calls.Entry]) -> None:
    entries[:] = [entry._replace(offset=at) for at, entry in enumerate(entries)]


def lose_the_end(world: World, chance: random.Random) -> bool:
    """From an acknowledged message on, on all copies: as after a change of role."""
    send = _acknowledged(world, chance)
    if send is None or send.offset is None:
        return False
    for queues in world.both():
        kept = [one for one in queues.get(send.place, []) if one.offset < send.offset]
        queues[send.place] = kept
    return True


def give_an_offset_twice(world: World, chance: random.Random) -> bool:
    """Two sends are answered with the place of one."""
    send = _acknowledged(world, chance)
    if send is None:
        return False
    digest = calls.digest_of(b"second")
    second = replace(send, client="P9", attempts=("P9-1",), digests=(digest,))
    world.history.sends.append(second)
    return True


def swap(world: World, chance: random.Random) -> bool:
    """An acknowledged message and the one before it, on all copies."""
    send = _acknowledged(world, chance, 1)
    if send is None or send.offset is None or world.late:
        return False
    for queues in world.both():
        entries = queues[send.place]
        at = send.offset
        entries[at - 1], entries[at] = entries[at], entries[at - 1]
        _renumber(entries)
    return True


def invent(world: World, chance: random.Random) -> bool:
    place = chance.choice(PLACES)
    entry = calls.Entry(len(world.queues[place]), "X-1", calls.digest_of(b"X-1"))
    for queues in world.both():
        queues.setdefault(place, []).append(entry)
    return True


def store_twice(world: World, chance: random.Random) -> bool:
    """An attempt once more at the end, as by a retry within the broker."""
    place = chance.choice(PLACES)
    if not world.queues[place]:
        return False
    entry = chance.choice(world.queues[place])._replace(offset=len(world.queues[place]))
    for queues in world.both():
        queues.setdefault(place, []).append(entry)
    return True


def change_a_body(world: World, chance: random.Random) -> bool:
    """Of a message that nobody acknowledged, on all copies."""
    done = {attempt for one in world.history.sends if one.is_done for attempt in one.attempts}
    entries = [(it, one) for it in PLACES for one in world.queues[it] if one.attempt not in done]
    if not entries:
        return False
    place, entry = chance.choice(entries)
    for queues in world.both():
        queues[place] = [
            one._replace(digest=7) if one == entry else one for one in queues.get(place, [])
        ]
    return True


def turn_round(world: World, chance: random.Random) -> bool:
    """A send that lies behind another one had ended when that began."""
    send = _acknowledged(world, chance, 1)
    if send is None:
        return False
    first = world.queues[send.place][0].attempt
    before = next(one for one in world.history.sends if first in one.attempts)
    if before is send:
        return False
    send.begin, send.end = before.begin - 2, before.begin - 1
    return True


def show_another(world: World, chance: random.Random) -> bool:
    """A consumer was given what is not there in the end."""
    pulls = [at for at, pull in enumerate(world.history.pulls) if pull.entries]
    if not pulls:
        return False
    at = chance.choice(pulls)
    pull = world.history.pulls[at]
    first = pull.entries[0]._replace(attempt="P0-gone")
    world.history.pulls[at] = replace(pull, entries=(first, *pull.entries[1:]))
    return True


def change_the_copy(world: World, chance: random.Random) -> bool:
    places = [place for place, entries in world.slave.items() if entries]
    if not places:
        return False
    entries = world.slave[chance.choice(places)]
    at = chance.randrange(len(entries))
    entries[at] = entries[at]._replace(digest=7)
    return True


def shorten_the_copy(world: World, chance: random.Random) -> bool:
    places = [place for place, entries in world.slave.items() if len(entries) > 1]
    if not places:
        return False
    world.slave[chance.choice(places)].pop()
    return True


def leave_a_gap(world: World, chance: random.Random) -> bool:
    """Two offsets are used up by one message, on all copies; nobody had seen what follows."""
    place = chance.choice(PLACES)
    entries = world.queues[place]
    sends = {attempt: send for send in world.history.sends for attempt in send.attempts}
    if not entries or sends[entries[-1].attempt].is_done:
        return False
    last = entries[-1]._replace(offset=len(entries))
    for queues in world.both():
        if queues.get(place):
            queues[place] = [*queues[place][:-1], last]
    return len(world.slave.get(place, [])) != 1


def skip(world: World, chance: random.Random) -> bool:
    """A group is never given an acknowledged message."""
    send, group = _acknowledged(world, chance), chance.choice(GROUPS)
    if send is None:
        return False
    for at, pull in enumerate(world.history.pulls):
        if pull.group == group:
            left = tuple(one for one in pull.entries if one.attempt not in send.attempts)
            world.history.pulls[at] = replace(pull, entries=left)
    return True


def go_back(world: World, chance: random.Random) -> bool:
    """A commit from long ago is there again, without a kill or a change of role."""
    group, place = chance.choice(GROUPS), chance.choice(PLACES)
    begin = world.end + 1000
    for offset in (1000, 1001):
        asked = ("last", MASTER, calls.Role.MASTER, begin, begin + 1, calls.Outcome.DONE, 0, place)
        world.history.commits.append(calls.Commit(*asked, group, offset))
        begin += 2
    asked = ("last", MASTER, calls.Role.MASTER, begin, begin + 1, calls.Outcome.DONE, 0, place)
    # One that was replaced, none, and one that was never there.
    world.history.queries.append(calls.Query(*asked, group, chance.choice((1000, None, 999))))
    return True


FAULTS: Final = {
    "the end is lost": Fault(lose_the_end, "ad"),
    "an offset is given twice": Fault(give_an_offset_twice, "af"),
    "two have changed places": Fault(swap, "acd"),
    "nobody sent it": Fault(invent, "b"),
    "an attempt is there twice": Fault(store_twice, "b"),
    "another body": Fault(change_a_body, "bd"),
    "the later one comes first": Fault(turn_round, "c"),
    "a consumer saw another one": Fault(show_another, "df"),
    "a copy has another body": Fault(change_the_copy, "e"),
    "a copy is shorter": Fault(shorten_the_copy, "e"),
    "a gap": Fault(leave_a_gap, "ed"),
    "a group lacks one": Fault(skip, "f"),
    "an offset goes back": Fault(go_back, "f"),
}
