"""The server's TLS context from settings (TlsHelper, TlsSystemConfig)."""

import ssl

from trimq.remoting.tls import client_context
from trimq.server_config import ServerConfig
from trimq.settings import SettingsError

_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "require": ssl.CERT_REQUIRED,
}


def name_server_context(config: ServerConfig) -> ssl.SSLContext | None:
    """How this broker talks to NameServers: in TLS when they take nothing else."""
    if config.tls_to_name_servers or config.tls_mode == "enforcing":
        return client_context(config.tls_trusted or None)
    return None


def server_context(config: ServerConfig) -> ssl.SSLContext | None:
    """The context, or None when there is no certificate: then a TLS hello is refused."""
    if config.tls_mode == "disabled" or not config.tls_certificate:
        if config.tls_mode == "enforcing":
            raise SettingsError("tls.server.mode=enforcing needs tls.server.certPath and keyPath")
        return None
    if not config.tls_key:
        raise SettingsError("tls.server.certPath needs tls.server.keyPath, the certificate's key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(
            config.tls_certificate, config.tls_key, config.tls_key_password or None
        )
        if config.tls_trusted:
            context.load_verify_locations(config.tls_trusted)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"cannot load tls.server.certPath={config.tls_certificate}"
            f" with tls.server.keyPath={config.tls_key}: {error}"
        ) from error
    context.verify_mode = _CLIENT_AUTH[config.tls_client_auth]
    return context
