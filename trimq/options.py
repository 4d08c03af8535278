"""What a caller chose (flags, files, arguments), resolved to typed configs and addresses."""

import dataclasses
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from trimq import settings
from trimq.broker.config import BrokerConfig
from trimq.broker.registration import name_server_list
from trimq.endpoints import Endpoint, told_address
from trimq.namesrv.config import NamesrvConfig
from trimq.server_config import ServerConfig
from trimq.store.config import StoreConfig
from trimq.store.files import make_durable_directory
from trimq.tls_config import TlsConfig

log = logging.getLogger("trimq.server")

NAMESRV_DEFAULT = "127.0.0.1:9876"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The flags of ``trimq server``; None means: as configured, or the default."""

    config: Path | None = None
    namesrv: str | None = None
    namesrv_listen: str | None = None
    listen: str | None = None
    advertise: str | None = None
    store: Path | None = None
    metrics: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvOptions:
    """The flags of ``trimq namesrv``."""

    listen: str = NAMESRV_DEFAULT
    config: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """Typed configs, and where to listen. ``namesrv_listen`` is None when others are named.

    ``given`` are the texts of the settings in the file and of ``--set``.
    """

    broker: BrokerConfig
    store: StoreConfig
    server: ServerConfig
    tls: TlsConfig
    namesrv: NamesrvConfig
    listen: Endpoint
    namesrv_listen: Endpoint | None
    advertise: Endpoint | None
    metrics: Endpoint | None
    config_file: Path | None = None
    given: Mapping[str, str] = field(default_factory=dict)


def server_plan(options: ServerOptions) -> ServerPlan:
    """Flags win over ``--set``, which wins over the file. Unknown keys are warned of."""
    values = {**(settings.read_file(options.config) if options.config else {}), **options.settings}
    for warning in settings.unknown_keys(
        values, (BrokerConfig, StoreConfig, ServerConfig, TlsConfig, NamesrvConfig)
    ):
        log.warning(warning)
    server = settings.build(ServerConfig, values)
    root = options.store or server.store_root
    if str(root) in ("", "."):
        raise settings.SettingsError("the store directory has no name; give one with --store")
    store = settings.build(StoreConfig, values, root=root)
    broker = settings.build(BrokerConfig, values)
    named = options.namesrv or broker.namesrv_addr
    for address in name_server_list(named or ""):
        Endpoint.parse(address)
    _check_ip("brokerIP1", broker.broker_ip1)
    _check_ip("brokerIP2", broker.broker_ip2)
    namesrv_listen = None
    if not named:
        namesrv_listen = Endpoint.parse(options.namesrv_listen or NAMESRV_DEFAULT)
    elif options.namesrv_listen:
        raise settings.SettingsError(
            f"a NameServer is named already ({named}, by --namesrv or namesrvAddr):"
            " --namesrv-listen would start another one; leave one of them out"
        )
    listen = (
        Endpoint.parse(options.listen)
        if options.listen
        else Endpoint(server.bind_address, broker.listen_port)
    )
    metrics = options.metrics or server.metrics
    return ServerPlan(
        broker=dataclasses.replace(broker, namesrv_addr=named or None),
        store=store,
        server=server,
        tls=settings.build(TlsConfig, values),
        namesrv=settings.build(NamesrvConfig, _beside_the_store(values, root)),
        listen=listen,
        namesrv_listen=namesrv_listen,
        advertise=Endpoint.parse(options.advertise) if options.advertise else None,
        metrics=Endpoint.parse(metrics) if metrics else None,
        config_file=options.config,
        given=values,
    )


def _check_ip(key: str, text: str | None) -> None:
    """Records hold addresses as bytes, so a name will not do."""
    try:
        if text:
            ip_address(text)
    except ValueError:
        raise settings.SettingsError(f"{key}={text}: must be an IP address") from None


def prepare_store(root: Path) -> None:
    """Make the store directory; an error names it and says why it cannot be used."""
    try:
        make_durable_directory(root)
        if not os.access(root, os.W_OK | os.X_OK):
            raise settings.SettingsError(
                f"the store directory {root} cannot be written by this user;"
                " choose another with --store"
            )
    except OSError as error:
        raise settings.SettingsError(
            f"the store directory {root} cannot be used: {error.strerror or error};"
            " choose another with --store"
        ) from error


def _beside_the_store(values: Mapping[str, str], root: Path) -> dict[str, str]:
    """An embedded NameServer keeps its files in the store, not in the user's home directory."""
    own = root / "namesrv"
    return {
        "kvConfigPath": str(own / "kvConfig.json"),
        "configStorePath": str(own / "namesrv.properties"),
        **values,
    }


def told_endpoint(plan: ServerPlan, port: int) -> Endpoint:
    """The address that clients are told: --advertise, else brokerIP1, else where it listens."""
    if plan.advertise is not None:
        return dataclasses.replace(plan.advertise, host=told_address(plan.advertise))
    if plan.broker.broker_ip1:
        return Endpoint(plan.broker.broker_ip1, port)
    return Endpoint(told_address(plan.listen), port)
