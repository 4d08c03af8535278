"""A store that was taken over, as the counters see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore


class MessagesPending(StoreError):
    """The store has messages that TriMQ would neither deliver nor keep."""


@dataclass(frozen=True, slots=True)
class Found:
    """How many there are; `at_most` if some could not be examined."""

    count: int
    at_most: bool = False

    def __str__(self) -> str:
        return f"up to {self.count}" if self.at_most else str(self.count)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of pending messages: its names in a sentence (one, several), and what counts them."""

    one: str
    several: str
    count: Callable[[MessageStore], Found]

    def said(self, found: Found) -> str:
        return f"{found} {self.one if found.count == 1 else self.several}"
