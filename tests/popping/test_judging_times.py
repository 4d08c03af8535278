"""The judge of POP runs knows how often a message may say that it was consumed before, and which handles are good."""

from __future__ import annotations

import pytest

from tests.popping.journal import PLAIN, Event, Killed
from tests.popping.made import HIDDEN, ack, changed, kinds_found, pop, sent

FIRST = pop(0, 0, times=0)
LATER = 9000
# When its time is up it takes two seconds more.
BACK = HIDDEN + 2000


def again(times: int) -> list[Event]:
    """It comes once more, and is acknowledged."""
    return [pop(0, LATER, 1, times=times), ack(0, LATER + 1, LATER)]


RIGHT: dict[str, list[Event]] = {
    "consumed once": [*sent(1), FIRST, *again(1)],
    "suspended": [*sent(1), FIRST, changed(HIDDEN, 1, suspend=True), *again(0)],
    "suspended, and killed before it can be back": [
        *sent(1),
        FIRST,
        changed(HIDDEN, 1, suspend=True),
        Killed(BACK - 1),
        *again(0),
    ],
    "suspended, and handed out unseen before a kill": [
        *sent(1),
        FIRST,
        changed(HIDDEN, 1, suspend=True),
        Killed(BACK + 1),
        *again(1),
    ],
    "handed out unseen before two kills": [
        *sent(1),
        Killed(1),
        Killed(4001),
        *again(2),
    ],
    "suspended, then only put off": [
        *sent(1),
        FIRST,
        changed(HIDDEN, 1, suspend=True),
        changed(HIDDEN, 2, popped=1),
        *again(1),
    ],
    "nobody knows whether it is suspended": [
        *sent(1),
        FIRST,
        changed(None, suspend=True),
        *again(1),
    ],
    "it is": [*sent(1), FIRST, changed(None, suspend=True), *again(0)],
    "counted from the last time": [
        *sent(1),
        FIRST,
        pop(0, 4000, 5, times=1),
        changed(5000, 4001, suspend=True, popped=4000),
        *again(1),
    ],
    "acknowledged with the new handle": [*sent(1), FIRST, changed(HIDDEN, 7), ack(0, 8, 7)],
    "an old handle counts for nothing": [
        *sent(1),
        FIRST,
        changed(HIDDEN, 7),
        ack(0, 8, 0),
        *again(1),
    ],
}
WRONG: dict[str, tuple[str, list[Event]]] = {
    "suspended, and counted": (
        "times",
        [*sent(1), FIRST, changed(HIDDEN, 1, suspend=True), *again(1)],
    ),
    "suspended, and counted by a start": (
        "times",
        [*sent(1), FIRST, changed(HIDDEN, 1, suspend=True), Killed(500), *again(1)],
    ),
    "suspended, and a kill too late for another time": (
        "times",
        [*sent(1), FIRST, changed(HIDDEN, 1, suspend=True), Killed(LATER - 1), *again(1)],
    ),
    "not suspended, and not counted": ("times", [*sent(1), FIRST, *again(0)]),
    "put off, and not counted": ("times", [*sent(1), FIRST, changed(HIDDEN, 1), *again(0)]),
    "the suspension before does not stay": (
        "times",
        [
            *sent(1),
            FIRST,
            changed(HIDDEN, 1, suspend=True),
            changed(HIDDEN, 2, popped=1),
            *again(0),
        ],
    ),
    "counted twice": ("times", [*sent(1), FIRST, *again(2)]),
    "counted the first time": ("times", [*sent(1), *again(1)]),
    "again after an ack with the new handle": (
        "again",
        [*sent(1), FIRST, changed(HIDDEN, 7), ack(0, 8, 7), *again(1)],
    ),
    "one of a batch comes again": (
        "again",
        [
            *sent(3),
            *(pop(offset, 0, times=0) for offset in range(3)),
            *(ack(offset, 5) for offset in range(3)),
            pop(1, LATER, 1, times=1),
            ack(1, LATER + 1, LATER),
        ],
    ),
    "one of a batch is neither acknowledged nor back": (
        "lost",
        [*sent(2), pop(0, 0, times=0), pop(1, 0, times=0), ack(0, 5)],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_where_times_are_right(name: str) -> None:
    assert kinds_found(PLAIN, *RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_each_wrong_time_is_found_once(name: str) -> None:
    wrong, events = WRONG[name]
    assert kinds_found(PLAIN, *events) == [wrong]
