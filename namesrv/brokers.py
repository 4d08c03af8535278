"""Which brokers there are and when each was last heard from (RouteInfoManager's broker tables)."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from trimq.codec.bodies.route import BrokerData
from trimq.codec.bodies.topics import DataVersion
from trimq.remoting.contract import Peer

# For a broker that does not name a time (DEFAULT_BROKER_CHANNEL_EXPIRED_TIME).
DEFAULT_TIMEOUT_MILLIS: Final = 120_000


class BrokerKey(NamedTuple):
    """A broker process: its cluster and the address that clients are told."""

    cluster: str
    address: str


class LiveBroker:
    """What one broker last registered with."""

    __slots__ = ("data_version", "ha_address", "heard_at", "peer", "timeout_millis")

    def __init__(
        self,
        data_version: DataVersion,
        peer: Peer,
        ha_address: str | None,
        heard_at: int,
        timeout_millis: int | None,
    ) -> None:
        self.data_version = data_version
        self.peer = peer
        self.ha_address = ha_address
        self.heard_at = heard_at
        self.timeout_millis = DEFAULT_TIMEOUT_MILLIS if timeout_millis is None else timeout_millis

    def expired(self, now: int) -> bool:
        return self.heard_at + self.timeout_millis < now


class Brokers:
    """Clusters, broker groups (one name, several ids), live brokers and their filter servers."""

    def __init__(self) -> None:
        self.clusters: dict[str, set[str]] = {}
        self.groups: dict[str, BrokerData] = {}
        self.live: dict[BrokerKey, LiveBroker] = {}
        self._filter_servers: dict[tuple[str | None, str], list[str]] = {}

    def known(self, broker_name: str) -> bool:
        return broker_name in self.groups

    def group(self, cluster: str, name: str) -> BrokerData:
        """The group of that name, created if it is new."""
        self.clusters.setdefault(cluster, set()).add(name)
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = BrokerData(cluster=cluster, broker_name=name)
        return found

    def addresses(self, name: str) -> dict[int, str]:
        """Broker id -> address of one group; empty for an unknown one."""
        found = self.groups.get(name)
        return {} if found is None else found.broker_addrs

    def remove_address(self, name: str, key: BrokerKey) -> bool:
        """Forget one member; True when the group, and with it maybe its cluster, went too."""
        self.live.pop(key, None)
        self._filter_servers.pop(key, None)
        group = self.groups.get(name)
        if group is None:
            return False
        for broker_id, address in list(group.broker_addrs.items()):
            if address == key.address:
                del group.broker_addrs[broker_id]
        if group.broker_addrs:
            return False
        del self.groups[name]
        names = self.clusters.get(key.cluster, set())
        names.discard(name)
        if not names:
            self.clusters.pop(key.cluster, None)
        return True

    def find(self, key: BrokerKey) -> tuple[str, int] | None:
        """Name and id under which that process is registered."""
        for name, group in self.groups.items():
            if group.cluster == key.cluster:
                for broker_id, address in group.broker_addrs.items():
                    if address == key.address:
                        return name, broker_id
        return None

    def set_filter_servers(self, key: BrokerKey, servers: list[str] | None) -> None:
        """None leaves unchanged what is known."""
        if servers:
            self._filter_servers[key] = servers
        elif servers is not None:
            self._filter_servers.pop(key, None)

    def filter_servers(self, cluster: str | None, addresses: Iterable[str]) -> dict[str, list[str]]:
        """Broker address -> filter servers, where there are any."""
        found: dict[str, list[str]] = {}
        for address in addresses:
            servers = self._filter_servers.get((cluster, address))
            if servers is not None:
                found[address] = servers
        return found


def copy_of(group: BrokerData) -> BrokerData:
    """A copy that a reply may change; the lowest id comes first, as in Java's tables of numbers."""
    return msgspec.structs.replace(group, broker_addrs=dict(sorted(group.broker_addrs.items())))
