"""Settings of the process itself, under RocketMQ's own keys where it has them (NettyServerConfig, TlsSystemConfig)."""

from dataclasses import dataclass
from pathlib import Path

from trimq.store.settings import setting

TLS_MODES = ("disabled", "permissive", "enforcing")


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
    tls_mode: str = setting(
        "permissive",
        "TLS on the same port, told by the first byte.",
        key="tls.server.mode",
        choices=TLS_MODES,
    )
    tls_certificate: str = setting(
        "", "PEM file of the server's certificate.", key="tls.server.certPath"
    )
    tls_key: str = setting("", "PEM file of the certificate's key.", key="tls.server.keyPath")
    tls_key_password: str = setting("", "Password of the key file.", key="tls.server.keyPassword")
    tls_client_auth: str = setting(
        "none",
        "Whether clients need a certificate.",
        key="tls.server.need.client.auth",
        choices=("none", "optional", "require"),
    )
    tls_trusted: str = setting(
        "", "PEM file of accepted authorities.", key="tls.server.trustCertPath"
    )
    tls_to_name_servers: bool = setting(
        False,
        "Talk TLS to NameServers; always so when this server's own mode is enforcing.",
        key="tls.enable",
    )
    metrics: str = setting("", "HOST:PORT that serves /metrics; empty: off.", key="metricsListen")
