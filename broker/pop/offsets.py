"""How far a group has popped a queue: its committed offset, moved by checkpoints once they are written.

Two pops of one receive must not get the same messages, though nothing is written before the receive ends: what is
staged counts for the second one. If the write fails, it counts no more (a claim of the store says so).
"""

from typing import Final

from trimq.broker.groups.offsets import NOT_FOUND, ConsumerOffsets
from trimq.broker.pop.order import OrderBlocks
from trimq.codec.names import RETRY_PREFIX
from trimq.store.message_store import MessageStore
from trimq.store.messages.effects import Claim
from trimq.store.messages.message import Dispatched

# ConsumeInitMode: where a group without an offset begins.
FIRST: Final = 0
_CLAIM: Final[Claim] = ("pop", 0)
_Key = tuple[str, str, int]


class PopOffsets:
    """`looks_in_memory`: initPopOffsetByCheckMsgInMem."""

    def __init__(self, offsets: ConsumerOffsets, store: MessageStore, blocks: OrderBlocks) -> None:
        self._offsets = offsets
        self._blocks = blocks
        self._store = store
        self._staged: dict[_Key, int] = {}

    def position(self, group: str, topic: str, queue_id: int, init_mode: int) -> int:
        """Where the group goes on; for one that begins, that is stored as its offset."""
        self._forget_failed()
        staged = self._staged.get((group, topic, queue_id))
        if staged is not None:
            return staged
        reset = self._offsets.take_reset(group, topic, queue_id)
        if reset is not None:
            self._blocks.forget(topic, group, queue_id)
            self._offsets.commit("ResetPopOffset", group, topic, queue_id, reset)
            return reset
        offset = self._offsets.query(group, topic, queue_id)
        if offset == NOT_FOUND or offset < 0:
            offset = self._first(topic, queue_id, init_mode)
            self._offsets.commit("getPopOffset", group, topic, queue_id, offset)
        return offset

    def pending(self, group: str, topic: str, queue_id: int) -> int:
        """How many messages it has not popped; nothing is stored."""
        offset = self._offsets.query(group, topic, queue_id)
        if offset < 0:
            offset = self._store.min_offset(topic, queue_id)
        return max(0, self._store.max_offset(topic, queue_id) - offset)

    def correct(self, peer: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """The offset was outside of the queue, or nothing there is wanted: it moves without a checkpoint."""
        key = (group, topic, queue_id)
        if key in self._staged:
            self._staged[key] = offset
        else:
            self._offsets.commit(peer, group, topic, queue_id, offset)

    def stage(self, group: str, topic: str, queue_id: int, following: int) -> None:
        """A checkpoint is staged that ends before `following`."""
        self._staged[group, topic, queue_id] = following
        self._store.claims.add(_CLAIM)

    def written(self, _: list[Dispatched]) -> None:
        """The store's listener: what was staged is in the log."""
        if self._staged:
            staged, self._staged = self._staged, {}
            for (group, topic, queue_id), following in staged.items():
                self._offsets.commit("PopCheckPoint", group, topic, queue_id, following)

    def _forget_failed(self) -> None:
        if self._staged and _CLAIM not in self._store.claims:
            self._staged = {}

    def _first(self, topic: str, queue_id: int, init_mode: int) -> int:
        low = self._store.min_offset(topic, queue_id)
        if init_mode == FIRST or topic.startswith(RETRY_PREFIX):
            return low
        high = self._store.max_offset(topic, queue_id)
        if low <= 0 and self._is_in_memory(topic, queue_id):
            return 0
        return max(high - 1, 0)

    def _is_in_memory(self, topic: str, queue_id: int) -> bool:
        """As 5.5.0 on JDK 17 has it, where every message of a queue counts as in memory."""
        return self._store.max_offset(topic, queue_id) > 0
