"""Settings of the process itself, under RocketMQ's own keys where it has them (NettyServerConfig)."""

from dataclasses import dataclass

from trimq.descriptors import room_for_connections
from trimq.remoting.limits import Limits
from trimq.remoting.proxy_protocol import Networks, parse_networks
from trimq.store.settings import limit, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Where to listen and how: the listener's part of ``broker.conf``."""

    bind_address: str = setting(
        "127.0.0.1",
        "Address to listen on.",
        key="bindAddress",
        guarded=True,
        rocketmq_default="0.0.0.0",
        why="a broker without access control should not be open to the network by accident",
    )
    channel_idle_seconds: int = setting(
        120,
        "Silence after which a connection is closed.",
        key="serverChannelMaxIdleTimeSeconds",
        at_least=1,
        guarded=True,
    )
    metrics: str = setting(
        "",
        "HOST:PORT that serves /metrics, a port alone on the loopback; empty: off.",
        key="metricsListen",
        guarded=True,
        own=True,
    )
    balancers: Networks = setting(
        (),
        "Addresses and networks of balancers, with commas, that may say in a PROXY preamble (version 1 or 2) whose"
        " connection they forward; from others a preamble closes the connection.",
        key="proxyProtocolFrom",
        parse=parse_networks,
        shown="",
        guarded=True,
        own=True,
    )
    frame_max_length: int = setting(
        16 * 1024 * 1024,
        "Largest frame that is taken, in bytes with its length word.",
        key="com.rocketmq.remoting.frameMaxLength",
        at_least=65_536,
        guarded=True,
    )
    max_connections: int = limit(
        10_000, "Connections of this process, never more than its open files allow."
    )
    max_connections_per_address: int = limit(
        2000, "Connections of one address; this machine and balancers are free."
    )
    max_new_connections_per_address: int = limit(
        200,
        "New connections a second of one address, ten times as many at once; this machine and"
        " balancers are free.",
    )
    first_byte_seconds: int = limit(
        10,
        "Seconds that a new connection to the broker may be silent. Java clients connect to"
        " NameServers without a word, so there the idle time counts.",
    )
    max_frame_seconds: int = limit(
        30, "Seconds that a frame may take once it has begun, and one more for each 64 KiB."
    )
    max_unfinished_frame_bytes: int = limit(
        256 * 1024 * 1024,
        "Bytes of frames that have begun, on all connections of a port; above, the one that began"
        " first is given up with its connection.",
        long=True,
    )
    max_held_requests_per_connection: int = limit(
        10_000, "Requests of one connection that wait at a time (held pulls)."
    )
    max_held_request_bytes: int = limit(
        256 * 1024 * 1024, "Bytes that all requests that wait may keep.", long=True
    )


def limits_of(config: ServerConfig, durable_seconds: float = 5) -> Limits:
    """The remoting bounds that settings change; makes room for the connections."""
    return Limits(
        frame_limit=config.frame_max_length,
        idle_seconds=config.channel_idle_seconds,
        durable_seconds=durable_seconds,
        connection_limit=room_for_connections(config.max_connections),
        address_limit=config.max_connections_per_address,
        address_rate=config.max_new_connections_per_address,
        first_byte_seconds=config.first_byte_seconds,
        frame_seconds=config.max_frame_seconds,
        unfinished_limit=config.max_unfinished_frame_bytes,
        held_limit=config.max_held_requests_per_connection,
        held_bytes_limit=config.max_held_request_bytes,
    )
