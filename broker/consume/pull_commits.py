"""What a pull commits, and when: its own offset at its first look only (tryCommitOffset).

A pull that is held commits before it waits. When it is woken the group may have moved on, and committing again would
move it back.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.broker.consume.outcomes import Pull
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.codec.errors import CodecError
from trimq.codec.flags import PullFlag


class PullCommits:
    """Of pulls. `is_first`: it is the pull's first look."""

    def __init__(self, offsets: ConsumerOffsets) -> None:
        self._offsets = offsets

    def after_reading(self, pull: Pull, next_offset: int, is_first: bool) -> None:
        """How far messages are handed out, each time; and the consumer's own offset."""
        header = pull.header
        group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
        self._offsets.commit_pull(group, topic, queue_id, next_offset)
        self.own(pull, is_first)

    def own(self, pull: Pull, is_first: bool) -> None:
        """What the consumer has done with, if it asks for that."""
        header = pull.header
        if is_first and header.sys_flag & PullFlag.COMMIT_OFFSET:
            if header.commit_offset is None:
                raise CodecError("PullMessageRequestHeader needs the field 'commitOffset'")
            self._offsets.commit(
                pull.peer.remote_addr,
                header.consumer_group,
                header.topic,
                header.queue_id,
                header.commit_offset,
            )
