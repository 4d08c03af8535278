"""Cutting a byte stream into frames: a 4-byte length, then that many bytes (NettyDecoder).

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.codec.errors import CodecError

FRAME_LIMIT: Final = 16777216


class FrameBuffer:
    """Collects received bytes and returns whole frames.

    A length is checked as soon as its four bytes have come, so a peer cannot make this buffer hold
    more than the limit plus one receive.
    """

    __slots__ = ("_at", "_data", "_limit", "_partial", "frames", "needed")

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit: int = limit
        self._data: bytes = b""
        self._at: int = 0
        # A frame that is still incomplete, however small its pieces are.
        self._partial: bytearray = bytearray()
        # Its bytes with the length word, as far as known; and how many frames came before it.
        self.needed: int = 0
        self.frames: int = 0

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        if self._partial:
            self._partial += data
            if len(self._partial) < self.needed:
                return
            self._data = bytes(self._partial)
            self._partial = bytearray()
        elif self._at < len(self._data):
            self._data = self._data[self._at :] + data
        else:
            self._data = data
        self._at = 0

    def next_frame(self) -> bytes | None:
        """The next whole frame without its length word, or None: feed more."""
        data = self._data
        at = self._at
        if at + 4 > len(data):
            self._keep(4)
            return None
        length = data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
        end = at + 4 + length
        if length < 4 or length + 4 > self._limit:
            raise CodecError(f"a frame length of {length} is not within 4 to {self._limit - 4}")
        if end > len(data):
            self._keep(4 + length)
            return None
        self._at = end
        self.frames += 1
        return data[at + 4 : end]

    def clear(self) -> None:
        """Forget everything: nobody will ask for it."""
        self._data = b""
        self._at = 0
        self._partial = bytearray()

    @property
    def pending(self) -> int:
        """Bytes of a frame that is still incomplete."""
        return len(self._partial)

    @property
    def is_empty(self) -> bool:
        """Whether every byte fed so far has been returned in a frame."""
        return not self._partial and self._at >= len(self._data)

    def _keep(self, needed: int) -> None:
        """Set the rest aside until `needed` bytes of the next frame have come."""
        if self._at < len(self._data):
            self._partial += self._data[self._at :]
            self.needed = needed
        # An idle connection must not hold on to its last, perhaps large, frame.
        self._data = b""
        self._at = 0
