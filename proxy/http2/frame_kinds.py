"""Frames of HTTP/2: their kinds and flags (RFC 9113, section 6).

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.proxy.http2.errors import BadPeer, ErrorCode

DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RESET: Final = 3
SETTINGS: Final = 4
PUSH: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW: Final = 8
CONTINUATION: Final = 9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITISED: Final = 0x20


def unpadded(body: bytes) -> bytes:
    """What is between the length of the padding and the padding; BadPeer."""
    if not body or body[0] >= len(body):
        raise BadPeer(ErrorCode.PROTOCOL_ERROR, "more padding than there is")
    return body[1 : len(body) - body[0]]
