"""The judge of POP runs finds every kind of fault, and none in a run that is right."""

from __future__ import annotations

import pytest

from tests.popping.journal import LITE, ORDERED, PLAIN, Event, Journal, Killed, Reader
from tests.popping.judging import FORGOTTEN_MILLIS, judge
from tests.popping.made import HIDDEN, ack, changed, kinds_found, pop, sent

# Two messages, of which the second one is acknowledged.
OUT_OF_TURN = [*sent(2), pop(0, 0), pop(1, 0), ack(1, 1)]
RIGHT: dict[str, tuple[str, list[Event]]] = {
    "acknowledged": (PLAIN, [*sent(2), pop(0, 0), pop(1, 0), ack(0, 5), ack(1, 6)]),
    "again at its time": (PLAIN, [*sent(1), pop(0, 0), pop(0, HIDDEN, 1), ack(0, 1001, HIDDEN)]),
    "an ack that may not count": (PLAIN, [*sent(1), pop(0, 0), ack(0, 999, counts=False)]),
    "it did not count": (
        PLAIN,
        [*sent(1), pop(0, 0), ack(0, 999, counts=False), pop(0, HIDDEN, 1), ack(0, 1001, HIDDEN)],
    ),
    "sooner, as asked": (
        PLAIN,
        [*sent(1), pop(0, 0), changed(200), pop(0, 200, 1), ack(0, 201, 200)],
    ),
    "a change without an answer": (
        PLAIN,
        [*sent(1), pop(0, 0), changed(None), pop(0, 1, 1), ack(0, 2, 1)],
    ),
    "in order": (
        ORDERED,
        [*sent(3), pop(0, 0), pop(1, 0), ack(1, 1), ack(0, 2), pop(2, 3, 1), ack(2, 4, 3)],
    ),
    "in order, from the first that is not done": (
        ORDERED,
        [
            *OUT_OF_TURN,
            pop(0, HIDDEN, 1),
            pop(1, HIDDEN, 1),
            ack(0, 1001, HIDDEN),
            ack(1, 1002, HIDDEN),
        ],
    ),
    "in order, one by one from there": (
        ORDERED,
        [
            *OUT_OF_TURN,
            pop(0, HIDDEN, 1),
            ack(0, 1001, HIDDEN),
            pop(1, 1002, 2),
            ack(1, 1003, 1002),
        ],
    ),
    "in order, the last seconds once more": (
        ORDERED,
        [
            *sent(1),
            pop(0, 0),
            ack(0, 1),
            Killed(FORGOTTEN_MILLIS),
            pop(0, 6000, 1),
            ack(0, 6001, 6000),
        ],
    ),
    "a lite block is gone with the broker": (
        LITE,
        [
            *sent(2),
            pop(0, 0),
            Killed(900),
            pop(0, 901, 1),
            ack(0, 902, 901),
            pop(1, 903, 2),
            ack(1, 904, 903),
        ],
    ),
}
RIGHT["an ack of what was handed out before"] = (
    PLAIN,
    [*sent(1), pop(0, 0), pop(0, HIDDEN, 1), ack(0, 1001), pop(0, 2000, 2), ack(0, 2001, 2000)],
)
WRONG: dict[str, tuple[str, str, list[Event]]] = {
    "never came": (PLAIN, "lost", sent(1)),
    "did not come again": (PLAIN, "lost", [*sent(1), pop(0, 0)]),
    "early": (PLAIN, "early", [*sent(1), pop(0, 0), pop(0, 900, 1), ack(0, 1000, 900)]),
    "early after a kill": (
        PLAIN,
        "early",
        [*sent(1), pop(0, 0), Killed(1), pop(0, 900, 1), ack(0, 1000, 900)],
    ),
    "before the changed time": (
        PLAIN,
        "early",
        [*sent(1), pop(0, 0), changed(5000), pop(0, 4900, 1), ack(0, 5001, 4900)],
    ),
    "after its ack": (
        PLAIN,
        "again",
        [*sent(1), pop(0, 0), ack(0, 1), Killed(2), pop(0, 5000, 1), ack(0, 5001, 5000)],
    ),
    "after its ack, long before the kill": (
        ORDERED,
        "again",
        [*sent(1), pop(0, 0), ack(0, 1), Killed(9000), pop(0, 9001, 1), ack(0, 9002, 9001)],
    ),
    "again, and nothing before it is open": (
        ORDERED,
        "again",
        [*sent(2), pop(0, 0), pop(1, 0), ack(0, 1), ack(1, 2), pop(1, 3, 1), ack(1, 4, 3)],
    ),
    "a later one passes": (
        ORDERED,
        "order",
        [*sent(2), pop(0, 0), pop(1, 1, 1), ack(0, 2), ack(1, 3, 1)],
    ),
    "one is left out": (
        ORDERED,
        "order",
        [*sent(1), pop(1, 0), pop(0, HIDDEN, 1), ack(0, 1001, HIDDEN)],
    ),
    "it passes what came again": (
        ORDERED,
        "order",
        [
            *sent(2),
            pop(0, 0),
            ack(0, 1),
            Killed(2),
            pop(0, 3, 1),
            pop(1, 9000, 2),
            ack(0, 9001, 3),
            ack(1, 9002, 9000),
        ],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_a_run_that_is_right(name: str) -> None:
    kind, events = RIGHT[name]
    assert kinds_found(kind, *events) == []


@pytest.mark.parametrize("name", WRONG)
def test_each_fault_is_found_once(name: str) -> None:
    kind, wrong, events = WRONG[name]
    assert kinds_found(kind, *events) == [wrong]


def test_groups_are_judged_by_themselves() -> None:
    journal = Journal({"g": Reader(PLAIN), "h": Reader(PLAIN)})
    journal.note(*sent(1), pop(0, 0), ack(0, 1), pop(0, 2, group="h"))
    assert [finding.text[0] for finding in judge(journal, ["g", "h"])] == ["h"]
    assert judge(journal, ["g"]) == []
