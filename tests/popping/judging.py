"""The one judge of POP runs, whatever the broker: losses, early and doubled deliveries, broken orders.

It knows no more than clients do. Where an answer is missing, or came when a message was about to be visible again,
either outcome is right. Ordered and lite groups may see their last seconds before a kill once more, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.popping.journal import (
    LITE,
    PLAIN,
    Acked,
    Changed,
    Journal,
    Killed,
    Popped,
    Reader,
    Sent,
)

# Offsets and blocks of ordered and lite groups are written every 5 s: what a kill may take back. A broker may be told
# to write them more often.
FORGOTTEN_MILLIS = 5_500
# A pop's time is read before its queues are looked at: it may be older than what it found was allowed by.
LOOKING_MILLIS = 50


@dataclass(frozen=True)
class Finding:
    """`kind`: lost, early, again (it was acknowledged) or order."""

    kind: str
    text: str


@dataclass
class _Message:
    """What a group knows of one; `done`: when it was acknowledged, `open`: an ack that may not count."""

    popped: Popped | None = None
    until: int = 0
    done: int | None = None
    open: bool = False


@dataclass
class _Place:
    """A queue or lite topic as a group knows it: keys by offset, and an offset below which all is done."""

    keys: dict[int, str] = field(default_factory=dict)
    floor: int = 0
    # Behind the last one.
    end: int = 0
    batch: int = -1


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
            case Acked() | Changed():
                self._settled(self._groups[event.group].of(event.key), event)

    @staticmethod
    def _settled(message: _Message, event: Acked | Changed) -> None:
        if message.popped is None or message.popped.at != event.popped:
            # It has been handed out anew meanwhile: answered, and without effect.
            return
        if isinstance(event, Changed):
            message.until = event.until or 0
        elif event.counts:
            message.done = event.at
        else:
            message.open = True

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
            ):
                self._find("again", f"{name} acknowledged {key} at {message.done}, got it at {at}")
        elif (
            message.popped is not None
            and at < message.until - LOOKING_MILLIS
            and not self._is_block_forgotten(group, message.popped.at, at)
        ):
            self._find("early", f"{name} got {key} at {at}, {message.until - at} ms early")
        if group.kind != PLAIN:
            self._check_order(group, event)
        message.popped, message.until = event, event.until
        message.done, message.open = None, False

    def _check_order(self, group: _Group, event: Popped) -> None:
        """Nothing passes an earlier message that is out, or that has not come yet."""
        place = group.places.setdefault(event.place, _Place())
        place.keys[event.offset] = event.key
        place.floor = min(place.floor, event.offset)
        place.end = max(place.end, event.offset + 1)
        if place.batch != event.batch:
            place.batch = event.batch
            self._begin_anew(group, place, event.offset)
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
    def _is_behind_open(group: _Group, event: Popped) -> bool:
        """An ordered group goes on at its first message that is not done, with all that follow."""
        place = group.places.get(event.place, _Place())
        before = (place.keys.get(offset) for offset in range(place.floor, event.offset))
        return group.kind != PLAIN and any(
            key is not None and group.messages[key].done is None for key in before
        )

    @staticmethod
    def _begin_anew(group: _Group, place: _Place, first: int) -> None:
        """The group's offset is here: acks of what follows were of a batch that is replaced, and it comes again."""
        for offset in range(first, place.end):
            if offset not in place.keys:
                continue
            message = group.messages[place.keys[offset]]
            if message.done is not None or message.open:
                message.done, message.open, message.until = None, False, 0

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
