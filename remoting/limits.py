"""Every bound of the remoting layer; where the real server has one, the default is its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one server. Times in seconds."""

    # com.rocketmq.remoting.frameMaxLength
    frame_limit: int = 16 * 1024 * 1024
    # Bytes waiting to be sent on one connection, above which it is no longer read.
    outbox_limit: int = 1024 * 1024
    # serverChannelMaxIdleTimeSeconds: nothing received and nothing sent for this long.
    idle_seconds: float = 120
    # Connections in all, from one address, and new ones from an address a second; 0 is no limit.
    connection_limit: int = 10_000
    address_limit: int = 2000
    address_rate: int = 200
    # How long a new connection may stay silent; 0: as long as any other.
    first_byte_seconds: float = 10
    # How long a frame that has begun may take, and one second more for each 64 KiB; 0: for ever.
    frame_seconds: float = 30
    # Bytes of unfinished frames on all connections; above this, the one that began first is
    # dropped.
    unfinished_limit: int = 256 * 1024 * 1024
    # Requests of one connection that wait at a time (held pulls); more are answered SYSTEM_BUSY.
    waiting_limit: int = 10_000
    # Bytes that waiting requests may take on all connections together.
    waiting_bytes_limit: int = 256 * 1024 * 1024
    # How long a connection that is being closed may take to get its last replies out.
    drain_seconds: float = 3
    # Netty's default for a TLS handshake.
    handshake_seconds: float = 10
