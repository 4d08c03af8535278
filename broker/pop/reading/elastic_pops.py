"""POP from elastic topics: who pops in order waits at gates, as groups that lock queues do; all others read freely.

An orderly pop moves its group's offset when messages are acknowledged, one batch of a queue at a time: so the
committed offset says what is done, and the same gates do.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Container

from trimq.broker.elastic.commits import ElasticCommits
from trimq.broker.elastic.gated_groups import GatedGroups
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.codec.codes import ResponseCode
from trimq.remoting.errors import RemotingError
from trimq.store.errors import StoreError

_NOTHING = -1


class ElasticPops:
    """`topics`: the elastic ones, by name. All others need no look."""

    def __init__(
        self,
        topics: Container[str],
        groups: GatedGroups,
        commits: ElasticCommits,
        offsets: ConsumerOffsets,
    ) -> None:
        self.topics = topics
        self._groups = groups
        self._commits = commits
        self._offsets = offsets

    def begin(self, group: str, topic: str) -> int:
        """A group pops in order: its reads are gated from now on. Where the log ends behind that; -1: known.

        RemotingError: it could not be recorded.
        """
        try:
            return self._groups.gate(group, topic)
        except StoreError as error:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"the pop could not be recorded: {error}"
            ) from error

    def position(self, group: str, topic: str, queue_id: int) -> int:
        """Where the group goes on; -1: it has no offset."""
        return self._groups.known_offset(group, topic, queue_id)

    def until(self, group: str, topic: str, queue_id: int) -> int | None:
        """Where its reading of a queue ends; None: nowhere."""
        if topic not in self.topics or not self._groups.is_gated(group, topic):
            return None
        self._groups.reads(group, topic, queue_id)
        if self._commits.is_settling(group, topic, queue_id):
            return _NOTHING
        return self._groups.readable_until(group, topic, queue_id)

    def handed_out(self, group: str, topic: str, queue_id: int, following: int) -> None:
        """In order: what is acknowledged after a reset must have been handed out since."""
        if topic in self.topics:
            self._offsets.commit_pull(group, topic, queue_id, following)
