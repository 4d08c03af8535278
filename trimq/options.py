"""What a caller chose (flags, files, arguments), resolved to typed configs and addresses."""

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from broker.config import BrokerConfig
from namesrv.config import NamesrvConfig
from store.config import StoreConfig
from trimq import settings
from trimq.endpoints import Endpoint, told_address
from trimq.server_config import ServerConfig

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
    """Typed configs, and where to listen. ``namesrv_listen`` is None when others are named."""

    broker: BrokerConfig
    store: StoreConfig
    server: ServerConfig
    namesrv: NamesrvConfig
    listen: Endpoint
    namesrv_listen: Endpoint | None
    advertise: Endpoint | None
    metrics: Endpoint | None


def server_plan(options: ServerOptions) -> ServerPlan:
    """Flags win over ``--set``, which wins over the file. Unknown keys are warned of."""
    values = {**(settings.read_file(options.config) if options.config else {}), **options.settings}
    for warning in settings.unknown_keys(
        values, (BrokerConfig, StoreConfig, ServerConfig, NamesrvConfig)
    ):
        log.warning(warning)
    server = settings.build(ServerConfig, values)
    root = options.store or server.store_root
    store = settings.build(StoreConfig, values, root=root)
    broker = settings.build(BrokerConfig, values)
    named = options.namesrv or broker.namesrv_addr
    namesrv_listen = None
    if not named:
        namesrv_listen = Endpoint.parse(options.namesrv_listen or NAMESRV_DEFAULT)
    elif options.namesrv_listen:
        raise settings.SettingsError("--namesrv and --namesrv-listen exclude each other")
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
        namesrv=settings.build(NamesrvConfig, _beside_the_store(values, root)),
        listen=listen,
        namesrv_listen=namesrv_listen,
        advertise=Endpoint.parse(options.advertise) if options.advertise else None,
        metrics=Endpoint.parse(metrics) if metrics else None,
    )


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
