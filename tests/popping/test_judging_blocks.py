"""The judge of POP runs knows whose block holds an ordered group's queue, and who may go on with it."""

from __future__ import annotations

import pytest

from tests.popping.journal import LITE, ORDERED, Event, Killed
from tests.popping.made import HIDDEN, ack, changed, kinds_found, nothing, pop, sent

FIRST = [pop(0, 0, attempt="a"), pop(1, 0, attempt="a")]
# All that is left of the two, by an attempt that nobody is in the way of.
REST = [
    pop(0, 5000, 9, attempt="z"),
    pop(1, 5000, 9, attempt="z"),
    ack(0, 5001, 5000),
    ack(1, 5002, 5000),
]
RIGHT: dict[str, tuple[str, list[Event]]] = {
    "the same attempt gets its messages again, and what follows": (
        ORDERED,
        [
            *sent(3),
            *FIRST,
            ack(1, 1),
            *(pop(offset, 5, 1, attempt="a") for offset in range(3)),
            *(ack(offset, 6, 5) for offset in range(3)),
        ],
    ),
    "the same attempt, behind what it acknowledged": (
        ORDERED,
        [*sent(2), *FIRST, ack(0, 1), pop(1, 5, 1, attempt="a"), ack(1, 6, 5)],
    ),
    "it also goes on after a kill": (
        ORDERED,
        [*sent(2), *FIRST, ack(0, 1), Killed(2), pop(1, 5, 1, attempt="a"), ack(1, 6, 5)],
    ),
    "the same attempt had it again when the ack came": (
        ORDERED,
        [*sent(1), FIRST[0], ack(0, 6), pop(0, 5, 1, attempt="a"), ack(0, 7, 5)],
    ),
    "another attempt, when all is acknowledged": (
        ORDERED,
        [*sent(3), *FIRST, ack(0, 1), ack(1, 2), pop(2, 3, 1, attempt="b"), ack(2, 4, 3)],
    ),
    "another attempt, when an ack may count": (
        ORDERED,
        [*sent(2), *FIRST, ack(0, 1), ack(1, 2, counts=False), *REST[1::2]],
    ),
    "another attempt, when all is visible": (ORDERED, [*sent(2), *FIRST, *REST]),
    "sooner, as asked for all": (
        ORDERED,
        [
            *sent(2),
            *FIRST,
            changed(10),
            changed(10, offset=1),
            pop(0, 100, 1, attempt="b"),
            pop(1, 100, 1, attempt="b"),
            ack(0, 101, 100),
            ack(1, 102, 100),
        ],
    ),
    "what a smaller answer leaves out is free": (
        ORDERED,
        [
            *sent(2),
            *FIRST,
            pop(0, 5, 1, attempt="a"),
            # Of the answer that was replaced.
            ack(1, 6, 0),
            ack(0, 7, 5),
            pop(1, 8, 2, attempt="b"),
            ack(1, 9, 8),
        ],
    ),
    "another attempt gets nothing": (ORDERED, [*sent(2), *FIRST, nothing("b", 5), *REST]),
    "nothing, when nothing is hidden": (
        ORDERED,
        [*sent(2), *FIRST, ack(0, 1), ack(1, 2), nothing("a", 5)],
    ),
    "nothing, though it may have been in time": (
        ORDERED,
        [*sent(2), *FIRST, nothing("a", HIDDEN), *REST],
    ),
    "nothing, when a kill took the block": (
        ORDERED,
        [*sent(2), *FIRST, Killed(1), nothing("a", 5), *REST],
    ),
    "another attempt, when a kill took the block": (
        ORDERED,
        [*sent(2), *FIRST, Killed(1), pop(0, 5, 1, attempt="b"), *REST],
    ),
    "a lite topic's suspended messages are back together": (
        LITE,
        [
            *sent(2),
            pop(0, 0),
            pop(1, 0),
            changed(500, suspend=True),
            pop(0, 500, 1),
            pop(1, 500, 1),
            ack(0, 501, 500),
            ack(1, 502, 500),
        ],
    ),
}
WRONG: dict[str, tuple[str, str, list[Event]]] = {
    "another attempt gets it before its time": (
        ORDERED,
        "early",
        [*sent(2), *FIRST, pop(0, 5, 1, attempt="b"), *REST],
    ),
    "no attempt at all gets it before its time": (
        ORDERED,
        "early",
        [*sent(2), *FIRST, pop(0, 5, 1), *REST],
    ),
    "one of two is visible, and the other one holds": (
        ORDERED,
        "held",
        [*sent(2), *FIRST, changed(10), pop(0, 100, 1, attempt="b"), *REST],
    ),
    "a changed time holds": (
        ORDERED,
        "held",
        [*sent(2), *FIRST, changed(4000, offset=1), pop(0, 2000, 1, attempt="b"), *REST],
    ),
    "a kill long after it does not open": (
        ORDERED,
        "early",
        [*sent(1), pop(0, 0), changed(9000), Killed(7000), pop(0, 7001, 1), ack(0, 7002, 7001)],
    ),
    "the same attempt passes its own": (
        ORDERED,
        "order",
        [*sent(2), *FIRST, pop(1, 5, 1, attempt="a"), *REST],
    ),
    "the same attempt gets what it acknowledged": (
        ORDERED,
        "again",
        [*sent(2), *FIRST, ack(0, 1), pop(0, 5, 1, attempt="a"), *REST],
    ),
    "the same attempt gets nothing": (
        ORDERED,
        "refused",
        [*sent(2), *FIRST, ack(0, 1), nothing("a", 5), *REST[1::2]],
    ),
    "an ack of an answer that was replaced counts for nothing": (
        ORDERED,
        "lost",
        [*sent(2), *FIRST, pop(0, 5, 1, attempt="a"), ack(1, 6, 0), ack(0, 7, 5)],
    ),
    "a lite topic's suspended messages hold together": (
        LITE,
        "held",
        [
            *sent(2),
            pop(0, 0),
            pop(1, 0),
            changed(4000, suspend=True),
            changed(10),
            pop(0, 2000, 1),
            pop(0, 5000, 9),
            pop(1, 5000, 9),
            ack(0, 5001, 5000),
            ack(1, 5002, 5000),
        ],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_where_a_block_is_heeded(name: str) -> None:
    kind, events = RIGHT[name]
    assert kinds_found(kind, *events) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_block_that_is_not_heeded_is_found_once(name: str) -> None:
    kind, wrong, events = WRONG[name]
    assert kinds_found(kind, *events) == [wrong]
