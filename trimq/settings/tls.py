"""TLS settings under RocketMQ's names (TlsSystemConfig).

There they are system properties and a file of their own, `tls.config.file`; here broker.conf, namesrv.conf and `--set`
stand for the system properties.
"""

from dataclasses import dataclass
from typing import Final

from trimq.base.setting_fields import setting

TLS_MODES: Final = ("disabled", "permissive", "enforcing")
TLS_FILE: Final = "/etc/rocketmq/tls.properties"
# These count where RocketMQ's system properties do, and not in the file of tls.config.file.
NOT_IN_FILE: Final = frozenset({"tls.server.mode", "tls.enable", "tls.config.file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """Certificates of broker and NameServer, and who has to use TLS."""

    mode: str = setting(
        "permissive",
        "TLS on the same port, recognised by the first byte.",
        key="tls.server.mode",
        choices=TLS_MODES,
    )
    config_file: str = setting(
        TLS_FILE,
        "A file of further `tls.*` settings, which take precedence. Empty: none.",
        key="tls.config.file",
    )
    test_mode: bool = setting(
        True,
        "While no certificate is configured, clients that use TLS get a self-signed one.",
        key="tls.test.mode.enable",
    )
    certificate: str = setting(
        "", "PEM file of the server's certificate and its chain.", key="tls.server.certPath"
    )
    key: str = setting("", "PEM file of the certificate's key.", key="tls.server.keyPath")
    key_password: str = setting(
        "",
        "Password of the key file, if it is encrypted.",
        key="tls.server.keyPassword",
        secret=True,
    )
    client_auth: str = setting(
        "none",
        "Whether clients need a certificate.",
        key="tls.server.need.client.auth",
        choices=("none", "optional", "require"),
    )
    checks_clients: bool = setting(
        False,
        "Without tls.server.trustCertPath, check clients' certificates against the system's "
        "authorities.",
        key="tls.server.authClient",
    )
    authorities: str = setting(
        "",
        "PEM file of the authorities that must have issued clients' certificates.",
        key="tls.server.trustCertPath",
    )
    to_servers: bool = setting(
        False,
        "Use TLS with NameServers and other brokers; always on when this server's own mode "
        "is enforcing.",
        key="tls.enable",
    )
    client_certificate: str = setting(
        "", "PEM file of the certificate to present to them.", key="tls.client.certPath"
    )
    client_key: str = setting("", "PEM file of that certificate's key.", key="tls.client.keyPath")
    client_key_password: str = setting(
        "", "Password of that key file.", key="tls.client.keyPassword", secret=True
    )
    checks_servers: bool = setting(
        False,
        "Without tls.client.trustCertPath, check their certificates against the system's "
        "authorities.",
        key="tls.client.authServer",
    )
    server_authorities: str = setting(
        "",
        "PEM file of the authorities that must have issued their certificates.",
        key="tls.client.trustCertPath",
    )
    ciphers: str = setting(
        "",
        "Allowed cipher suites, separated by commas; empty: OpenSSL's choice.",
        key="tls.ciphers",
    )
    protocols: str = setting(
        "", "TLSv1.2, TLSv1.3 or both, separated by a comma; empty: both.", key="tls.protocols"
    )
