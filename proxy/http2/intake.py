"""Looks at the frames before anything is done with them: what they may cost is bounded, and some are left out.

A frame's head has 9 bytes: length in three, kind, flags, stream in four.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Iterator
from typing import Final

from trimq.proxy.http2.allowance import Allowance
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import BadPeer, ErrorCode

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_OTHER: Final = "this is not HTTP/2: 4.x clients belong to the NameServer, port 9876"
_HEAD: Final = 9
_FRAME_MOST: Final = 16 * 1024
_DATA, _HEADERS, _RESET, _SETTINGS, _GOAWAY, _CONTINUATION = 0, 1, 3, 4, 7, 9
_END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x4, 0x8
# So many frames are looked at in one piece: others get their turn between two.
AT_ONCE: Final = 32
# Data in smaller pieces costs more than it brings, unless it is the end of something.
_SMALL: Final = 16
# A frame that asks for nothing counts as one for each so many bytes.
_COUNTED_BYTES: Final = 64


class Intake:
    """Bytes in, pieces of them out: whole frames, and the beginning of one that goes on."""

    __slots__ = (
        "_block",
        "_bounds",
        "_drops",
        "_frames",
        "_held",
        "_idle",
        "_left",
        "_resets",
        "_to_greet",
    )

    def __init__(self, bounds: Http2Bounds) -> None:
        self._bounds = bounds
        self._idle = Allowance(bounds.idle_frames)
        self._resets = Allowance(bounds.resets)
        # Bytes of a frame, or of the preface, that are to come; whether they are left out.
        self._left = len(PREFACE)
        self._drops = False
        # What of the preface is to come.
        self._to_greet: bytes = PREFACE
        # Of a frame's head, while it is not whole.
        self._held = b""
        # Bytes of a block of header fields that has begun; -1: none has.
        self._block = -1
        self._frames = 0

    @property
    def is_greeted(self) -> bool:
        """Whether the peer has begun as it has to."""
        return self._frames > 0

    def cut(self, data: bytes, now: float) -> Iterator[tuple[bytes, bool]]:
        """Pieces, and whether a GOAWAY stood behind one; BadPeer as soon as one frame is too much."""
        if self._to_greet:
            self._greet(data)
        if self._held:
            data, self._held = self._held + data, b""
        at = min(self._left, len(data))
        self._left -= at
        start, count = at if self._drops else 0, 0
        size = len(data)
        while size - at >= _HEAD:
            end = at + _HEAD + self._looked_at(data, at, now)
            if data[at + 3] == _GOAWAY:
                yield data[start:at], True
                start, self._drops = min(end, size), True
            else:
                self._drops = False
            self._left = max(0, end - size)
            at = min(end, size)
            count += 1
            if count == AT_ONCE:
                yield data[start:at], False
                start, count = at, 0
        if at < size:
            self._held, size = data[at:], at
        if start < size:
            yield data[start:size], False

    def _greet(self, data: bytes) -> None:
        """Before anything is taken for a frame: what speaks otherwise is told apart by its first bytes."""
        size = min(len(data), len(self._to_greet))
        if data[:size] != self._to_greet[:size]:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, _OTHER)
        self._to_greet = self._to_greet[size:]

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
        if not self._frames and kind != _SETTINGS:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
        self._frames += 1
        if kind == _DATA:
            if flags & _PADDED or (length < _SMALL and not flags & _END_STREAM):
                self._asks_nothing(1, now)
        elif kind == _HEADERS:
            self._block = 0
            self._block_grows(length, flags)
        elif kind == _CONTINUATION and self._block >= 0:
            self._block_grows(length, flags)
        elif kind == _RESET:
            self.refused(now)
        else:
            self._asks_nothing(1 + length / _COUNTED_BYTES, now)
        return length

    def _block_grows(self, length: int, flags: int) -> None:
        # A frame of nothing is one byte here: a block ends within so many frames too.
        self._block += max(1, length)
        if self._block > self._bounds.head_bytes:
            raise BadPeer(ErrorCode.ENHANCE_YOUR_CALM, "a head that is too long")
        if flags & _END_HEADERS:
            self._block = -1

    def _asks_nothing(self, cost: float, now: float) -> None:
        if not self._idle.take(cost, now):
            raise BadPeer(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that ask for nothing")
