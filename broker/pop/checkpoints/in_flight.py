"""How many messages groups have popped and not acknowledged yet, since the start (PopInflightMessageCounter).

A figure, and nothing decides by it: an acknowledgement that comes twice counts twice, as there. What is staged counts
when it was written; a claim of the store tells when it was not.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Iterator
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.steps import Steps
from trimq.store.message_store import MessageStore
from trimq.store.messages.effects import Claim

_CLAIM: Final[Claim] = ("pop in flight", 0)
_Key = tuple[str, str]


class InFlight:
    def __init__(self, store: MessageStore, clock: Clock) -> None:
        # The store's own, which is emptied and never replaced.
        self._claims = store.claims
        self._started = clock.millis()
        # By group and topic.
        self._counts: dict[str, dict[str, int]] = {}
        self._staged: dict[_Key, int] = {}

    def popped(self, group: str, topic: str, count: int) -> None:
        """A checkpoint for so many messages is staged."""
        self._stage((group, topic), count)

    def done(self, group: str, topic: str, popped: int, count: int) -> None:
        """A record that says so is staged. `popped`: when, in ms since 1970; before the start it was not counted."""
        if popped >= self._started:
            self._stage((group, topic), -count)

    def _stage(self, key: _Key, change: int) -> None:
        if self._staged and _CLAIM not in self._claims:
            # Their write has failed.
            self._staged = {}
        self._staged[key] = self._staged.get(key, 0) + change
        self._claims.add(_CLAIM)

    def written(self) -> None:
        """The store's write listener."""
        if not self._staged:
            return
        staged, self._staged = self._staged, {}
        for key, change in staged.items():
            group, topic = key
            counts = self._counts.get(group)
            count = change if counts is None else counts.get(topic, 0) + change
            if count <= 0:
                self.forget(group, topic)
            elif counts is None:
                self._counts[group] = {topic: count}
            else:
                counts[topic] = count

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """Group, topic and how many; retry topics by themselves."""
        for group, counts in list(self._counts.items()):
            for topic, count in list(counts.items()):
                yield group, topic, count

    def forget_group(self, group: str) -> Steps[None]:
        """The group was deleted."""
        self._counts.pop(group, None)
        for key in [key for key in self._staged if key[0] == group]:
            del self._staged[key]
        yield

    def forget(self, group: str, topic: str) -> None:
        """The group or the topic is gone."""
        counts = self._counts.get(group)
        if counts is not None and counts.pop(topic, None) is not None and not counts:
            del self._counts[group]
