"""Writing to the disk what is derived from the commit log: consume queues and the message index.

`take` goes through the queues in rounds; when a round is over, everything dispatched before it
began is in the files, and the next checkpoint vouches for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from trimq.codec.entries.checkpoint import Checkpoint
from trimq.store.appending.dispatch import Dispatch
from trimq.store.disk.files import Unsynced
from trimq.store.index.message_index import Index
from trimq.store.log.commit_log import CommitLog
from trimq.store.queues.files.writing import Writing
from trimq.store.queues.queues import Queues
from trimq.store.upkeep.checkpoint_file import load_checkpoint, save_checkpoint
from trimq.store.upkeep.checkpointing import Checkpointing

# How many topics one step looks for on the disk.
QUEUES_PER_STEP: Final = 16
# The entries of how many queues are taken at once.
QUEUES_AT_ONCE: Final = 256


class Vouched:
    """The records behind which a start would look at the log: for the consume queues, and for the index."""

    __slots__ = ("index", "queues")

    def __init__(self) -> None:
        self.queues = 0
        self.index = 0

    def lower(self, offset: int) -> None:
        self.queues = min(self.queues, offset)
        self.index = min(self.index, offset)


class WriteBehind:
    def __init__(
        self,
        log: CommitLog,
        queues: Queues,
        index: Index,
        unsynced: Unsynced,
        checkpoint_file: Path,
    ) -> None:
        self.checkpoint = Checkpoint()
        self._log = log
        self._queues = queues
        self._index = index
        self._unsynced = unsynced
        self.file = checkpoint_file
        # The record and timestamp up to which everything derived is in the files.
        self._derived = (-1, 0)
        self._round_ends_at = (-1, 0)
        self._is_in_round = False
        # Whether there is something to do before a round.
        self._is_preparing = False
        self._checkpointing: Checkpointing | None = None
        self._vouched = Vouched()

    @property
    def vouched(self) -> Vouched:
        """As the file on the disk says; recovery changes it when it finds it to be wrong."""
        last = self._checkpointing
        if last is not None and last.done:
            self._vouched.queues = self._vouched.index = last.offset
        return self._vouched

    def load_checkpoint(self) -> Checkpoint:
        self.checkpoint = load_checkpoint(self.file)
        return self.checkpoint

    def take_back_checkpoint(self) -> None:
        """What it vouches for is gone, or will be rewritten and is not on the disk yet."""
        self.checkpoint = Checkpoint(master_flushed_offset=self.checkpoint.master_flushed_offset)
        save_checkpoint(self.file, self.checkpoint)
        self.vouched.lower(0)

    def restart(self) -> None:
        """Before the log is cut: what is planned vouches for nothing any more. Blocks while that is written."""
        if self._checkpointing is not None:
            self._checkpointing.revoke()
            if not self._checkpointing.done:
                self._unsynced.add_files(self._checkpointing.files)
                self._unsynced.add_directories(self._checkpointing.directories)
            self._checkpointing = None
        self._derived = self._round_ends_at = (-1, 0)
        self._is_in_round = False
        flushed = self.checkpoint.master_flushed_offset
        self.load_checkpoint().master_flushed_offset = flushed

    def vouch_only_for(self, offset: int, timestamp: int) -> None:
        """Take back what the checkpoint says of records after this one; 0 takes back all. Blocks."""
        checkpoint = self.checkpoint
        if offset <= 0:
            self.take_back_checkpoint()
            return
        if checkpoint.queue_physical_offset > offset:
            checkpoint.queue_physical_offset = offset
            checkpoint.confirm_physical_offset = min(checkpoint.confirm_physical_offset, offset)
            checkpoint.queue_timestamp = min(checkpoint.queue_timestamp, timestamp)
            checkpoint.record_timestamp = min(checkpoint.record_timestamp, timestamp)
            save_checkpoint(self.file, checkpoint)
        self.vouched.lower(offset)

    def take(self, dispatch: Dispatch) -> Writing:
        """What to write next, in any thread; then `settle` it."""
        self._is_preparing = self._index.step() or not self._queues.check_some(QUEUES_PER_STEP)
        if self._is_preparing:
            return Writing()
        if not self._is_in_round:
            self._is_in_round = True
            self._round_ends_at = (dispatch.last_offset, dispatch.last_timestamp)
            self._queues.rounds.begin()
        return self._queues.rounds.take_some(QUEUES_AT_ONCE)

    def settle(self, writing: Writing) -> bool:
        """It has run, whatever became of it. True when more is waiting; else what the round had is vouched for."""
        self._queues.rounds.settle(writing)
        if self._is_preparing or not self._queues.rounds.is_over:
            return True
        self._is_in_round = False
        self._derived = self._round_ends_at
        return False

    def stop(self) -> None:
        """No thread writes any more of what was taken."""
        self._queues.rounds.stop()

    def plan_checkpoint(self, confirmed: int) -> Checkpointing:
        """`confirmed`: what the checkpoint is to say that a term's slaves have (CommitLog.setConfirmOffset)."""
        offset, timestamp = self._derived
        checkpoint = self.checkpoint
        if offset >= 0:
            checkpoint.queue_physical_offset = offset
            checkpoint.queue_timestamp = timestamp
            checkpoint.record_timestamp = timestamp
        checkpoint.confirm_physical_offset = confirmed
        unsynced = self._unsynced
        if self._checkpointing is not None and not self._checkpointing.done:
            unsynced.add_files(self._checkpointing.files)
            unsynced.add_directories(self._checkpointing.directories)
        index = self._index.plan_writing()
        if index is not None:
            checkpoint.index_timestamp = self._index.end_timestamp
        self._checkpointing = Checkpointing(
            self._log, unsynced.take(), checkpoint, self.file, index
        )
        return self._checkpointing
