"""What both ends say of themselves at first (SETTINGS).

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Final

from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import BadPeer, ErrorCode

_HEAD: Final = struct.Struct(">BHBBI")
_ENTRY: Final = struct.Struct(">HI")
_INT: Final = struct.Struct(">I")
_SETTINGS: Final = 4
_WINDOW: Final = 8
_TABLE, _PUSH, _STREAMS, _FIRST_WINDOW, _FRAME, _HEAD_LIST = 1, 2, 3, 4, 5, 6
_WINDOW_MOST: Final = 2**31 - 1
_FRAME_LEAST, _FRAME_MOST = 1 << 14, (1 << 24) - 1


class Heard:
    """-1: it does not say. `table_bytes`: of its table of header fields; `window`: what each stream takes at first."""

    __slots__ = ("table_bytes", "window")

    def __init__(self) -> None:
        self.table_bytes: int = -1
        self.window: int = -1


def greeting(bounds: Http2Bounds, first_window: int) -> bytes:
    """The first frames of a server; `first_window`: what a peer may send on all streams together without a word."""
    said = (
        (_STREAMS, bounds.streams),
        (_FIRST_WINDOW, bounds.stream_window),
        (_HEAD_LIST, bounds.head_bytes),
    )
    body = b"".join([_ENTRY.pack(key, value) for key, value in said])
    frames = _HEAD.pack(0, len(body), _SETTINGS, 0, 0) + body
    more = bounds.connection_window - first_window
    if more > 0:
        frames += _HEAD.pack(0, _INT.size, _WINDOW, 0, 0) + _INT.pack(more)
    return frames


def heard_settings(body: bytes) -> Heard:
    """BadPeer for what cannot be meant."""
    if len(body) % _ENTRY.size:
        raise BadPeer(ErrorCode.FRAME_SIZE_ERROR, f"SETTINGS of {len(body)} bytes")
    heard = Heard()
    for at in range(0, len(body), _ENTRY.size):
        key = int.from_bytes(body[at : at + 2], "big")
        value = int.from_bytes(body[at + 2 : at + 6], "big")
        if key == _TABLE:
            heard.table_bytes = value
        elif key == _PUSH:
            if value > 1:
                raise BadPeer(ErrorCode.PROTOCOL_ERROR, f"ENABLE_PUSH is {value}")
        elif key == _FIRST_WINDOW:
            if value > _WINDOW_MOST:
                raise BadPeer(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {value} bytes")
            heard.window = value
        elif key == _FRAME and not _FRAME_LEAST <= value <= _FRAME_MOST:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, f"frames of {value} bytes")
    return heard
