"""What one connection may do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Http2Bounds:
    """Bytes, and numbers of things. What is allowed "a second" may come all at once for ten seconds."""

    # Streams at a time; more are refused, the others go on.
    streams: int = 1000
    # Of one request's head, packed and unpacked (grpc-java's own bound is 8 KiB).
    head_bytes: int = 16 * 1024
    # What a peer may send ahead: on one stream, and on all.
    stream_window: int = 1024 * 1024
    connection_window: int = 16 * 1024 * 1024
    # Streams that the peer gives up, or that are refused, a second.
    resets: float = 100
    # Frames that ask for nothing, a second: they cost us work, and the peer next to none.
    idle_frames: float = 100
