"""TLS contexts from settings (TlsHelper).

In RocketMQ a configured certificate counts only with tls.test.mode.enable=false; here it counts always.
"""

import dataclasses
import logging
import ssl
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from trimq.remoting.tls.contexts import (
    ClientTls,
    TlsContext,
    TlsFilesError,
    TlsMode,
    load_authorities,
    load_pair,
)
from trimq.remoting.tls.suites import restrict
from trimq.remoting.wire.handshake import ServerTls
from trimq.settings.parsing import SettingsError, build, read_file, settings_of, unknown_keys
from trimq.settings.tls import NOT_IN_FILE, TLS_FILE, TlsConfig

log = logging.getLogger("trimq.server")

_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "require": ssl.CERT_REQUIRED,
}


def tls_in_force(config: TlsConfig) -> TlsConfig:
    """With the settings of tls.config.file, which take precedence; SettingsError when it cannot be used."""
    file = config.config_file
    if not file or (file == TLS_FILE and not Path(file).exists()):
        return config
    values = read_file(Path(file))
    for key in NOT_IN_FILE & values.keys():
        log.warning(
            "%s in %s has no effect, as in RocketMQ: set it in the server's own file", key, file
        )
    for warning in unknown_keys(values, (TlsConfig,)):
        log.warning("%s: %s", file, warning)
    values = {key: text for key, text in values.items() if key not in NOT_IN_FILE}
    found = build(TlsConfig, values)
    names = [one.attribute for key, one in settings_of(TlsConfig).items() if key in values]
    return dataclasses.replace(config, **{name: getattr(found, name) for name in names})


def server_tls(
    config: TlsConfig, protocols: Sequence[str] = (), key: str = "tls.server.certPath"
) -> ServerTls:
    """How clients may talk to this server, in which of the protocols by ALPN. `key`: what names its certificate.

    SettingsError when files or settings are unusable.
    """
    config = tls_in_force(config)
    mode = TlsMode(config.mode)
    if mode is TlsMode.DISABLED:
        return ServerTls(mode)
    if bool(config.certificate) != bool(config.key):
        given, missing = "certPath", "keyPath, the certificate's key"
        if config.key:
            given, missing = "keyPath", "certPath, the key's certificate"
        raise SettingsError(f"tls.server.{given} needs tls.server.{missing}")
    if not config.certificate and not config.test_mode:
        raise SettingsError(
            "tls.test.mode.enable=false needs tls.server.certPath and tls.server.keyPath;"
            " with tls.server.mode=disabled no certificate is needed"
        )
    _check_client_auth(config)
    files = (config.certificate, config.key, config.authorities)
    source = TlsContext(partial(_server_context, config, protocols, key), files)
    try:
        if config.certificate:
            source.current()
        else:
            # The self-signed certificate is made when somebody asks for it; the rest is tried now.
            _restrict(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), config)
    except TlsFilesError as error:
        raise SettingsError(str(error)) from error
    return ServerTls(mode, source)


def _check_client_auth(config: TlsConfig) -> None:
    """RocketMQ accepts any certificate then; a server that demands one is meant to check it."""
    if config.client_auth == "require" and not (config.authorities or config.checks_clients):
        raise SettingsError(
            "tls.server.need.client.auth=require needs tls.server.trustCertPath, the authorities that"
            " clients' certificates must come from"
        )


def _server_context(config: TlsConfig, protocols: Sequence[str], key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    if config.certificate:
        load_pair(context, config.certificate, config.key, config.key_password)
    else:
        # Imported with the first TLS hello: a server that never gets one need not wait for it.
        try:
            from trimq.process.self_signed import load_self_signed
        except ImportError as error:
            raise TlsFilesError(
                f"no certificate is configured, and none can be made without 'cryptography': {error}"
            ) from error
        load_self_signed(context)
        log.info("self-signed certificate made: no %s is configured", key)
    _restrict(context, config)
    return context


def _restrict(context: ssl.SSLContext, config: TlsConfig) -> None:
    """What does not depend on a certificate; TlsFilesError."""
    if config.authorities:
        load_authorities(context, config.authorities)
    elif config.checks_clients:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    if config.authorities or config.checks_clients:
        context.verify_mode = _CLIENT_AUTH[config.client_auth]
    try:
        restrict(context, config.ciphers, config.protocols)
    except ValueError as error:
        raise TlsFilesError(str(error)) from None


def name_server_context(config: TlsConfig) -> TlsContext | None:
    """How this broker talks to NameServers and other brokers; None: plain text."""
    config = tls_in_force(config)
    if not config.to_servers and config.mode != TlsMode.ENFORCING:
        return None
    client = ClientTls(
        authorities=config.server_authorities,
        checked=config.checks_servers,
        # Addresses in routes are mostly numbers, and certificates are seldom issued for those.
        named=False,
        certificate=config.client_certificate,
        key=config.client_key,
        password=config.client_key_password,
        ciphers=config.ciphers,
        protocols=config.protocols,
    )
    source = TlsContext(client.context, client.files)
    try:
        source.current()
    except TlsFilesError as error:
        raise SettingsError(str(error)) from error
    return source
