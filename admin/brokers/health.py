"""Whether NameServers and brokers answer, know each other, and take messages.

Servers are asked what every RocketMQ answers, and no more is known of them: the NameServer for its clusters, a broker
for its runtime values and its settings. A broker refuses messages above `diskSpaceWarningLevelRatio` of the disk
(CleanCommitLogService), before `startAcceptSendRequestTimeStamp` (SendMessageProcessor), and without the permission
to be written to. What a server did not want to say is `unknown`, and no fault of it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from socket import gaierror
from typing import Final

from trimq.admin.brokers.runtime import broker_config, broker_runtime
from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import AdminError
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm
from trimq.codec.names import MASTER_ID
from trimq.remoting.errors import TransportError

NAME_SERVER: Final = "NameServer"
BROKER: Final = "broker"
# Per cent of the disk (MessageStoreConfig); the store takes no other limit than one of 35 to 90.
_WARNING: Final = 90
_LEAST_WARNING: Final = 35
_DISKS: Final = {"commitLogDiskRatio": "commit log", "consumeQueueDiskRatio": "consume queues"}


@dataclass(slots=True)
class ServerHealth:
    """One server. `why`: a sentence for each thing that is wrong; `unknown`: for each that could not be asked."""

    kind: str
    addr: str
    # Of a broker, when they are known.
    name: str = ""
    broker_id: int | None = None
    # Where clients are sent, when that is somewhere else.
    told: str = ""
    why: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool | None:
        """None: not known."""
        if self.why:
            return False
        return None if self.unknown else True


Listings = dict[str, ClusterInfo]
"""What NameServers list, by the NameServers' addresses."""


async def name_servers_health(
    link: Link, need_brokers: bool
) -> tuple[list[ServerHealth], Listings]:
    """All NameServers of the link, and what they list. `need_brokers`: one that lists none is not healthy."""
    listings: Listings = {}
    found = []
    for addr in link.name_servers:
        found.append(server := ServerHealth(NAME_SERVER, addr))
        with _noted(server):
            answer = await ask(link, addr, RequestCode.GET_BROKER_CLUSTER_INFO)
            listings[addr] = decode_body(ClusterInfo, answer.body)
            if need_brokers and not _members(listings[addr]):
                server.why.append("it lists no broker")
    return found, listings


async def servers_health(link: Link, broker: str | None, with_others: bool) -> list[ServerHealth]:
    """All NameServers of the link, the broker at that address, and if wanted the others that are listed."""
    found, listings = await name_servers_health(link, need_brokers=broker is None)
    known = set()
    if broker is not None:
        found.append(one := ServerHealth(BROKER, broker))
        await _look_at(link, one, listings)
        known.add((one.name, one.broker_id))
    if with_others:
        for one in _listed(listings):
            if (one.name, one.broker_id) not in known:
                found.append(one)
                await _look_at(link, one, listings)
    return found


def _members(listing: ClusterInfo) -> dict[tuple[str, int], str]:
    """Addresses of brokers by their names and ids."""
    return {
        (name, broker_id): addr
        for name, one in sorted(listing.broker_addr_table.items())
        for broker_id, addr in sorted(one.broker_addrs.items())
    }


def _listed(listings: Listings) -> list[ServerHealth]:
    """All brokers, each where the first NameServer has it that lists it."""
    found: dict[tuple[str, int], str] = {}
    for listing in listings.values():
        found = _members(listing) | found
    return [
        ServerHealth(BROKER, addr, name, broker_id)
        for (name, broker_id), addr in sorted(found.items())
    ]


async def _look_at(link: Link, server: ServerHealth, listings: Listings) -> None:
    """Ask a broker, and look for it in the listings."""
    with _noted(server):
        runtime = await broker_runtime(link, server.addr)
        settings: Mapping[str, str] = {}
        with _noted(server):
            settings = await broker_config(link, server.addr)
        _identify(server, settings, listings)
        server.why += _troubles(server, runtime, settings, link.now())
    if not server.name:
        # It has not said who it is.
        _identify(server, {}, listings)
    server.why += _absences(server, listings)


def _identify(server: ServerHealth, settings: Mapping[str, str], listings: Listings) -> None:
    """By what the broker says of itself, else by its address."""
    if "brokerName" in settings:
        server.name = settings["brokerName"]
        server.broker_id = int(_number(settings.get("brokerId", "0")))
        return
    for listing in listings.values():
        for (name, broker_id), addr in _members(listing).items():
            if addr == server.addr:
                server.name, server.broker_id = name, broker_id
                return


def _absences(server: ServerHealth, listings: Listings) -> Iterator[str]:
    for name_server, listing in listings.items():
        told = _members(listing).get((server.name, server.broker_id or MASTER_ID))
        if told is None:
            yield f"it is not registered with the NameServer {name_server}"
        elif told != server.addr:
            # A name and its address, another address of the same machine, or another broker of that name.
            server.told = told


def _troubles(
    server: ServerHealth, runtime: Mapping[str, str], settings: Mapping[str, str], now: int
) -> Iterator[str]:
    limit = _warning_share(settings)
    for key, what in _DISKS.items():
        share = _number(runtime.get(key, "0"))
        if share > limit:
            yield (
                f"the disk of its {what} is {share:.0%} full: above {limit:.0%} it refuses messages"
            )
    later = (_number(runtime.get("startAcceptSendRequestTimeStamp", "0")) - now) / 1000
    if later > 0:
        yield f"it accepts no messages for {later:.0f} s more (startAcceptSendRequestTimeStamp)"
    is_master = server.broker_id in (None, MASTER_ID)
    if is_master and runtime.get("brokerActive") == "false":
        # A slave of RocketMQ says so all the time.
        yield "it delivers no delayed messages and checks no transactions (brokerActive=false)"
    permission = int(_number(settings.get("brokerPermission", "6")))
    if is_master and not Perm.writable(permission):
        yield f"it refuses messages (brokerPermission={permission})"
    if not Perm.readable(permission):
        yield f"it refuses readers (brokerPermission={permission})"


def _warning_share(settings: Mapping[str, str]) -> float:
    per_cent = _number(settings.get("diskSpaceWarningLevelRatio", str(_WARNING)))
    return min(max(per_cent, _LEAST_WARNING), _WARNING) / 100


def _number(text: str) -> float:
    """0 for what is none."""
    try:
        number = float(text)
    except ValueError:
        return 0
    return number if abs(number) < 1 << 63 else 0


@contextmanager
def _noted(server: ServerHealth) -> Iterator[None]:
    """What fails within is what there is to say of the server."""
    try:
        yield
    except TransportError as error:
        kind = server.unknown if isinstance(error.__cause__, gaierror) else server.why
        kind.append(str(error))
    except (AdminError, CodecError) as error:
        server.unknown.append(str(error))
