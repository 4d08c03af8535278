"""Who has a say in what consumers commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol


class CommitGuard(Protocol):
    """Has a say in the offsets of some topics."""

    def may_commit(
        self, client: str, group: str, topic: str, queue_id: int, offset: int
    ) -> bool: ...

    def committed(self, group: str, topic: str) -> None:
        """An offset was committed."""

    def moving(
        self, group: str, topic: str, offsets: Mapping[int, int], *, told: bool = False
    ) -> None:
        """An operator is about to move the group to these offsets of queues. StoreError: not now.

        `told`: its consumers will hear of it.
        """

    def has_to_tell(self, group: str, topic: str, queues: Iterable[int]) -> bool:
        """Whether the group has consumers that go on with what they have until they hear of a move."""

    def taking(self, group: str, topic: str, queue_id: int) -> None:
        """A consumer is about to hear of the reset of a queue. StoreError: not now."""
