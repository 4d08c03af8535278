"""The one checker of what replicated brokers promise: a journal of calls against what lies in the queues at the end.

It knows no more than clients do, and asks nothing of anybody: (a) to (f) are functions of calls and contents.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.history.calls import Entry, History, Outcome, Place, Pull, Role, Send
from tests.history.committed import Periods, check_committed
from tests.history.findings import Finding, Rule

Found = Mapping[Place, Mapping[int, Entry]]


@dataclass(frozen=True)
class Copy:
    """What one process of a broker name holds at the end, in the order of reading.

    `begins_late`: it may lack the beginning of queues, as a slave does that began with its master's last file.
    """

    broker: str
    role: Role
    addr: str
    queues: Mapping[Place, Sequence[Entry]]
    begins_late: bool = False


@dataclass(frozen=True)
class Report:
    """`repeats`: messages that a group was given once more, which is allowed; `counts`: how much was looked at."""

    findings: list[Finding]
    repeats: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        counted = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        again = ", ".join(f"{count} again to {group}" for group, count in self.repeats.items())
        shown = [f"  {finding}" for finding in self.findings[:10]]
        return "\n".join(
            [f"{len(self.findings)} findings; {counted}{again and '; '}{again}", *shown]
        )


def check(
    history: History, copies: Sequence[Copy], periods: Periods, drained: Iterable[str] = ()
) -> Report:
    """All rules. `drained`: groups that have read to the end of all queues; the others may lack messages."""
    found = {
        place: {entry.offset: entry for entry in entries}
        for copy in copies
        if copy.role is Role.MASTER
        for place, entries in copy.queues.items()
    }
    findings = [
        *check_acknowledged(history.sends, found),
        *check_origin(history.sends, copies),
        *check_order(history.sends, found),
        *check_seen(history.pulls, found),
        *check_copies(copies),
        *check_groups(history, drained),
        *check_committed(history, periods),
    ]
    counts = Counter(f"{send.outcome} sends" for send in history.sends)
    counts["pulled messages"] = sum(len(pull.entries) for pull in history.pulls)
    counts["commits"] = len(history.commits)
    counts["queries"] = len(history.queries)
    counts["messages at the end"] = sum(map(len, found.values()))
    return Report(findings, repeats(history.pulls), counts)


def check_acknowledged(sends: Iterable[Send], found: Found) -> Iterator[Finding]:
    """(a) Every message that was answered SEND_OK lies at its queue offset."""
    for send in sends:
        if send.offset is None or not send.is_done:
            continue
        lies = found.get(send.place, {})
        for at, attempt in enumerate(send.attempts, send.offset):
            entry = lies.get(at)
            if entry == (at, attempt, send.digests[at - send.offset]):
                continue
            there = _named(entry) if entry is None or entry.attempt != attempt else "another body"
            yield Finding(
                Rule.ACKNOWLEDGED,
                f"{send.place} at {at}",
                f"{attempt} was acknowledged there at {send.end:.3f} s, and {there} lies there",
            )


def check_origin(sends: Iterable[Send], copies: Iterable[Copy]) -> Iterator[Finding]:
    """(b) Masters hold nothing but attempts as they were sent, each at most once."""
    sent = {
        attempt: (send, digest)
        for send in sends
        for attempt, digest in zip(send.attempts, send.digests, strict=True)
    }
    first: dict[str, tuple[Place, int]] = {}
    for place, entry in _entries_of_masters(copies):
        offset, attempt, digest = entry
        known = sent.get(attempt)
        before = first.setdefault(attempt, (place, offset))
        if known is None:
            why = f"{attempt} lies there, and nobody sent it"
        elif before != (place, offset):
            why = f"{attempt} lies there and at {before[1]} of {before[0]}, and was sent once"
        elif known[0].is_done or (known[0].place, known[1]) == (place, digest):
            # What was acknowledged for another place is a matter of (a).
            continue
        elif known[0].place != place:
            why = f"{attempt} lies there, and was sent to {known[0].place}"
        else:
            why = f"{attempt} lies there with another body than it was sent with"
        yield Finding(Rule.ORIGIN, f"{place} at {offset}", why)


def check_order(sends: Iterable[Send], found: Found) -> Iterator[Finding]:
    """(c) In each queue, a send that ended before another began comes first.

    What was refused had ended too; what is unknown may have come at any time after it began.
    """
    sent = {attempt: send for send in sends for attempt in send.attempts}
    for place, lies in found.items():
        latest: Send | None = None
        known: set[str] = set()
        for offset in sorted(lies):
            attempt = lies[offset].attempt
            send = sent.get(attempt)
            if send is None or attempt in known or send.place != place:
                continue
            known.add(attempt)
            end = math.inf if send.outcome is Outcome.UNKNOWN else send.end
            if latest is not None and end < latest.begin:
                yield Finding(
                    Rule.ORDER,
                    f"{place} at {offset}",
                    f"{attempt}, which ended at {end:.3f} s, lies behind {latest.attempts[0]}, "
                    f"which began at {latest.begin:.3f} s",
                )
            if latest is None or send.begin > latest.begin:
                latest = send


def check_seen(pulls: Iterable[Pull], found: Found) -> Iterator[Finding]:
    """(d) What any consumer was given at a queue offset lies there at the end."""
    told: set[tuple[Place, Entry]] = set()
    for pull in pulls:
        lies = found.get(pull.place, {})
        for seen in pull.entries:
            entry = lies.get(seen.offset)
            if entry == seen or (pull.place, seen) in told:
                continue
            told.add((pull.place, seen))
            is_it = entry is not None and entry.attempt == seen.attempt
            yield Finding(
                Rule.SEEN,
                f"{pull.place} at {seen.offset}",
                f"{pull.group} was given {seen.attempt} by {pull.addr} at {pull.end:.3f} s, "
                f"and {'another body' if is_it else _named(entry)} lies there",
            )


def check_copies(copies: Sequence[Copy]) -> Iterator[Finding]:
    """(e) Offsets have no gaps, and each copy holds what the master of its broker name holds."""
    masters = {copy.broker: copy for copy in copies if copy.role is Role.MASTER}
    for copy in copies:
        yield from _check_dense(copy)
        master = masters.get(copy.broker, copy)
        if master is copy:
            continue
        for place in sorted({*master.queues, *copy.queues}):
            why = _difference(master.queues.get(place, ()), copy.queues.get(place, ()), copy)
            if why:
                where = f"{place} of {copy.addr}"
                yield Finding(Rule.COPIES, where, f"{why} ({master.addr} is the master)")


def _check_dense(copy: Copy) -> Iterator[Finding]:
    for place, entries in copy.queues.items():
        expected = entries[0].offset if copy.begins_late and entries else 0
        for entry in entries:
            if entry.offset != expected:
                yield Finding(
                    Rule.COPIES,
                    f"{place} of {copy.addr}",
                    f"{entry.attempt} lies at {entry.offset} where {expected} comes next",
                )
                break
            expected += 1


def _difference(master: Sequence[Entry], copy: Sequence[Entry], known: Copy) -> str:
    """How a copy's queue differs from its master's; "" if it does not."""
    begin = 0
    if known.begins_late:
        if not copy:
            return ""
        begin = next((at for at, one in enumerate(master) if one.offset >= copy[0].offset), 0)
    for ours, theirs in zip(master[begin:], copy, strict=False):
        if ours != theirs:
            body = " with another body" if ours[:2] == theirs[:2] else ""
            return (
                f"{_named(theirs)} lies at {theirs.offset}{body} instead of "
                f"{_named(ours)} at {ours.offset}"
            )
    if len(master) - begin != len(copy):
        return f"it ends after {len(copy)} messages, the master after {len(master) - begin}"
    return ""


def check_groups(history: History, drained: Iterable[str]) -> Iterator[Finding]:
    """(f), first half: a drained group was given every acknowledged message."""
    got: dict[str, set[str]] = {group: set() for group in drained}
    for pull in history.pulls:
        if pull.group in got:
            got[pull.group].update([entry.attempt for entry in pull.entries])
    for group, attempts in got.items():
        missed: dict[Place, list[str]] = {}
        for send in history.sends:
            if send.is_done and not attempts.issuperset(send.attempts):
                missed.setdefault(send.place, []).extend(
                    f"{attempt} at {at}"
                    for at, attempt in enumerate(send.attempts, send.offset or 0)
                    if attempt not in attempts
                )
        for place, them in missed.items():
            why = f"{len(them)} acknowledged messages never came, the first of them {them[0]}"
            yield Finding(Rule.GROUPS, f"{group}, {place}", why)


def repeats(pulls: Iterable[Pull]) -> dict[str, int]:
    """How many messages each group was given once more."""
    given: Counter[str] = Counter()
    different: dict[str, set[str]] = {}
    for pull in pulls:
        given[pull.group] += len(pull.entries)
        different.setdefault(pull.group, set()).update([entry.attempt for entry in pull.entries])
    return {group: count - len(different[group]) for group, count in given.items()}


def _entries_of_masters(copies: Iterable[Copy]) -> Iterator[tuple[Place, Entry]]:
    for copy in copies:
        if copy.role is Role.MASTER:
            for place, entries in copy.queues.items():
                for entry in entries:
                    yield place, entry


def _named(entry: Entry | None) -> str:
    return "nothing" if entry is None else entry.attempt
