"""Cuts the bytes into frames, and bounds what they may cost before anything is done with them.

A frame's head has 9 bytes: length in three, kind, flags, stream in four.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Iterator
from typing import Final

from trimq.proxy.http2.allowance import Allowance
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import BadPeer, ErrorCode
from trimq.proxy.http2.frame_kinds import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    RESET,
    SETTINGS,
)

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_OTHER: Final = "this is not HTTP/2: 4.x clients belong to the NameServer, port 9876"
_HEAD: Final = 9
_FRAME_MOST: Final = 16 * 1024
_STREAM: Final = 0x7FFFFFFF
# So many frames are handed on in one step: others get their turn between two.
_AT_ONCE: Final = 32
# Data in smaller pieces costs more than it brings, unless it is the end of something.
_SMALL: Final = 16
# A frame that asks for nothing counts as one for each so many bytes.
_COUNTED_BYTES: Final = 64
# Kind, flags, stream, body.
Frame = tuple[int, int, int, bytes]


class Intake:
    """Bytes in, frames out; what they cost is counted when their heads have come."""

    __slots__ = (
        "_block",
        "_bounds",
        "_frames",
        "_held",
        "_idle",
        "_length",
        "_resets",
        "_to_greet",
    )

    def __init__(self, bounds: Http2Bounds) -> None:
        self._bounds = bounds
        self._idle = Allowance(bounds.idle_frames)
        self._resets = Allowance(bounds.resets)
        # What of the preface is to come.
        self._to_greet: bytes = _PREFACE
        # Of a frame that is not whole; its length, once its head has come: -1 before.
        self._held: bytes = b""
        self._length: int = -1
        # Bytes of a block of header fields that has begun; -1: none has.
        self._block = -1
        self._frames = 0

    @property
    def is_greeted(self) -> bool:
        """Whether the peer has begun as it has to."""
        return self._frames > 0

    def cut(self, data: bytes, now: float) -> Iterator[list[Frame]]:
        """Whole frames, in steps; BadPeer as soon as one is too much."""
        if self._to_greet:
            data = self._greet(data)
        if self._held:
            data = self._held + data
        at, size = 0, len(data)
        frames: list[Frame] = []
        while size - at >= _HEAD:
            if self._length < 0:
                self._length = self._looked_at(data, at, now)
            end = at + _HEAD + self._length
            if end > size:
                break
            self._length = -1
            stream = int.from_bytes(data[at + 5 : at + _HEAD], "big") & _STREAM
            frames.append((data[at + 3], data[at + 4], stream, data[at + _HEAD : end]))
            at = end
            if len(frames) == _AT_ONCE:
                yield frames
                frames = []
        self._held = data[at:]
        if frames:
            yield frames

    def _greet(self, data: bytes) -> bytes:
        """What follows the preface. What speaks otherwise is told apart by its first bytes."""
        size = min(len(data), len(self._to_greet))
        if data[:size] != self._to_greet[:size]:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, _OTHER)
        self._to_greet = self._to_greet[size:]
        return data[size:]

    def refused(self, now: float) -> None:
        """A stream was not taken: that counts as one that was given up."""
        if not self._resets.take(1, now):
            raise BadPeer(ErrorCode.ENHANCE_YOUR_CALM, "too many streams that come to nothing")

    def answered(self) -> None:
        """A frame of ours may bring two back: more room, and a question whether we are there."""
        self._idle.give(2)

    def _looked_at(self, data: bytes, at: int, now: float) -> int:
        """The length of the frame that begins there."""
        length = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
        kind, flags = data[at + 3], data[at + 4]
        if length > _FRAME_MOST:
            raise BadPeer(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {length} bytes")
        if not self._frames and kind != SETTINGS:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
        self._frames += 1
        if kind == DATA:
            if flags & PADDED or (length < _SMALL and not flags & END_STREAM):
                self._asks_nothing(1, now)
        elif kind == HEADERS:
            self._block = 0
            self._block_grows(length, flags)
        elif kind == CONTINUATION and self._block >= 0:
            self._block_grows(length, flags)
        elif kind == RESET:
            self.refused(now)
        else:
            self._asks_nothing(1 + length / _COUNTED_BYTES, now)
        return length

    def _block_grows(self, length: int, flags: int) -> None:
        # A frame of nothing is one byte here: a block ends within so many frames too.
        self._block += max(1, length)
        if self._block > self._bounds.head_bytes:
            raise BadPeer(ErrorCode.ENHANCE_YOUR_CALM, "a head that is too long")
        if flags & END_HEADERS:
            self._block = -1

    def _asks_nothing(self, cost: float, now: float) -> None:
        if not self._idle.take(cost, now):
            raise BadPeer(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that ask for nothing")
