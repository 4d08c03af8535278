"""What clients may do: every bound of the gRPC server."""

from dataclasses import dataclass

from trimq.proxy.http2.bounds import Http2Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcBounds:
    """Of bytes, numbers and seconds; what is over them ends a call or a connection, never the server."""

    http2: Http2Bounds = Http2Bounds()
    # Of one message, also unpacked (grpcMaxInboundMessageSize).
    message_bytes: int = 130 * 1024 * 1024
    # Of all messages that are not whole, wait, or are being answered, and answers that wait; at most a quarter of the
    # memory there is.
    kept_bytes: int = 1024 * 1024 * 1024
    # Messages of one talk that nobody has read.
    unread_messages: int = 64
    # Answers on their way on one connection; what is above waits with its call.
    outgoing_bytes: int = 256 * 1024
    # Connections in all, from one address, and new ones from one address a second.
    connections: int = 10_000
    connections_of_address: int = 2000
    new_of_address: int = 200
    # For the first byte, for TLS, and for HTTP/2's own greeting.
    greeting_seconds: float = 10
    # Without a stream (grpcClientIdleTimeMills).
    idle_seconds: float = 120
    # A request that has begun and does not go on.
    request_seconds: float = 120
    # An answer of which nothing gets out.
    stall_seconds: float = 60
    # Silence after which the peer is asked whether it is there, and how long it may take to say so.
    silence_seconds: float = 120
    reply_seconds: float = 30
    # For the streams under way when the server stops.
    drain_seconds: float = 3
