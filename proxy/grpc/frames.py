"""Messages in a stream's body: a byte that says whether it is packed, its length in four, its bytes.

Hot: compiled by mypyc when a compiler is there.
"""

import gzip
import struct
import zlib
from typing import Final

HEAD: Final = struct.Struct(">BI")
Bytes = bytes | bytearray


class BrokenBody(Exception):
    """What cannot be a message. As by grpc-java, the stream is given up without a word."""


class Unreadable(Exception):
    """A message that is larger unpacked than it may be, or that does not end."""


def head_of(message: bytes) -> bytes:
    """What stands before a message that is not packed."""
    return HEAD.pack(0, len(message))


def frame(message: bytes) -> bytes:
    """One message, not packed."""
    return head_of(message) + message


def packed(message: bytes) -> bytes:
    """One message, packed by gzip."""
    text = gzip.compress(message)
    return HEAD.pack(1, len(text)) + text


class Messages:
    """Puts pieces of a body together. `most`: bytes that one message may have. `packs`: they may be packed."""

    __slots__ = ("_buffer", "_most", "_packs", "_wanted")

    def __init__(self, most: int, *, packs: bool) -> None:
        self._most = most
        self._packs = packs
        self._buffer = bytearray()
        # Bytes until the next message, or the head of one, is whole.
        self._wanted = HEAD.size

    @property
    def size(self) -> int:
        """Bytes of what is not whole; the body may end where there are none."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[tuple[bool, Bytes]]:
        """The messages that are whole now, and of each whether it is packed; BrokenBody."""
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._wanted:
                return []
            return self._large(self._buffer)
        return self._whole(data)

    def _large(self, body: bytearray) -> list[tuple[bool, Bytes]]:
        """One that came in pieces; nothing is copied when nothing follows."""
        flag, end = self._head(body, 0)
        if len(body) < end:
            self._wanted = end
            return []
        self._buffer = bytearray()
        if len(body) > end:
            return self._whole(bytes(body))
        self._wanted = HEAD.size
        del body[: HEAD.size]
        return [(flag, body)]

    def _whole(self, body: bytes) -> list[tuple[bool, Bytes]]:
        found: list[tuple[bool, Bytes]] = []
        at, self._wanted = 0, HEAD.size
        while len(body) - at >= HEAD.size:
            flag, end = self._head(body, at)
            if end > len(body):
                self._wanted = end - at
                break
            found.append((flag, body[at + HEAD.size : end]))
            at = end
        if at < len(body):
            self._buffer += memoryview(body)[at:]
        return found

    def _head(self, body: Bytes, at: int) -> tuple[bool, int]:
        """Whether the message that begins there is packed, and where it ends."""
        flag, length = HEAD.unpack_from(body, at)
        if flag > 1 or (flag and not self._packs):
            raise BrokenBody(f"a message with the flag {flag}")
        if length > self._most:
            raise BrokenBody(f"a message of {length} bytes, of at most {self._most}")
        return flag == 1, at + HEAD.size + length


def unpacked(message: Bytes, most: int) -> bytes:
    """Of gzip; Unreadable, BrokenBody. Takes its time, but lets other threads run."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(message, most + 1)
    except zlib.error as error:
        raise BrokenBody(f"a message that is not gzip: {error}") from error
    if len(text) > most:
        raise Unreadable
    if not unpacker.eof:
        raise Unreadable
    return text
