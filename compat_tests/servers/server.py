"""What the tests know about a server, be it the real one or TriMQ."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

# Both kinds of server are started with these settings; everything else is RocketMQ's default.
# The delay levels keep their number (retry uses level 3 and up) but shrink to seconds.
COMMON_SETTINGS: Final[dict[str, str]] = {
    "brokerClusterName": "DefaultCluster",
    "brokerName": "broker-a",
    "brokerId": "0",
    "brokerIP1": "127.0.0.1",
    "autoCreateTopicEnable": "true",
    "messageDelayLevel": "1s 3s 1s 1s 2s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s",
}
# Java's names; the certificates' keys are of elliptic curves.
TLS_CIPHERS: Final = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"


@dataclass(frozen=True)
class Tls:
    """Files of a server's and a client's certificate and of the authority that signed both."""

    certificate: Path
    key: Path
    authority: Path
    client: Path
    client_key: Path

    def copied_to(self, folder: Path) -> Tls:
        """The same files in another folder."""
        files = (self.certificate, self.key, self.authority, self.client, self.client_key)
        return Tls(*(Path(shutil.copy(file, folder)) for file in files))

    def write_properties(self, file: Path) -> Path:
        """What servers and clients take by tls.config.file: nobody without a certificate, one version, few ciphers."""
        settings = {
            "tls.test.mode.enable": "false",
            "tls.server.need.client.auth": "require",
            "tls.server.keyPath": self.key,
            "tls.server.certPath": self.certificate,
            "tls.server.authClient": "true",
            "tls.server.trustCertPath": self.authority,
            "tls.client.authServer": "true",
            "tls.client.trustCertPath": self.authority,
            "tls.client.certPath": self.client,
            "tls.client.keyPath": self.client_key,
            "tls.protocols": "TLSv1.2",
            "tls.ciphers": TLS_CIPHERS,
        }
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return file


@dataclass(frozen=True)
class Options:
    """How a server is started: broker.conf keys on top of COMMON_SETTINGS, and TLS."""

    settings: dict[str, str] = field(default_factory=dict)
    tls: Tls | None = None

    def merged(self) -> dict[str, str]:
        return {**COMMON_SETTINGS, **self.settings}


class Server(Protocol):
    """A NameServer and a broker that clients can use."""

    @property
    def kind(self) -> str:
        """``real`` or ``trimq``."""

    @property
    def namesrv_addr(self) -> str: ...

    @property
    def broker_addr(self) -> str: ...

    @property
    def broker_pid(self) -> int: ...

    def restart(self) -> None:
        """Clean stop and start of everything on the same ports and files."""

    def kill9(self) -> None:
        """SIGKILL and start of everything on the same ports and files."""

    def restart_namesrv(self) -> None:
        """Clean stop and start of the NameServer alone."""

    def stop(self) -> None: ...


def write_broker_conf(file: Path, settings: dict[str, str]) -> Path:
    file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    return file
