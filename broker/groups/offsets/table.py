"""The committed offsets in memory, and their text as the file has it.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.broker.tables.json_members import JsonMembers, pretty_object
from trimq.broker.tables.pairs import Pairs

Queues = dict[int, int]


class OffsetTable:
    """topic@group -> queue -> offset, with the encoded text of what has not changed."""

    def __init__(self, pairs: Pairs) -> None:
        """`pairs` gets each new key; whoever forgets one everywhere takes it out."""
        self.queues: dict[str, Queues] = {}
        self._pairs = pairs
        self.members = JsonMembers(self._encode)

    def put(self, key: str, queue_id: int, offset: int) -> int | None:
        """Set an offset; returns the previous one."""
        queues = self.queues.get(key)
        if queues is None:
            queues = self.queues[key] = {}
            self._pairs.add(key)
        old = queues.get(queue_id)
        if old != offset:
            queues[queue_id] = offset
            self.members.changed(key)
        return old

    def replace(self, key: str, queues: Queues) -> None:
        if key not in self.queues:
            self._pairs.add(key)
        self.queues[key] = queues
        self.members.changed(key)

    def remove(self, key: str) -> bool:
        self.members.removed(key)
        return self.queues.pop(key, None) is not None

    def _encode(self, key: str) -> str:
        return pretty_object([f"{queue}:{offset}" for queue, offset in self.queues[key].items()], 2)
