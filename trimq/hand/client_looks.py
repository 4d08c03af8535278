"""Looks from Python: each method is one operation of the hand (trimq/hand/looks), with typed values. Blocking."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import msgspec

from trimq.hand.durations import seconds
from trimq.hand.looks.answers import (
    HalfMessage,
    PendingTimer,
    Popped,
    Progress,
    Renewed,
    SeenMessage,
    Sent,
)

T = TypeVar("T")


class Calls(Protocol):
    """A way to a server with a hand. HandError when it says no."""

    def call(self, path: str, **words: Any) -> Any: ...


class Looks:
    """What is in the broker. A wait that is over raises HandError with what is there instead."""

    def __init__(self, hand: Calls) -> None:
        self._hand = hand

    def _ask(self, answer: type[T], path: str, **words: Any) -> T:
        return msgspec.convert(self._hand.call(path, **words), answer)

    def sent(self, topic: str, most: int = 1000) -> list[SeenMessage]:
        """The last `most` messages of a topic, in the order in which they were stored."""
        return self._ask(Sent, "looks/sent", topic=topic, most=most).messages

    def wait_for(
        self, topic: str, count: int = 1, timeout: float | str = 10.0
    ) -> list[SeenMessage]:
        """The messages of a topic, once there are at least `count`."""
        return self._ask(
            Sent, "looks/wait_for", topic=topic, count=count, timeout=seconds(timeout)
        ).messages

    def wait_until_consumed(
        self, group: str, topic: str | None = None, timeout: float | str = 10.0
    ) -> Progress:
        """Where the group is, once it has committed all that there is and acknowledged what it has popped."""
        return self._ask(
            Progress,
            "looks/wait_until_consumed",
            group=group,
            topic=topic,
            timeout=seconds(timeout),
        )

    def dead_letters(self, group: str) -> list[SeenMessage]:
        """What the group was given too often; the oldest first."""
        return self._ask(Sent, "looks/dead_letters", group=group).messages

    def in_flight(self, group: str) -> list[Popped]:
        """Popped and not acknowledged, by topic. What pulling consumers have is not known to a broker."""
        return self._ask(list[Popped], "looks/in_flight", group=group)

    def pending_timers(self) -> list[PendingTimer]:
        """Timer messages and those of delay levels that wait, the first one due first."""
        return self._ask(list[PendingTimer], "looks/pending_timers")

    def half_messages(self) -> list[HalfMessage]:
        """Transactions that are open, the oldest first."""
        return self._ask(list[HalfMessage], "looks/half_messages")

    def snapshot(self, name: str | None = None) -> str:
        """Keep the store as it is now; its name for `restore`. The broker starts anew, clients connect again."""
        return self._ask(Renewed, "store/snapshot", name=name).name

    def restore(self, name: str) -> None:
        """The store is as it was at that snapshot; the clock is not set back. Stop consumers before."""
        self._ask(Renewed, "store/restore", name=name)

    def reset(self) -> None:
        """A store as on the first day, and no fault's rule; snapshots stay. Stop consumers before."""
        self._ask(Renewed, "store/reset")
