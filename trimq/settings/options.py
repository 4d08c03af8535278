"""What a caller chose (flags, files, arguments), resolved to typed configs and addresses."""

import dataclasses
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trimq.base.user_ids import user_ids
from trimq.broker.cluster.registration import name_server_list
from trimq.broker.config import SLAVE, SYNC_MASTER, BrokerConfig
from trimq.namesrv.config import NamesrvConfig
from trimq.replication.config import ReplicationConfig
from trimq.settings import parsing as settings
from trimq.settings.endpoints import (
    AddressError,
    AddressSyntaxError,
    Endpoint,
    address_of,
    told_address,
)
from trimq.settings.listening import broker_endpoints
from trimq.settings.passed_sockets import METRICS, NAMESRV, SLAVES
from trimq.settings.process import ServerConfig
from trimq.settings.proxy_seat import ProxySeat, proxy_seat
from trimq.settings.sources import Sources, check_keys, given, only_of, with_changes
from trimq.settings.tls import TlsConfig
from trimq.store.config import StoreConfig
from trimq.store.disk.files import make_durable_directory

log = logging.getLogger("trimq.server")

NAMESRV_DEFAULT = "127.0.0.1:9876"
_BROKER_CONFIGS = (BrokerConfig, StoreConfig, ReplicationConfig, ServerConfig, TlsConfig)
_NAMESRV_CONFIGS = (NamesrvConfig, ServerConfig, TlsConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The flags of ``trimq server``; None means: as configured, or the default."""

    config: Path | None = None
    namesrv: str | None = None
    namesrv_listen: str | None = None
    listen: str | None = None
    advertise: str | None = None
    advertise_file: Path | None = None
    store: Path | None = None
    metrics: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    # One of several brokers under a supervisor.
    supervised: bool = False
    # Where a test may ask for time and faults, and whether others than this machine may reach that.
    hand: str | None = None
    hand_insecure: bool = False
    # Where the 5.x clients are served, the proxy's own file, and words of its command that say how it logs.
    grpc: str | None = None
    grpc_config: Path | None = None
    log_words: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvOptions:
    """The flags of ``trimq namesrv``; None means: as configured, or the default."""

    listen: str | None = None
    config: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamesrvPlan:
    """A NameServer's typed configs, where they came from, and where to listen."""

    namesrv: NamesrvConfig
    server: ServerConfig
    tls: TlsConfig
    listen: Endpoint
    sources: Sources


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """Typed configs, where they came from, and where to listen.

    ``embedded`` is the NameServer of the same process; None when others are named. ``more_hosts``: where the broker
    listens as well.
    """

    broker: BrokerConfig
    store: StoreConfig
    server: ServerConfig
    tls: TlsConfig
    listen: Endpoint
    embedded: NamesrvPlan | None
    advertise: Endpoint | None
    metrics: Endpoint | None
    replication: ReplicationConfig = ReplicationConfig()
    supervised: bool = False
    sources: Sources = Sources()
    more_hosts: Sequence[str] = ()
    # Waited for, and what counts for clients then.
    advertise_file: Path | None = None
    # Where the hand is served.
    hand: Endpoint | None = None
    # The proxy beside it.
    grpc: ProxySeat | None = None

    def listens_on(self) -> Iterator[tuple[str, Endpoint]]:
        """Each address, and what it is for (passed_sockets.py)."""
        if self.embedded is not None:
            yield NAMESRV, self.embedded.listen
        if self.listen.port:
            ports = broker_endpoints(self.listen, self.replication.ha_listen_port, self.more_hosts)
            # The port for slaves is closed where none is served.
            yield from (one for one in ports if one[0] != SLAVES or self.serves_slaves)
        if self.metrics is not None:
            yield METRICS, self.metrics

    @property
    def serves_slaves(self) -> bool:
        """Whether the log may be fetched from the port for slaves."""
        wanted = self.replication.ha_enable
        return wanted == "true" or (wanted == "auto" and self.tls.mode != "enforcing")

    @property
    def waits_for_disk(self) -> bool:
        """Whether replies to producers wait until their message is on the disk."""
        return self.store.flush_disk_type == "SYNC_FLUSH"

    @property
    def waits_for_slaves(self) -> bool:
        """Whether replies to producers wait until slaves have their message (CommitLog.needHandleHA)."""
        return self.broker.broker_role == SYNC_MASTER and self.replication.in_sync_replicas > 1

    @property
    def replies_wait(self) -> bool:
        """Whether they wait for anything."""
        return self.waits_for_disk or self.waits_for_slaves

    @property
    def is_slave(self) -> bool:
        """Whether this broker copies another one's log."""
        return self.broker.broker_role == SLAVE


def server_plan(options: ServerOptions) -> ServerPlan:
    """Flags win over ``--set``, which wins over the file. Unknown keys are warned of."""
    sources = given(options.config, options.settings)
    root = options.store or settings.build(StoreConfig, sources.texts).root
    if str(root) in ("", "."):
        raise settings.SettingsError("the store directory has no name; give one with --store")
    sources = with_changes(sources, root / "config/broker.properties", _BROKER_CONFIGS)
    server = settings.build(ServerConfig, sources.texts)
    store = settings.build(StoreConfig, sources.texts, root=root)
    broker = settings.build(BrokerConfig, sources.texts)
    named = _named_servers(options, sources, broker)
    if named:
        check_keys(sources, _BROKER_CONFIGS, (NamesrvConfig,))
    else:
        check_keys(sources, (NamesrvConfig, *_BROKER_CONFIGS))
    for address in name_server_list(named or ""):
        _endpoint(_namer(options, sources), address)
    _check_host("brokerIP1", broker.broker_ip1)
    _check_host("brokerIP2", broker.broker_ip2)
    replication = settings.build(ReplicationConfig, sources.texts)
    if broker.broker_role == SLAVE:
        _check_master(replication.ha_master_address)
    embedded = None if named else _embedded(options, sources, root)
    listen = (
        _endpoint("--listen", options.listen)
        if options.listen
        else Endpoint(server.bind_address, broker.listen_port)
    )
    if options.advertise and options.advertise_file:
        raise settings.SettingsError(
            "--advertise and --advertise-file both say what clients are told; leave one of them out"
        )
    return ServerPlan(
        broker=dataclasses.replace(
            broker, namesrv_addr=named or None, broker_id=_broker_id(broker)
        ),
        store=store,
        server=server,
        tls=settings.build(TlsConfig, sources.texts),
        listen=listen,
        embedded=embedded,
        advertise=_endpoint("--advertise", options.advertise) if options.advertise else None,
        metrics=metrics_endpoint(options, server.metrics),
        replication=replication,
        supervised=options.supervised,
        sources=sources,
        advertise_file=options.advertise_file,
        hand=hand_endpoint(options),
        grpc=proxy_seat(options.grpc, options.grpc_config, options.log_words),
    )


def _endpoint(given_by: str, text: str) -> Endpoint:
    """The address of a flag or a setting; an error names it."""
    try:
        return Endpoint.parse(text)
    except AddressSyntaxError as error:
        raise AddressSyntaxError(f"{given_by}: {error}") from None


def _broker_id(broker: BrokerConfig) -> int:
    """As BrokerStartup has it: a master is always 0, a slave never."""
    if broker.broker_role != SLAVE:
        return 0
    if broker.broker_id <= 0:
        raise settings.SettingsError(
            f"brokerId={broker.broker_id}: a slave needs a number above 0 that no other broker of its name has,"
            " for example brokerId=1"
        )
    return broker.broker_id


def _named_servers(options: ServerOptions, sources: Sources, broker: BrokerConfig) -> str | None:
    """The NameServers to register with; None when one is to be embedded.

    The environment's NAMESRV_ADDR counts least: saying where the embedded one listens means wanting
    it.
    """
    named = options.namesrv or sources.texts.get("namesrvAddr", "").strip()
    if named and options.namesrv_listen:
        raise settings.SettingsError(
            f"a NameServer is already named ({named}, by --namesrv or namesrvAddr):"
            " --namesrv-listen would start another one; leave one of them out"
        )
    if named or not broker.namesrv_addr:
        return named or None
    if options.namesrv_listen:
        log.warning(
            "the environment's NAMESRV_ADDR is not used, --namesrv-listen starts a NameServer here: NAMESRV_ADDR=%s",
            broker.namesrv_addr,
        )
        return None
    log.info(
        "no NameServer is started here, those of the environment's NAMESRV_ADDR are used: namesrv=%s",
        broker.namesrv_addr,
    )
    return broker.namesrv_addr


def _namer(options: ServerOptions, sources: Sources) -> str:
    """What has named the NameServers."""
    if options.namesrv:
        return "--namesrv"
    return "namesrvAddr" if "namesrvAddr" in sources.texts else "NAMESRV_ADDR"


def _embedded(options: ServerOptions, sources: Sources, root: Path) -> NamesrvPlan:
    """An embedded NameServer keeps its files in the store, not in the user's home directory."""
    own = root / "namesrv"
    beside = {
        "kvConfigPath": str(own / "kvConfig.json"),
        "configStorePath": str(own / "namesrv.properties"),
    }
    mine = only_of(sources, _NAMESRV_CONFIGS)
    mine = dataclasses.replace(mine, texts={**beside, **mine.texts})
    endpoint = _endpoint("--namesrv-listen", options.namesrv_listen or NAMESRV_DEFAULT)
    return _namesrv_plan(mine, endpoint)


def namesrv_plan(options: NamesrvOptions) -> NamesrvPlan:
    """A NameServer on its own; listenPort and bindAddress of its file count unless --listen is given."""
    sources = given(options.config, options.settings)
    check_keys(sources, _NAMESRV_CONFIGS, (BrokerConfig, StoreConfig))
    server = settings.build(ServerConfig, sources.texts)
    port = settings.build(NamesrvConfig, sources.texts).listen_port
    endpoint = (
        _endpoint("--listen", options.listen)
        if options.listen
        else Endpoint(server.bind_address, port)
    )
    return _namesrv_plan(sources, endpoint)


def _namesrv_plan(sources: Sources, listen: Endpoint) -> NamesrvPlan:
    kept = settings.build(NamesrvConfig, sources.texts).config_store_path
    sources = with_changes(sources, kept, (NamesrvConfig,))
    shown = {"listenPort": str(listen.port), "bindAddress": listen.host}
    return NamesrvPlan(
        namesrv=settings.build(NamesrvConfig, sources.texts),
        server=settings.build(ServerConfig, sources.texts),
        tls=settings.build(TlsConfig, sources.texts),
        listen=listen,
        sources=dataclasses.replace(sources, shown=shown),
    )


def _check_master(text: str | None) -> None:
    """Whether there is such a host is seen when the slave connects: it may be down now."""
    if not text:
        return
    instead = "name the master's host and its haListenPort, or leave it out and the slave asks NameServers"
    try:
        endpoint = Endpoint.parse(text)
        endpoint.host.encode("idna")
    except AddressSyntaxError as error:
        raise AddressSyntaxError(f"haMasterAddress: {error}; {instead}") from None
    except UnicodeError:
        raise AddressSyntaxError(f"haMasterAddress={text}: no host's name; {instead}") from None
    if not endpoint.port:
        raise AddressSyntaxError(f"haMasterAddress={text}: nobody's port; {instead}")


def _check_host(key: str, text: str | None) -> None:
    """Routes keep a name as it is, records hold its address."""
    try:
        if text:
            address_of(text)
    except AddressError as error:
        raise settings.SettingsError(
            f"{key}={text}: must be an IP address, or a name that this machine can resolve ({error})"
        ) from None


def prepare_store(root: Path) -> None:
    """Make the store directory; an error names it and says why it cannot be used."""
    if root.is_symlink() and not root.exists():
        raise settings.SettingsError(
            f"the store directory {root} is a link to {root.readlink()}, which is not there;"
            " make that folder, mount its disk, or choose another with --store"
        )
    try:
        make_durable_directory(root)
        if not os.access(root, os.W_OK | os.X_OK):
            raise settings.SettingsError(
                f"the store directory {root} cannot be written by this user ({user_ids()});"
                " let it, or choose another with --store"
            )
    except OSError as error:
        raise settings.SettingsError(
            f"the store directory {root} cannot be used: {error.strerror or error} ({user_ids()});"
            " choose another with --store"
        ) from error


def told_endpoint(plan: ServerPlan, port: int) -> Endpoint:
    """The address that clients are told: --advertise, else brokerIP1, else where it listens.

    `port` is the one that the broker listens on, which port 0 of --advertise means too.
    """
    if plan.advertise is not None:
        return Endpoint(told_address(plan.advertise), plan.advertise.port or port)
    if plan.broker.broker_ip1:
        return Endpoint(plan.broker.broker_ip1, port)
    return Endpoint(told_address(plan.listen), port)


def hand_endpoint(options: ServerOptions) -> Endpoint | None:
    """None: this server is in nobody's hand. SettingsError beyond the loopback, unless that is said."""
    if options.hand is None:
        if options.hand_insecure:
            raise settings.SettingsError("--hand-insecure says nothing without --hand")
        return None
    port = options.hand.removeprefix(":")
    endpoint = _endpoint("--hand", f"127.0.0.1:{port}" if port.isdecimal() else options.hand)
    if endpoint.host not in ("127.0.0.1", "localhost", "::1") and not options.hand_insecure:
        raise settings.SettingsError(
            f"--hand {endpoint} would let everybody who reaches it stop this server and delete what it has:"
            " listen on 127.0.0.1, or add --hand-insecure"
        )
    return endpoint


def metrics_endpoint(options: ServerOptions, configured: str = "") -> Endpoint | None:
    """A port alone listens on this machine only: metrics are nobody else's business. None: not served."""
    text = (options.metrics or configured).strip()
    if not text:
        return None
    port = text.removeprefix(":")
    name = "--metrics" if options.metrics else "metricsListen"
    return _endpoint(name, f"127.0.0.1:{port}" if port.isdecimal() else text)
