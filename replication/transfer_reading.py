"""What a master sends, cut into pieces of the log (DefaultHAClient.dispatchReadRequest)."""

from __future__ import annotations

from typing import Final

from trimq.codec.layouts.ha import MASTER_HEAD, unpack_head
from trimq.store.errors import StoreError
from trimq.store.slave.copied_log import CopiedLog

_HEAD_SIZE: Final = MASTER_HEAD.sizeof()


class LinkLost(Exception):
    """The connection is of no use any more; the text says why."""


class TransferReader:
    """What arrives, cut into pieces of the log: bodies may come in any number of receives."""

    __slots__ = ("_copied", "_head", "_left")

    def __init__(self, copied: CopiedLog) -> None:
        self._copied = copied
        self._head = bytearray()
        self._left = 0

    def take(self, data: memoryview) -> int:
        """Append to the log what is its body; how many bytes that was. LinkLost, StoreError."""
        chunks: list[bytes | memoryview] = []
        gathered = taken = 0
        while data:
            if not self._left:
                data = self._take_head(data, gathered)
                continue
            piece = data[: self._left]
            data = data[len(piece) :]
            self._left -= len(piece)
            if len(piece) > self._copied.room - gathered:
                raise LinkLost(
                    "a piece goes beyond a file's end: mappedFileSizeCommitLog must be the master's"
                )
            chunks.append(piece)
            gathered += len(piece)
            if gathered == self._copied.room:
                self._copied.append(chunks, gathered)
                taken += gathered
                chunks, gathered = [], 0
        if gathered:
            self._copied.append(chunks, gathered)
        return taken + gathered

    def _take_head(self, data: memoryview, gathered: int) -> memoryview:
        """What comes behind the header, if it is whole now."""
        need = _HEAD_SIZE - len(self._head)
        self._head += data[:need]
        if len(self._head) == _HEAD_SIZE:
            offset, size = unpack_head(self._head)
            self._head.clear()
            self._check(offset, size, self._copied.end + gathered)
            self._left = size
        return data[need:]

    def _check(self, offset: int, size: int, end: int) -> None:
        if size < 0:
            raise LinkLost(f"a piece of {size} bytes")
        if offset == end:
            return
        if not self._copied.is_empty or end:
            raise LinkLost(f"the master sends from {offset}, this log ends at {end}")
        if size:
            try:
                self._copied.begin_at(offset)
            except StoreError as error:
                raise LinkLost(f"{error}: mappedFileSizeCommitLog must be the master's") from error
