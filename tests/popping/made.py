"""Logs made by hand, for tests of the judge: a group g, messages m0, m1 .. at the offsets 0, 1 .. of the place q."""

from __future__ import annotations

from tests.popping.journal import Acked, Changed, Event, Journal, Popped, Reader, Refused, Sent
from tests.popping.judging import judge

HIDDEN = 1000


def pop(
    offset: int,
    at: int,
    batch: int = 0,
    group: str = "g",
    attempt: str = "",
    times: int | None = None,
) -> Popped:
    return Popped(group, f"m{offset}", "q", offset, at, at + HIDDEN, batch, attempt, times)


def ack(offset: int, at: int, popped: int = 0, counts: bool = True) -> Acked:
    return Acked("g", f"m{offset}", popped, at, counts)


def changed(
    until: int | None, renewed: int = 0, suspend: bool = False, offset: int = 0, popped: int = 0
) -> Changed:
    return Changed("g", f"m{offset}", popped, until, popped, renewed, suspend)


def nothing(attempt: str, at: int) -> Refused:
    return Refused("g", "q", attempt, at, at + 1)


def sent(count: int) -> list[Event]:
    return [Sent(f"m{offset}", "q") for offset in range(count)]


def kinds_found(kind: str, *events: Event) -> list[str]:
    journal = Journal({"g": Reader(kind)})
    journal.note(*events)
    return [finding.kind for finding in judge(journal, ["g"])]
