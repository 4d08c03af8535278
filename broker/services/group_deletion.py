"""Deleting a group: its settings, its offsets if asked to or if it reads lite topics, and what others have of it.

Its %RETRY% and %DLQ% topics stay.
"""

from collections.abc import Sequence
from typing import Protocol

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.stats.traffic import Traffic
from trimq.broker.steps import Steps


class Holder(Protocol):
    """Has something of a group beside its offsets."""

    def forget_group(self, group: str) -> Steps[None] | None:
        """None: that is done. Otherwise there may be much of it."""


class GroupDeletion:
    def __init__(
        self,
        groups: SubscriptionGroups,
        offsets: ConsumerOffsets,
        traffic: Traffic,
        holders: Sequence[Holder],
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._traffic = traffic
        self._holders = holders

    def delete(self, group: str, with_offsets: bool) -> Steps[None]:
        """What a holder raises, and then it can be repeated."""
        found = self._groups.get(group)
        is_lite = found is not None and "lite.bind.topic" in found.attributes
        # First what can fail, as a record of elastic topics.
        for holder in self._holders:
            steps = holder.forget_group(group)
            if steps is not None:
                yield from steps
        self._groups.delete(group)
        yield from self._traffic.forget_group(group)
        if with_offsets or is_lite:
            yield from self._offsets.forget_group(group)
