"""The checker finds every kind of fault by its rule, and nothing in a history that is right."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.history.calls import (
    Change,
    Commit,
    Entry,
    History,
    Mark,
    Outcome,
    Place,
    Pull,
    Query,
    Role,
    Send,
)
from tests.history.checking import Copy, Report, check
from tests.history.committed import Periods
from tests.history.simulated import FAULTS, GROUPS, PERIODS, Simulation, World

Q = Place("a", "T", 0)
OTHER = Place("a", "T", 1)
DONE, REFUSED, UNKNOWN = Outcome.DONE, Outcome.REFUSED, Outcome.UNKNOWN


def send(
    attempts: str, begin: float, end: float, outcome: Outcome = DONE, offset: int | None = None
) -> Send:
    """Each letter is an attempt; acknowledged for `offset`."""
    asked = ("P", "m:1", Role.MASTER, begin, end, outcome, 0, Q)
    return Send(*asked, tuple(attempts), tuple(map(ord, attempts)), offset)


def pull(letters: str, first: int, at: float = 9, group: str = "g") -> Pull:
    asked = ("C", "m:1", Role.MASTER, at, at, DONE, 0, Q)
    return Pull(*asked, group, first, tuple(entries(letters, first)))


def commit(offset: int, begin: float, end: float, outcome: Outcome = DONE) -> Commit:
    return Commit("C", "m:1", Role.MASTER, begin, end, outcome, 0, Q, "g", offset)


def query(
    offset: int | None, begin: float, end: float | None = None, role: Role = Role.MASTER
) -> Query:
    addr = "m:1" if role is Role.MASTER else "s:1"
    end = begin if end is None else end
    return Query("C", addr, role, begin, end, DONE, 0, Q, "g", offset)


def entries(letters: str, first: int = 0) -> list[Entry]:
    """A blank is a gap."""
    return [Entry(at, it, ord(it)) for at, it in enumerate(letters, first) if it != " "]


def copy(letters: str, role: Role = Role.MASTER, first: int = 0, late: bool = False) -> Copy:
    return Copy(
        "a", role, "m:1" if role is Role.MASTER else "s:1", {Q: entries(letters, first)}, late
    )


def slave(letters: str, first: int = 0, late: bool = False) -> Copy:
    return copy(letters, Role.SLAVE, first, late)


def found(*what: Send | Pull | Commit | Query | Mark | Copy, drained: str = "") -> list[str]:
    """The rules of what is found; copies default to an empty master."""
    history = History(
        [one for one in what if isinstance(one, Send)],
        [one for one in what if isinstance(one, Pull)],
        [one for one in what if isinstance(one, Commit)],
        [one for one in what if isinstance(one, Query)],
        [one for one in what if isinstance(one, Mark)],
    )
    copies = [one for one in what if isinstance(one, Copy)]
    report = check(history, copies or [copy("")], Periods(save=5, sync=10), drained)
    return [str(finding.rule) for finding in report.findings]


X = send("x", 0, 1, DONE, 0)
Y = send("y", 0.5, 3, DONE, 1)


def killed(since: float, until: float) -> Mark:
    return Mark(Change.KILL, "a", since, until)


RIGHT: dict[str, list[Send | Pull | Commit | Query | Mark | Copy]] = {
    "nothing happened": [],
    "acknowledged": [X, Y, copy("xy")],
    "several at once": [send("xyz", 0, 1, DONE, 0), copy("xyz")],
    "a part of what was refused": [X, send("yz", 2, 3, REFUSED), copy("xz")],
    "unknown, and not there": [X, send("y", 2, 3, UNKNOWN), copy("x")],
    "unknown, and there long after its end": [
        send("y", 0, 1, UNKNOWN),
        send("x", 2, 3, DONE, 0),
        copy("xy"),
    ],
    "side by side in any order": [send("y", 0, 2, DONE, 0), send("x", 1, 1.5, DONE, 1), copy("yx")],
    "repeats": [X, copy("x"), pull("x", 0), pull("x", 0)],
    "a group that was not drained": [X, copy("x")],
    "a copy": [X, Y, copy("xy"), slave("xy")],
    "a copy without the beginning": [X, Y, copy("xy"), slave("y", 1, late=True)],
    "a copy that began behind this queue": [X, copy("x"), slave("", late=True)],
    "committed": [commit(1, 0, 1), query(1, 2), commit(2, 3, 4), query(2, 5)],
    "while it is committed": [commit(1, 0, 1), commit(2, 3, 5), query(2, 4), query(1, 4, 4.5)],
    "side by side, either one stays": [commit(1, 0, 2), commit(2, 1, 3), query(1, 4), query(1, 5)],
    "unknown, and late": [commit(1, 0, 1, UNKNOWN), commit(2, 2, 3), query(1, 4), query(2, 5)],
    "back to before, as committed": [commit(5, 0, 1), commit(2, 2, 3), query(2, 4)],
    "nothing as yet": [query(None, 0), query(0, 1), commit(1, 2, 3), query(1, 4)],
    "back at a kill": [commit(1, 0, 1), commit(2, 6, 7), killed(8, 9), query(1, 9.5)],
    "back during a kill": [commit(1, 0, 1), commit(2, 8, 8.5), killed(8, 9), query(1, 9.5)],
    "forgotten at a kill": [commit(1, 6, 7), killed(8, 9), query(None, 10), query(0, 10)],
    "back at a change of role": [
        commit(1, 0, 1),
        commit(2, 6, 7),
        Mark(Change.ROLE, "a", 15, 20),
        query(1, 21),
    ],
    "the slave lags": [commit(1, 0, 1), commit(2, 6, 7), query(1, 16.9, role=Role.SLAVE)],
    "the slave was cut off": [
        commit(1, 0, 1),
        commit(2, 6, 7),
        Mark(Change.CUT, "a", 5, 50),
        query(1, 55, role=Role.SLAVE),
        query(2, 56),
    ],
}
WRONG: dict[str, tuple[str, list[Send | Pull | Commit | Query | Mark | Copy]]] = {
    "lost": ("a", [X, Y, copy("x")]),
    "at another offset": ("aac", [X, send("y", 2, 3, DONE, 1), copy("yx")]),
    "another one is there": ("a", [X, send("y", 0, 3, UNKNOWN), copy("y")]),
    "one of several lost": ("a", [send("xyz", 0, 1, DONE, 0), copy("xy")]),
    "one offset for two": ("a", [X, send("y", 0, 3, DONE, 0), copy("x")]),
    "never sent": ("b", [X, copy("xy")]),
    "there twice": ("b", [X, copy("xx")]),
    "unknown, and there twice": ("b", [send("x", 0, 1, UNKNOWN), copy("xx")]),
    "in another queue": (
        "b",
        [send("x", 0, 1, REFUSED), Copy("a", Role.MASTER, "m:1", {OTHER: entries("x")})],
    ),
    "with another body": (
        "b",
        [replace(send("x", 0, 1, UNKNOWN), digests=(7,)), copy("x")],
    ),
    "acknowledged with another body": ("a", [replace(X, digests=(7,)), copy("x")]),
    "the later one first": (
        "c",
        [send("y", 2, 3, DONE, 0), send("x", 0, 1, DONE, 1), copy("yx")],
    ),
    "an unknown one before what had ended": (
        "c",
        [send("y", 2, 3, UNKNOWN), send("x", 0, 1, DONE, 1), copy("yx")],
    ),
    "a refused one behind what began later": (
        "c",
        [send("x", 0, 1, REFUSED), send("y", 2, 3, DONE, 0), copy("yx")],
    ),
    "seen and gone": ("d", [X, send("y", 0, 3, UNKNOWN), copy("x"), pull("xy", 0)]),
    "seen and replaced": (
        "d",
        [X, send("y", 0, 3, UNKNOWN), send("z", 0, 3), copy("xz"), pull("xy", 0), pull("xz", 0)],
    ),
    "seen where it is not": ("d", [X, Y, copy("xy"), pull("y", 0)]),
    "told once for all who saw it": ("d", [X, copy("x"), pull("y", 1), pull("y", 1, group="h")]),
    "a gap": ("e", [X, send("y", 0, 3, UNKNOWN), copy("x y")]),
    "no beginning": ("e", [send("y", 0, 3, DONE, 1), copy(" y")]),
    "a copy lacks the end": ("e", [X, Y, copy("xy"), slave("x")]),
    "a copy has more": ("e", [X, copy("x"), slave("xy")]),
    "a copy has another one": ("e", [X, copy("x"), slave("y")]),
    "a copy lacks the beginning": ("ee", [X, Y, copy("xy"), slave("y", 1)]),
    "a copy without the beginning lacks the end": (
        "e",
        [X, Y, send("z", 2, 3, DONE, 2), copy("xyz"), slave("y", 1, late=True)],
    ),
    "a gap in a copy without the beginning": (
        "ee",
        [
            *RIGHT["acknowledged"][:2],
            send("zv", 4, 5, DONE, 2),
            copy("xyzv"),
            slave("y v", 1, late=True),
        ],
    ),
    "went back": ("f", [commit(1, 0, 1), commit(2, 2, 3), query(1, 4)]),
    "forgotten": ("f", [commit(1, 0, 1), query(None, 2)]),
    "nobody committed it": ("f", [commit(1, 0, 1), query(2, 2)]),
    "committed after the answer": ("f", [query(1, 0, 1), commit(1, 2, 3)]),
    "the kill came later": ("f", [commit(1, 0, 1), commit(2, 6, 7), query(1, 7.5), killed(8, 9)]),
    "long before the kill": ("f", [commit(1, 0, 1), commit(2, 2, 2.9), killed(8, 9), query(1, 10)]),
    "after the kill": ("f", [commit(1, 0, 1), killed(2, 3), commit(2, 4, 5), query(1, 6)]),
    "a kill of another broker": (
        "f",
        [commit(1, 0, 1), commit(2, 6, 7), Mark(Change.KILL, "b", 8, 9), query(1, 10)],
    ),
    "the slave is too old": (
        "f",
        [commit(1, 0, 1), commit(2, 2, 3), query(1, 20, role=Role.SLAVE)],
    ),
    "a cut slave takes nothing from its master": (
        "f",
        [commit(1, 0, 1), commit(2, 6, 7), Mark(Change.CUT, "a", 5, 50), query(1, 51)],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_a_history_that_is_right(name: str) -> None:
    assert found(*RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_each_fault_is_found_by_its_rule(name: str) -> None:
    rules, what = WRONG[name]
    assert found(*what) == list(rules)


def test_a_drained_group_has_every_acknowledged_message() -> None:
    sends = [X, Y, send("z", 4, 5, UNKNOWN)]
    assert found(*sends, copy("xyz"), pull("xy", 0), drained="g") == []
    assert found(*sends, copy("xyz"), pull("x", 0), drained="g") == ["f"]
    assert found(*sends, copy("xyz"), pull("xy", 0, group="h"), drained="g") == ["f"]


def test_a_report_says_where_and_why() -> None:
    history = History([X, Y], [pull("x", 0), pull("x", 0)])
    report = check(history, [copy("x")], PERIODS, "g")
    lost = "y was acknowledged there at 3.000 s, and nothing lies there"
    assert str(report.findings[0]) == f"(a) a/T/0 at 1: {lost}"
    missed = "1 acknowledged messages never came, the first of them y at 1"
    assert str(report.findings[1]) == f"(f) g, a/T/0: {missed}"
    assert str(report).startswith("2 findings; 2 done sends, 2 pulled messages")
    assert "1 again to g" in str(report)


seeds = st.integers(0, (1 << 32) - 1)
# Seconds.
lengths = st.integers(2, 20)


def checked(world: World) -> Report:
    return check(world.history, world.copies(), PERIODS, GROUPS)


@given(seeds, lengths)
def test_nothing_is_found_in_random_histories_that_are_right(seed: int, last: int) -> None:
    report = checked(Simulation(random.Random(seed), last).run())
    assert not report.findings, report


@pytest.mark.parametrize("name", FAULTS)
@given(seed=seeds, last=lengths)
def test_a_single_fault_is_found(name: str, seed: int, last: int) -> None:
    chance = random.Random(seed)
    world = Simulation(chance, last).run()
    assume(FAULTS[name].plant(world, chance))
    report = checked(world)
    rules = [str(finding.rule) for finding in report.findings]
    assert FAULTS[name].rules[0] in rules, report
    assert set(rules) <= set(FAULTS[name].rules), report


def large(sends: int) -> World:
    """Sends of four producers, read by a group in pulls of 8, with a commit each and a query now and then; 50 kills."""
    world = World()
    history = world.history
    for number in range(sends):
        place = Place("a", "T", number % 8)
        queue = world.queues.setdefault(place, [])
        begin = number / 1000
        attempt = f"P{number % 4}-{number}"
        asked = ("P", "m:1", Role.MASTER, begin, begin + 0.003, DONE, 0, place)
        history.sends.append(Send(*asked, (attempt,), (number,), len(queue)))
        queue.append(Entry(len(queue), attempt, number))
        if number % (sends // 50) == 0:
            history.marks.append(killed(begin, begin + 0.1))
    for place, queue in world.queues.items():
        for first in range(0, len(queue), 8):
            at = first / 100
            asked = ("C", "m:1", Role.MASTER, at, at + 0.001, DONE, 0, place)
            history.pulls.append(Pull(*asked, "G", first, tuple(queue[first : first + 8])))
            history.commits.append(Commit(*asked, "G", first))
            if first % 80 == 0:
                asked = ("C", "m:1", Role.MASTER, at + 0.002, at + 0.003, DONE, 0, place)
                history.queries.append(Query(*asked, "G", first))
    world.slave = {place: list(queue) for place, queue in world.queues.items()}
    return world


def test_a_million_calls_take_less_than_a_minute() -> None:
    """A twentieth of that, in a twentieth of the time."""
    world = large(40_000)
    assert len(world.history) > 50_000
    begin = time.process_time()
    report = check(world.history, world.copies(), PERIODS, ["G"])
    assert not report.findings, report
    assert time.process_time() - begin < 3


def test_the_checker_knows_no_broker() -> None:
    names = ("calls", "findings", "checking", "committed", "logs", "simulated")
    imports = ", ".join(f"tests.history.{name}" for name in names)
    code = f"import sys, {imports}; print(*(it for it in sys.modules if it.startswith('trimq')))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == ""


def test_outcomes_without_an_end_are_never_over() -> None:
    first = replace(send("y", 0, math.inf, UNKNOWN))
    assert found(first, send("x", 2, 3, DONE, 0), copy("xy")) == []
