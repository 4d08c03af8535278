"""The one judge of POP runs, whatever the broker: losses, early and doubled deliveries, broken orders.

It knows no more than clients do. Where an answer is missing, or came when a message was about to be visible again,
either outcome is right. Ordered and lite groups may see their last seconds before a kill once more, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.popping.journal import (
    LITE,
    PLAIN,
    Acked,
    Changed,
    Journal,
    Killed,
    Popped,
    Reader,
    Refused,
    Sent,
)

# Offsets and blocks of ordered and lite groups are written every 5 s: what a kill may take back. A broker may be told
# to write them more often.
FORGOTTEN_MILLIS = 5_500
# A pop's time is read before its queues are looked at: it may be older than what it found was allowed by.
LOOKING_MILLIS = 50
# What nobody acknowledged comes again so long after its time, at the soonest.
GRACE_MILLIS: Final = 2_000
# A broker that was killed may have done what was asked for so long before.
_ON_ITS_WAY: Final = 1_000
_VOID: Final = -1


@dataclass(frozen=True)
class Finding:
    """`kind`: lost, early, again (it was acknowledged), times (how often it says that it was consumed before), order,
    held (another attempt had the queue) or refused (this attempt had it).
    """

    kind: str
    text: str


@dataclass
class _Message:
    """What a group knows of one; `done`: when it was acknowledged, `open`: an ack that may not count.

    `handed`: the time of the pop that acks have to name; `known`: when its time was set. `raises`: by how much coming
    again may raise its count.
    """

    popped: Popped | None = None
    handed: int = 0
    until: int = 0
    known: int = 0
    raises: frozenset[int] = frozenset({1})
    done: int | None = None
    open: bool = False


@dataclass
class _Place:
    """A queue or lite topic as a group knows it: keys by offset, and an offset below which all is done.

    `block`: the keys of the last answer, `batch` and `attempt`: which one that was.
    """

    keys: dict[int, str] = field(default_factory=dict)
    floor: int = 0
    # Behind the last one.
    end: int = 0
    batch: int = -1
    attempt: str = ""
    block: list[str] = field(default_factory=list)


@dataclass
class _Group:
    kind: str
    topic: str
    messages: dict[str, _Message] = field(default_factory=dict)
    places: dict[str, _Place] = field(default_factory=dict)

    def of(self, key: str) -> _Message:
        return self.messages.setdefault(key, _Message())


class Judge:
    """Events one by one; `findings` so far."""

    def __init__(self, groups: Mapping[str, Reader], forgotten: int = FORGOTTEN_MILLIS) -> None:
        self._reach = forgotten
        self._groups = {name: _Group(one.kind, one.topic) for name, one in groups.items()}
        self._sent: list[Sent] = []
        self._kills: list[int] = []
        self.findings: list[Finding] = []

    def take(self, event: object) -> None:
        match event:
            case Sent():
                self._sent.append(event)
            case Killed():
                self._kills.append(event.at)
            case Popped():
                self._popped(self._groups[event.group], event)
            case Refused():
                self._refused(self._groups[event.group], event)
            case Acked() | Changed():
                self._settled(self._groups[event.group], event)

    @staticmethod
    def _settled(group: _Group, event: Acked | Changed) -> None:
        message = group.of(event.key)
        if message.popped is None or message.handed != event.popped:
            # It has been handed out anew meanwhile: answered, and without effect.
            return
        if isinstance(event, Acked):
            if event.counts:
                message.done = event.at
            else:
                message.open = True
            return
        keys = group.places[message.popped.place].block if group.kind == LITE else []
        if not event.suspend or event.key not in keys:
            keys = [event.key]
        for one in (group.messages[key] for key in keys):
            one.until, one.known = event.until or 0, event.at
        raised = frozenset({0 if event.suspend else 1})
        if event.until is None:
            message.raises |= raised
        else:
            message.raises = raised
            message.handed = event.renewed or message.handed

    def end(self, groups: Iterable[str]) -> None:
        """Nothing more comes for these groups: whatever was sent has come, and was acknowledged or came again."""
        for name in groups:
            group = self._groups[name]
            for sent in [sent for sent in self._sent if sent.topic == group.topic]:
                message = group.messages.get(sent.key)
                if message is None or message.popped is None:
                    self._find("lost", f"{name} never got {sent.key} of {sent.place}")
                elif message.done is None and not message.open:
                    when = f"{name} got {sent.key} at {message.popped.at}"
                    self._find("lost", f"{when}, did not acknowledge it, and never saw it again")

    def _popped(self, group: _Group, event: Popped) -> None:
        message = group.of(event.key)
        name, key, at = event.group, event.key, event.at
        if message.done is not None:
            if not (
                self._forgotten(group, message.done, at, self._reach)
                or self._is_behind_open(group, event)
                or self._may_be_before(group, message.done, at)
            ):
                self._find("again", f"{name} acknowledged {key} at {message.done}, got it at {at}")
        elif group.kind == PLAIN:
            if self._is_hidden(group, message, at):
                self._find("early", f"{name} got {key} at {at}, {message.until - at} ms early")
            self._check_times(message, event)
        if group.kind != PLAIN:
            self._check_order(group, event)
        message.popped, message.handed = event, at
        message.until, message.known = event.until, at
        message.raises = _Message.raises
        message.done, message.open = None, False

    def _is_hidden(self, group: _Group, message: _Message, at: int) -> bool:
        """Whether it certainly was at that time."""
        return (
            message.popped is not None
            and message.done is None
            and not message.open
            and at < message.until - LOOKING_MILLIS
            and not self._is_block_forgotten(group, message.known, at)
        )

    def _check_times(self, message: _Message, event: Popped) -> None:
        """Each time that it came again counts, also those whose answers a kill took."""
        before, known, raises, since = message.popped, 0, frozenset({0}), 0
        if event.times is None or (before is not None and before.times is None):
            return
        if before is not None:
            known, raises, since = before.times or 0, message.raises, message.until + GRACE_MILLIS
        # Such an answer hid it, too.
        until = event.at - (event.until - event.at) - GRACE_MILLIS + _ON_ITS_WAY
        unseen = sum(since <= kill <= until for kill in self._kills)
        if not min(raises) <= event.times - known <= max(raises) + unseen:
            what = f"{event.group} got {event.key} at {event.at} as consumed {event.times} times"
            self._find("times", f"{what}, after {known} and {sorted(raises)} for coming again")

    def _refused(self, group: _Group, event: Refused) -> None:
        """The attempt whose messages these are gets them, as long as they block the queue for others."""
        place = group.places.get(event.place, _Place())
        if not event.attempt or place.attempt != event.attempt:
            return
        for key in place.block:
            message = group.messages[key]
            assert message.popped is not None
            if message.popped.at < event.asked and self._is_hidden(group, message, event.at):
                what = f"{event.group} asked for {event.place} as {event.attempt} at {event.asked}"
                self._find("refused", f"{what}, got nothing until {event.at}, and {key} is its own")
                return

    def _check_order(self, group: _Group, event: Popped) -> None:
        """Nothing comes while another attempt has messages of the place, or passes one that is out, or that has not
        come yet.
        """
        place = group.places.setdefault(event.place, _Place())
        place.keys[event.offset] = event.key
        place.floor = min(place.floor, event.offset)
        place.end = max(place.end, event.offset + 1)
        found, held = len(self.findings), ""
        if place.batch != event.batch:
            held = self._who_holds(group, place, event)
            self._begin_anew(group, place, event)
        place.block.append(event.key)
        self._check_passed(group, place, event)
        if held and len(self.findings) == found:
            kind = "early" if held == event.key else "held"
            what = f"{event.group} got {event.key} of {event.place} at {event.at}"
            self._find(kind, f"{what} as {event.attempt or 'nobody'}, and {held} is hidden still")

    def _who_holds(self, group: _Group, place: _Place, event: Popped) -> str:
        """The key of a message that blocks the place for this attempt, its own if it does; empty: none does."""
        if event.attempt and event.attempt == place.attempt:
            return ""
        keys = [event.key] * (event.key in place.block) + place.block
        hidden = (key for key in keys if self._is_hidden(group, group.messages[key], event.at))
        return next(hidden, "")

    def _check_passed(self, group: _Group, place: _Place, event: Popped) -> None:
        passed = False
        # Offsets of a place begin at 0 and have no gaps.
        for offset in range(place.floor, event.offset):
            key = place.keys.get(offset)
            if key is None:
                self._order(event, f"and nobody has got offset {offset}")
                return
            before = group.messages[key]
            if before.done is not None or before.open:
                place.floor += not passed
                continue
            passed = True
            assert before.popped is not None
            is_one_answer = before.popped.batch == event.batch
            if not is_one_answer and not self._is_block_forgotten(
                group, before.popped.at, event.at
            ):
                self._order(event, f"before {key} of offset {offset} was acknowledged")
                return

    @staticmethod
    def _may_be_before(group: _Group, done: int, at: int) -> bool:
        """An attempt got it again before the ack came, which was good for nothing then; its answer was slower."""
        return group.kind != PLAIN and at <= done

    @staticmethod
    def _is_behind_open(group: _Group, event: Popped) -> bool:
        """An ordered group goes on at its first message that is not done, with all that follow."""
        place = group.places.get(event.place, _Place())
        before = (place.keys.get(offset) for offset in range(place.floor, event.offset))
        return group.kind != PLAIN and any(
            key is not None and group.messages[key].done is None for key in before
        )

    @staticmethod
    def _begin_anew(group: _Group, place: _Place, event: Popped) -> None:
        """The group's offset is here: acks of what follows were of a batch that is replaced, and it comes again. Its
        handles are good for nothing, and what is not in the new batch blocks nothing any more.
        """
        place.batch, place.attempt, place.block = event.batch, event.attempt, []
        for offset in range(event.offset, place.end):
            if offset in place.keys and place.keys[offset] != event.key:
                message = group.messages[place.keys[offset]]
                message.done, message.open, message.until = None, False, 0
                message.handed = _VOID

    def _order(self, event: Popped, why: str) -> None:
        where = f"{event.place}, offset {event.offset}"
        self._find("order", f"{event.group} got {event.key} of {where} at {event.at}, {why}")

    def _is_block_forgotten(self, group: _Group, known: int, now: int) -> bool:
        """A lite group's blocks are in memory alone."""
        reach = now if group.kind == LITE else self._reach
        return self._forgotten(group, known, now, reach)

    def _forgotten(self, group: _Group, known: int, now: int, reach: int) -> bool:
        """Whether a kill between these times may have taken back what an ordered group knew."""
        if group.kind == PLAIN:
            return False
        return any(known <= kill <= now and kill - known <= reach for kill in self._kills)

    def _find(self, kind: str, text: str) -> None:
        self.findings.append(Finding(kind, text))


def judge(
    journal: Journal, drained: Iterable[str], forgotten: int = FORGOTTEN_MILLIS
) -> list[Finding]:
    """What is wrong with a run at whose end these groups had everything."""
    judging = Judge(journal.groups, forgotten)
    for event in journal.events:
        judging.take(event)
    judging.end(drained)
    return judging.findings
