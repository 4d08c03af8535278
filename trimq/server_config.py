"""Settings of the process itself, under RocketMQ's own keys where it has them (NettyServerConfig, TlsSystemConfig)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TLS_MODES = ("disabled", "permissive", "enforcing")


def _key(key: str, default: Any, doc: str, **limits: Any) -> Any:
    return field(default=default, metadata={"key": key, "doc": doc, **limits})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Where to listen and how: the listener's part of ``broker.conf``."""

    bind_address: str = _key("bindAddress", "127.0.0.1", "Address to listen on.")
    store_root: Path = _key("storePathRootDir", Path("data"), "The store directory.")
    channel_idle_seconds: int = _key(
        "serverChannelMaxIdleTimeSeconds",
        120,
        "Silence after which a connection is closed.",
        at_least=1,
    )
    tls_mode: str = _key(
        "tls.server.mode",
        "permissive",
        "TLS on the same port, told by the first byte.",
        choices=TLS_MODES,
    )
    tls_certificate: str = _key("tls.server.certPath", "", "PEM file of the server's certificate.")
    tls_key: str = _key("tls.server.keyPath", "", "PEM file of the certificate's key.")
    tls_key_password: str = _key("tls.server.keyPassword", "", "Password of the key file.")
    tls_client_auth: str = _key(
        "tls.server.need.client.auth",
        "none",
        "Whether clients need a certificate.",
        choices=("none", "optional", "require"),
    )
    tls_trusted: str = _key("tls.server.trustCertPath", "", "PEM file of accepted authorities.")
    metrics: str = _key("metricsListen", "", "HOST:PORT that serves /metrics; empty: off.")
