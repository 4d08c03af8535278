"""Rule (f), second half: a committed offset goes back only where a kill or a change of role explains it.

Each group has a register per queue. A query may answer what any commit wrote that had begun, unless a later commit
had surely replaced it: one that was acknowledged before the query began, and that nothing has taken back.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.history.calls import Change, Commit, History, Mark, Outcome, Place, Query, Role
from tests.history.findings import Finding, Rule

# A queue that starts at 0 may answer 0 for a group that has committed nothing.
_NOTHING: Final = (None, 0)


@dataclass(frozen=True)
class Periods:
    """Seconds, with what a busy machine adds: how old a saved table and a slave's table of offsets may be."""

    save: float
    sync: float

    def of(self, change: Change) -> float:
        return self.save if change is Change.KILL else self.sync


def check_committed(history: History, periods: Periods) -> Iterator[Finding]:
    """One finding for each answer that nothing explains."""
    registers: dict[tuple[str, Place], tuple[list[Commit], list[Query]]] = {}
    for commit in history.commits:
        registers.setdefault((commit.group, commit.place), ([], []))[0].append(commit)
    for query in history.queries:
        if query.is_done:
            registers.setdefault((query.group, query.place), ([], []))[1].append(query)
    for (_, place), (commits, queries) in registers.items():
        marks = [mark for mark in history.marks if mark.broker == place.broker]
        yield from _check_register(commits, queries, marks, periods)


class _Sure:
    """Acknowledged commits that nothing so far can have taken back, in the order of their ends."""

    def __init__(self, marks: list[Mark], periods: Periods) -> None:
        self._periods = periods
        self._marks = sorted(marks, key=lambda mark: mark.since)
        # When the last window so far ends in which commits do not count.
        self._closed = -math.inf
        self._ends: list[float] = []
        # Of the commits up to each one, the one that began last.
        self._latest: list[Commit] = []
        self._next = 0

    def reach(self, now: float) -> None:
        """What was marked up to then takes back what is younger than a period."""
        while self._next < len(self._marks) and self._marks[self._next].since <= now:
            mark = self._marks[self._next]
            self._next += 1
            if mark.change is Change.CUT:
                continue
            first = bisect_left(self._ends, mark.since - self._periods.of(mark.change))
            del self._ends[first:], self._latest[first:]
            self._closed = max(self._closed, mark.until)

    def add(self, commit: Commit) -> None:
        self.reach(commit.end)
        if commit.begin <= self._closed:
            return
        before = self._latest[-1] if self._latest else commit
        self._ends.append(commit.end)
        self._latest.append(before if before.begin > commit.begin else commit)

    def before(self, query: Query) -> Commit | None:
        """The commit before the query that began last."""
        self.reach(query.end)
        limit = query.begin
        if query.role is Role.SLAVE:
            limit -= self._periods.sync
            if self._is_cut(query):
                return None
        at = bisect_left(self._ends, limit)
        return self._latest[at - 1] if at else None

    def _is_cut(self, query: Query) -> bool:
        """Whether a slave may lack more than a period's commits."""
        return any(
            mark.since <= query.end and query.begin <= mark.until + self._periods.sync
            for mark in self._marks
        )


def _check_register(
    commits: list[Commit], queries: list[Query], marks: list[Mark], periods: Periods
) -> Iterator[Finding]:
    written: dict[int, list[Commit]] = {}
    for commit in commits:
        written.setdefault(commit.offset, []).append(commit)
    # What a slave was told is overwritten by its master: it replaces nothing for sure.
    acknowledged = [one for one in commits if one.is_done and one.role is Role.MASTER]
    sure = _Sure(marks, periods)
    calls: list[Commit | Query] = [*acknowledged, *queries]
    for call in sorted(calls, key=lambda one: one.end):
        if isinstance(call, Commit):
            sure.add(call)
            continue
        last = sure.before(call)
        if not _is_explained(call, last, written):
            yield _finding(call, last)


def _is_explained(query: Query, last: Commit | None, written: dict[int, list[Commit]]) -> bool:
    if query.offset in _NOTHING and last is None:
        return True
    if query.offset is None:
        return False
    # The newest first: consumers that stand still commit the same offset again and again.
    return any(
        one.begin < query.end
        and (last is None or one.outcome is Outcome.UNKNOWN or one.end >= last.begin)
        for one in reversed(written.get(query.offset, ()))
    )


def _finding(query: Query, last: Commit | None) -> Finding:
    answer = "nothing" if query.offset is None else query.offset
    told = f"{query.role} {query.addr} answered {answer} at {query.end:.3f} s"
    if last is None:
        why = "which nobody had committed"
    else:
        why = (
            f"though {last.offset} was committed from {last.begin:.3f} to {last.end:.3f} s, "
            f"and no kill or change of role explains it"
        )
    return Finding(Rule.GROUPS, f"{query.group}, {query.place}", f"{told}, {why}")
