"""Settings of the process itself, under RocketMQ's own keys where it has them (NettyServerConfig)."""

from dataclasses import dataclass

from trimq.remoting.proxy_protocol import Networks, parse_networks
from trimq.store.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Where to listen and how: the listener's part of ``broker.conf``."""

    bind_address: str = setting(
        "127.0.0.1", "Address to listen on.", key="bindAddress", guarded=True
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
        "HOST:PORT that serves /metrics; empty: off.",
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
