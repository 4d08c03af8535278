"""Settings of the process itself, under RocketMQ's own keys where it has them (NettyServerConfig)."""

from dataclasses import dataclass
from pathlib import Path

from trimq.store.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Where to listen and how: the listener's part of ``broker.conf``."""

    bind_address: str = setting("127.0.0.1", "Address to listen on.", key="bindAddress")
    store_root: Path = setting(Path("data"), "The store directory.", key="storePathRootDir")
    channel_idle_seconds: int = setting(
        120,
        "Silence after which a connection is closed.",
        key="serverChannelMaxIdleTimeSeconds",
        at_least=1,
    )
    metrics: str = setting("", "HOST:PORT that serves /metrics; empty: off.", key="metricsListen")
