"""Topics that go: their queues and what was made of them; their records stay until their file expires."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from trimq.store.appending.dispatch import Dispatch
from trimq.store.queues.files.removal import Removal
from trimq.store.queues.queues import Queues

# How often what somebody sends into a topic while it is deleted is removed beside the loop.
_ROUNDS: Final = 3


class QueueDeletion:
    """Deletes a topic's queues. On the loop, but for what it says is for a worker thread."""

    def __init__(self, queues: Queues, dispatch: Dispatch) -> None:
        self._queues = queues
        self._dispatch = dispatch
        self._listeners: list[Callable[[str], object]] = []

    def add_listener(self, listener: Callable[[str], object]) -> None:
        """Called with each topic that is deleted."""
        self._listeners.append(listener)

    def at_once(self, topic: str) -> bool:
        """Remove the topic's queues, blocking on the disk. False without any.

        StoreError: nothing of it can be read any more; it may be deleted again.
        """
        removal = self.take_out(topic)
        if removal is not None:
            self.settle(topic, removal)
        return removal is not None

    def take_out(self, topic: str) -> Removal | None:
        """The same, but that the folders are removed by what is returned: run it in a worker thread, and settle it."""
        self._begin(topic)
        return self._queues.take_out(topic)

    def settle(self, topic: str, removal: Removal) -> None:
        """It has run. StoreError as with `at_once`."""
        self._queues.settle_removal(topic, removal)

    def in_steps(self, topic: str) -> Generator[Callable[[], object], None, bool]:
        """The same for a topic that may have many queues: what to do in a worker thread before the next step. In the
        last step it has no queue.
        """
        self._begin(topic)
        had_queues = False
        for some in self._queues.take_out_most(topic):
            had_queues = True
            yield some.run
            self._queues.settle_removal(topic, some)
        for _ in range(_ROUNDS):
            removal = self.take_out(topic)
            if removal is None:
                return had_queues
            had_queues = True
            yield removal.run
            self._queues.settle_removal(topic, removal)
        # Somebody sends into it all the time.
        return self.at_once(topic) or had_queues

    def _begin(self, topic: str) -> None:
        for listener in self._listeners:
            listener(topic)
        self._dispatch.drop(topic)
