"""What a caller chose for a proxy (flags, `rmq-proxy.json`), resolved to typed configs and addresses."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from trimq.base.setting_fields import Refusal, setting, unless
from trimq.proxy.config import ProxyConfig
from trimq.remoting.wire.proxy_protocol import Networks, parse_networks
from trimq.settings.endpoints import AddressSyntaxError, Endpoint
from trimq.settings.parsing import SettingsError, build, settings_of
from trimq.settings.proxy_extra import check_extra
from trimq.settings.proxy_file import read_proxy_file
from trimq.settings.proxy_keys import unheeded_by_proxy
from trimq.settings.sources import Sources, check_keys, refuse_keys
from trimq.settings.tls import TlsConfig

DEFAULT_NAMESRV: Final = "127.0.0.1:9876"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyListening:
    """Where a proxy is, and by which certificate it is known."""

    mode: str = setting(
        "CLUSTER",
        "Before the brokers of a cluster.",
        key="proxyMode",
        refused=Refusal(
            unless("cluster", "CLUSTER", "Cluster"),
            "a proxy is a process of its own here, before any brokers: set proxyMode=cluster, and"
            " 'trimq server --grpc HOST:PORT' starts a broker with its proxy",
        ),
    )
    bind_address: str = setting(
        "127.0.0.1", "Address to listen on.", key="bindAddress", guarded=True, own=True
    )
    advertise: str = setting(
        "",
        "HOST:PORT that clients are told; empty: the address that each has called.",
        key="grpcAdvertise",
        guarded=True,
        own=True,
    )
    balancers: Networks = setting(
        (),
        "Addresses and networks, separated by commas, of load balancers that may say in a PROXY preamble (version 1 or"
        " 2) whose connection they forward; a preamble from anybody else closes the connection.",
        key="proxyProtocolFrom",
        parse=parse_networks,
        shown="",
        guarded=True,
        own=True,
    )
    tls_test_mode: bool = setting(
        True,
        "While no certificate is configured, clients that use TLS get a self-signed one.",
        key="tlsTestModeEnable",
    )
    tls_certificate: str = setting(
        "",
        "PEM file of the certificate and its chain. It counts whatever tlsTestModeEnable says.",
        key="tlsCertPath",
        guarded=True,
        rocketmq_default="/conf/tls/rocketmq.crt",
        why="there is no home directory of RocketMQ's here",
    )
    tls_key: str = setting(
        "",
        "PEM file of the certificate's key.",
        key="tlsKeyPath",
        guarded=True,
        rocketmq_default="/conf/tls/rocketmq.key",
        why="there is no home directory of RocketMQ's here",
    )
    tls_key_password: str = setting(
        "", "Password of the key file, if it is encrypted.", key="tlsKeyPassword", secret=True
    )


PROXY_CONFIGS: Final[tuple[type[Any], ...]] = (ProxyConfig, ProxyListening)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFlags:
    """The flags of ``trimq proxy``; None means: as configured, or the default."""

    config: Path | None = None
    namesrv: str | None = None
    listen: str | None = None
    advertise: str | None = None
    mode: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProxyPlan:
    """`advertise`: HOST:PORT that clients are told; empty: what they have called. `balancers` may send preambles."""

    listen: Endpoint
    name_servers: tuple[str, ...]
    config: ProxyConfig
    advertise: str = ""
    tls: TlsConfig = TlsConfig()
    balancers: Networks = ()


def proxy_plan(flags: ProxyFlags, *, says: bool = True) -> ProxyPlan:
    """Flags win over ``--set``, which wins over the file. SettingsError, AddressSyntaxError.

    `says`: whether what has no effect is logged; who only looks leaves that to the proxy.
    """
    check_extra()
    texts = {} if flags.config is None else read_proxy_file(flags.config)
    texts |= flags.settings
    if flags.mode is not None:
        texts["proxyMode"] = flags.mode
    sources = Sources(texts=texts, commanded=frozenset(flags.settings), file=flags.config)
    configs = (*PROXY_CONFIGS, TlsConfig)
    if says:
        check_keys(sources, configs, foreign=unheeded_by_proxy())
    else:
        refuse_keys(sources, configs, unheeded_by_proxy())
    config = build(ProxyConfig, texts)
    listening = build(ProxyListening, texts)
    name_servers = _name_servers(flags, config)
    advertise = flags.advertise or listening.advertise
    if advertise:
        _endpoint("--advertise" if flags.advertise else "grpcAdvertise", advertise)
    return ProxyPlan(
        listen=_endpoint("--listen", flags.listen)
        if flags.listen
        else Endpoint(listening.bind_address, config.grpc_server_port),
        name_servers=name_servers,
        config=replace(config, namesrv_addr=";".join(name_servers)),
        advertise=advertise,
        tls=_tls(listening, build(TlsConfig, texts)),
        balancers=listening.balancers,
    )


def _name_servers(flags: ProxyFlags, config: ProxyConfig) -> tuple[str, ...]:
    """The environment's NAMESRV_ADDR counts least."""
    if flags.namesrv is not None and not flags.namesrv.strip(",; "):
        raise SettingsError(
            f"--namesrv '{flags.namesrv}' names no NameServer: give HOST:PORT, or leave it out for {DEFAULT_NAMESRV}"
        )
    for namer, text in (
        ("--namesrv", flags.namesrv),
        ("namesrvAddr", config.namesrv_addr),
        ("NAMESRV_ADDR", os.environ.get("NAMESRV_ADDR")),
        ("", DEFAULT_NAMESRV),
    ):
        found = [part.strip() for part in (text or "").replace(",", ";").split(";")]
        if any(found):
            return tuple(str(_endpoint(namer, address)) for address in found if address)
    raise SettingsError("no NameServer is named")


def _tls(listening: ProxyListening, tls: TlsConfig) -> TlsConfig:
    """The proxy's own keys stand for those of servers, which the command line may give as well."""
    certificate = listening.tls_certificate or tls.certificate
    key = listening.tls_key or tls.key
    if bool(certificate) != bool(key):
        given, missing = (
            ("tlsCertPath", "tlsKeyPath") if certificate else ("tlsKeyPath", "tlsCertPath")
        )
        raise SettingsError(f"{given} needs {missing}")
    test_mode = listening.tls_test_mode and tls.test_mode
    if not test_mode and not certificate and tls.mode != "disabled":
        raise SettingsError("tlsTestModeEnable=false needs tlsCertPath and tlsKeyPath")
    return replace(
        tls,
        test_mode=test_mode,
        certificate=certificate,
        key=key,
        key_password=listening.tls_key_password or tls.key_password,
    )


def _endpoint(given_by: str, text: str) -> Endpoint:
    try:
        return Endpoint.parse(text)
    except AddressSyntaxError as error:
        raise AddressSyntaxError(f"{given_by}: {error}") from None


def known_keys() -> set[str]:
    """All that a proxy's file may say without a warning that they do not exist."""
    configs = (*PROXY_CONFIGS, TlsConfig)
    return {key for config in configs for key in settings_of(config)} | unheeded_by_proxy().keys()
