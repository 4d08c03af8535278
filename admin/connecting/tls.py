"""How the tools' flags and RocketMQ's tls.properties say whether and how to use TLS.

FLAGS are those that `mqadmin` and `trimq offsets report` share.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.codec.java.properties import decode_properties, read_properties
from trimq.remoting.tls.contexts import ClientTls, TlsFilesError


@dataclass(frozen=True, slots=True)
class Flag:
    """`--name`, or `variable` in the environment; without a `metavar` it stands alone."""

    name: str
    variable: str
    help: str
    metavar: str | None = None

    @property
    def key(self) -> str:
        """What a command calls its value."""
        return self.name.removeprefix("--").replace("-", "_")


def _flag(name: str, help_text: str, metavar: str | None = None) -> Flag:
    variable = "MQADMIN_" + name.removeprefix("--").replace("-", "_").upper()
    return Flag(name, variable, f"{help_text}; or {variable}.", metavar)


FLAGS: Final = (
    _flag("--tls", "Use TLS and accept any certificate"),
    _flag(
        "--tls-ca",
        "PEM file of the authorities that must have issued servers' certificates",
        "FILE",
    ),
    _flag("--tls-any-name", "With --tls-ca: accept certificates issued for other hosts"),
    _flag(
        "--tls-cert", "PEM file of a certificate to present, for servers that ask for one", "FILE"
    ),
    _flag("--tls-key", "PEM file of its key", "FILE"),
    _flag("--tls-key-password", "The key's password", "SECRET"),
    _flag("--tls-config", "RocketMQ's tls.properties file with tls.client.* settings", "FILE"),
)


def client_tls(given: Mapping[str, object]) -> ClientTls | None:
    """From the flags' values by their keys; None: plain text. TlsFilesError when they are unusable."""
    texts = {flag.key: str(given.get(flag.key) or "") for flag in FLAGS if flag.metavar}
    if not any(given.get(flag.key) for flag in FLAGS):
        return None
    base = of_properties(texts["tls_config"]) if texts["tls_config"] else ClientTls()
    chosen = ClientTls(
        authorities=texts["tls_ca"] or base.authorities,
        checked=base.checked,
        named=base.named if not texts["tls_ca"] else not given.get("tls_any_name"),
        certificate=texts["tls_cert"] or base.certificate,
        key=texts["tls_key"] or base.key,
        password=texts["tls_key_password"] or base.password,
        ciphers=base.ciphers,
        protocols=base.protocols,
    )
    # Unusable values are reported before any server is asked.
    chosen.context()
    return chosen


def of_properties(file: str) -> ClientTls:
    """What a file for RocketMQ's `tls.config.file` says about clients; TlsFilesError."""
    try:
        values = read_properties(decode_properties(Path(file).read_bytes()))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TlsFilesError(f"cannot read {file}: {reason}") from None
    return ClientTls(
        authorities=values.get("tls.client.trustCertPath", ""),
        checked=values.get("tls.client.authServer", "").lower() == "true",
        # RocketMQ's clients do not look at names.
        named=False,
        certificate=values.get("tls.client.certPath", ""),
        key=values.get("tls.client.keyPath", ""),
        password=values.get("tls.client.keyPassword", ""),
        ciphers=values.get("tls.ciphers", ""),
        protocols=values.get("tls.protocols", ""),
    )
