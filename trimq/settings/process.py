"""Settings of the process itself, under RocketMQ's own keys where it has them (NettyServerConfig)."""

from dataclasses import dataclass

from trimq.base.setting_fields import limit, setting
from trimq.remoting.limits import Limits
from trimq.remoting.memory_budget import MemoryBudget, budget
from trimq.remoting.resources import Resources
from trimq.remoting.wire.proxy_protocol import Networks, parse_networks
from trimq.settings.descriptors import room_for_connections


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
        "Addresses and networks, separated by commas, of load balancers that may say in a PROXY "
        "preamble (version 1 or 2) whose connection they forward; a preamble from anybody else "
        "closes the connection.",
        key="proxyProtocolFrom",
        parse=parse_networks,
        shown="",
        guarded=True,
        own=True,
    )
    frame_max_length: int = setting(
        16 * 1024 * 1024,
        "Largest frame that is accepted, in bytes, its length field included.",
        key="com.rocketmq.remoting.frameMaxLength",
        at_least=65_536,
        guarded=True,
    )
    max_connections: int = limit(
        10_000, "Connections of this process, never more than its limit of open files allows."
    )
    max_connections_per_address: int = limit(
        2000,
        "Connections from one address, never more than half of what the process can have; this machine "
        "and load balancers are exempt.",
    )
    max_new_connections_per_address: int = limit(
        200,
        "New connections a second from one address, on average: up to ten times as many may come at once. "
        "This machine and load balancers are exempt.",
    )
    first_byte_seconds: int = limit(
        10,
        "Seconds that a new connection to the broker may stay silent. Java clients connect to "
        "NameServers and send nothing, so there the idle time counts.",
    )
    max_frame_seconds: int = limit(
        30, "Seconds that a frame may take once it has begun, and one more for each 64 KiB."
    )
    max_unfinished_frame_bytes: int = limit(
        256 * 1024 * 1024,
        "Bytes of unfinished frames on all connections of a port; above this, the frame that began "
        "first is given up and its connection closed.",
        long=True,
    )
    max_held_requests_per_connection: int = limit(
        10_000, "Requests of one connection that may wait at a time (held pulls)."
    )
    max_held_request_bytes: int = limit(
        256 * 1024 * 1024, "Bytes that all waiting requests together may keep.", long=True
    )
    max_network_bytes: int = limit(
        512 * 1024 * 1024,
        "Bytes that all connections together may keep: unfinished frames, waiting requests, long answers, replies "
        "that are not read, TLS. Never more than a quarter of the memory that the process may use (control groups and "
        "`ulimit -v` count); unfinished frames and waiting requests get half of it each at most. When it is used up, "
        "the connection that keeps most is closed.",
        long=True,
    )


def resources_of(config: ServerConfig) -> Resources:
    """What all servers of this process divide."""
    return Resources(MemoryBudget(budget(config.max_network_bytes)))


def _share_of(room: int, of_address: int) -> int:
    """Where few descriptors make the room small, one address has half of it, so that it shuts nobody out."""
    return min(of_address, max(room // 2, 1)) if room and of_address else of_address


def limits_of(config: ServerConfig) -> Limits:
    """The remoting bounds that settings change; makes room for the connections."""
    room = room_for_connections(config.max_connections)
    return Limits(
        frame_limit=config.frame_max_length,
        idle_seconds=config.channel_idle_seconds,
        connection_limit=room,
        address_limit=_share_of(room, config.max_connections_per_address),
        address_rate=config.max_new_connections_per_address,
        first_byte_seconds=config.first_byte_seconds,
        frame_seconds=config.max_frame_seconds,
        unfinished_limit=config.max_unfinished_frame_bytes,
        waiting_limit=config.max_held_requests_per_connection,
        waiting_bytes_limit=config.max_held_request_bytes,
    )
