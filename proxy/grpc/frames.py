"""Messages in a stream's body: a byte that says whether it is compressed, its length in four, its bytes."""

import gzip
import struct
import zlib
from typing import Final

from trimq.proxy.grpc.statuses import GrpcError, GrpcStatus

HEAD: Final = struct.Struct(">BI")


def frame(message: bytes) -> bytes:
    """One message, not compressed."""
    return HEAD.pack(0, len(message)) + message


class Messages:
    """Puts pieces of a body together. `most`: bytes that one message may have, also unpacked."""

    __slots__ = ("_encoding", "_most", "_pieces", "_size")

    def __init__(self, most: int, encoding: str = "identity") -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._most = most
        self._encoding = encoding

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete now; GrpcError for what cannot be one."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size < HEAD.size:
            return []
        body = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        found: list[bytes] = []
        at = 0
        while len(body) - at >= HEAD.size:
            compressed, length = HEAD.unpack_from(body, at)
            if length > self._most:
                raise GrpcError(
                    GrpcStatus.RESOURCE_EXHAUSTED,
                    f"gRPC message exceeds maximum size {self._most}: {length}",
                )
            end = at + HEAD.size + length
            if end > len(body):
                break
            message = body[at + HEAD.size : end]
            found.append(self._unpacked(message) if compressed else message)
            at = end
        rest = body[at:]
        self._pieces = [rest] if rest else []
        self._size = len(rest)
        return found

    @property
    def is_empty(self) -> bool:
        """Whether the body may end here."""
        return self._size == 0

    def _unpacked(self, message: bytes) -> bytes:
        if self._encoding != "gzip":
            raise GrpcError(
                GrpcStatus.INTERNAL, "a compressed message, but grpc-encoding names no known way"
            )
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            text = unpacker.decompress(message, self._most + 1)
        except zlib.error as error:
            raise GrpcError(GrpcStatus.INTERNAL, f"a message that is not gzip: {error}") from error
        if len(text) > self._most:
            raise GrpcError(
                GrpcStatus.RESOURCE_EXHAUSTED,
                f"Decompressed gRPC message exceeds maximum size {self._most}",
            )
        return text


def packed(message: bytes) -> bytes:
    """One message, compressed by gzip."""
    text = gzip.compress(message)
    return HEAD.pack(1, len(text)) + text
