"""How long parts are said to take side by side."""

from __future__ import annotations

from tests.run.forecast import forecast, text
from tests.run.part import Group, Part
from tests.run.table import GROUPS


def part(name: str, seconds: int, busy: bool = False) -> Part:
    return Part(name, ("tests/",), busy=busy, seconds=seconds)


def test_they_run_side_by_side() -> None:
    parts = [part("long", 100), part("short", 30), part("other", 60)]
    assert forecast(Group(parts, beside=3)).seconds == 100
    assert forecast(Group(parts, beside=2)).seconds == 100
    assert forecast(Group(parts, beside=1)).seconds == 190
    assert forecast(Group([])).seconds == 0


def test_busy_ones_wait_for_each_other() -> None:
    parts = [part("one", 50, busy=True), part("two", 50, busy=True), part("idle", 20)]
    assert forecast(Group(parts, beside=3, busy=2)).seconds == 50
    # It begins when the other two have ended.
    assert forecast(Group(parts, beside=3, busy=1)).seconds == 70


def test_what_was_not_measured_is_named() -> None:
    found = Group([part("known", 90), part("new", 0)])
    assert forecast(found).unknown == ("new",)
    assert text(found) == "\nabout 2 minutes on two cores, and what new take"
    assert text(Group([part("known", 121)])) == "\nabout 3 minutes on two cores"


def test_the_proof_takes_less_than_its_parts_together_and_more_than_the_longest() -> None:
    proof = GROUPS["proof"]()
    seconds = [part.seconds for part in proof.parts]
    assert max(seconds) < sum(seconds) / 3 < forecast(proof).seconds < sum(seconds) / 2
