"""Pulls of elastic topics: how far they may read, and how long they are held."""

from collections.abc import Mapping
from typing import Final

from trimq.broker.consume.outcomes import Pull
from trimq.broker.elastic.commits import ElasticCommits
from trimq.broker.elastic.gate_waits import LAST_PAUSE_SECONDS, Gates
from trimq.broker.elastic.gated_groups import GatedGroups

# Before every offset.
_NOTHING: Final = -1


class ElasticPulls:
    """`topics`: the elastic ones, by name."""

    def __init__(
        self, topics: Mapping[str, int], groups: GatedGroups, commits: ElasticCommits, gates: Gates
    ) -> None:
        self.topics = topics
        self._commits = commits
        self._groups = groups
        self._gates = gates

    def is_anothers(self, pull: Pull) -> bool:
        """Whether another member holds the queue: then this one gets nothing, and hears of nothing."""
        header, client = pull.header, pull.peer.remote_addr
        group, topic = header.consumer_group, header.topic
        return self._groups.is_gated(group, topic) and self._commits.is_anothers(
            group, topic, header.queue_id, client
        )

    def look(self, pull: Pull) -> None:
        """Note on the pull where its reading ends, after what it commits has been taken."""
        header = pull.header
        group, topic, queue = header.consumer_group, header.topic, header.queue_id
        if not self._groups.is_gated(group, topic):
            return
        pull.gated = True
        pull.openings = self._gates.version
        self._groups.reads(group, topic, queue)
        if self.is_anothers(pull) or self._commits.is_settling(group, topic, queue):
            pull.until = _NOTHING
        else:
            pull.until = self._groups.readable_until(group, topic, queue)

    def seconds(self, pull: Pull, seconds: float) -> float:
        """How long to hold a pull that asked for `seconds`."""
        header = pull.header
        group, topic, queue = header.consumer_group, header.topic, header.queue_id
        if pull.until == _NOTHING:
            return min(seconds, LAST_PAUSE_SECONDS)
        if pull.gated and self._groups.waits_for(group, topic, queue, header.queue_offset):
            return min(seconds, self._gates.pause(group, topic, queue))
        return seconds

    @staticmethod
    def is_closed(pull: Pull) -> bool:
        """Whether the pull stands at, or behind, a closed start."""
        return pull.until is not None and pull.header.queue_offset >= pull.until

    async def wait(self, pull: Pull, seconds: float) -> bool:
        """At a closed start; False: too many wait."""
        header = pull.header
        group, topic = header.consumer_group, header.topic
        return await self._gates.wait(group, topic, seconds, pull.openings)
