"""What of a group's failures is played again, alone, and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.run import report

# More failures than this in a group are not explained by two busy cores.
MOST: Final = 3
# What pytest ends with when all tests were played and some failed.
TESTS_FAILED: Final = 1


@dataclass(frozen=True)
class Second:
    """A test that failed beside others: what it said then, and whether it passed alone."""

    name: str
    part: str
    said: str
    passed: bool


def chosen(outcomes: Sequence[report.Outcome], parts: Collection[str]) -> dict[str, Sequence[str]]:
    """By part, the tests to play again: none if too many failed, or any where that is not done."""
    failed = [one for one in outcomes if one.code]
    names = {one.name: tuple(report.tests_of(one).failures) for one in failed}
    count = sum(map(len, names.values()))
    if not failed or count > MOST:
        return {}
    sound = all(one.code == TESTS_FAILED and names[one.name] for one in failed)
    return names if sound and names.keys() <= set(parts) else {}


def seconds(first: report.Outcome, alone: report.Outcome, names: Sequence[str]) -> list[Second]:
    """What became of each; one that was not played again did not pass."""
    before, after = report.tests_of(first), report.tests_of(alone)
    played = {name for _, name in after.times}
    return [
        Second(
            name,
            first.name,
            before.failures[name],
            alone.code in (0, TESTS_FAILED) and name in played and name not in after.failures,
        )
        for name in names
    ]


def passed(chosen: Mapping[str, Sequence[str]], seconds: Sequence[Second]) -> set[str]:
    """The parts whose failed tests all passed alone."""
    good = {one.name for one in seconds if one.passed}
    return {part for part, names in chosen.items() if good >= set(names)}


def write(seconds: Sequence[Second], file: Path) -> None:
    """The names of those that passed only then, one a line; an empty file: there is none."""
    names = sorted({one.name for one in seconds if one.passed})
    file.write_text("".join(f"{name}\n" for name in names))


def text(seconds: Sequence[Second]) -> str:
    """How many, which, and why they failed at first: it is to be looked at."""
    lines = ["", f"failed beside others and played again, alone: {len(seconds)}"]
    for one in seconds:
        lines.append(f"    {'passed' if one.passed else 'FAILED'}  {one.name} ({one.part})")
    return "\n".join(lines)
