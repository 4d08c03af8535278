"""Where every topic is served: what brokers register and what clients are told (RouteInfoManager).

Brokers come by REGISTER_BROKER. They go by UNREGISTER_BROKER, with their connection, or when they
were silent for too long. The real NameServer queues removals for a thread; here they take effect
at once.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import trio

from trimq.codec.bodies.register import RegisterBrokerBody
from trimq.codec.bodies.route import BrokerData, QueueData, TopicRouteData
from trimq.codec.bodies.topics import (
    DataVersion,
    TopicConfigSerializeWrapper,
    TopicQueueMappingInfo,
)
from trimq.codec.flags import Perm
from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader
from trimq.codec.names import MASTER_ID, SYNC_MEMBER_PREFIX
from trimq.namesrv import listing
from trimq.namesrv.brokers import BrokerKey, Brokers, LiveBroker, copy_of
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.duplicate_brokers import DuplicateBrokers
from trimq.namesrv.topic_queues import TopicQueues
from trimq.remoting.contract import Peer
from trimq.remoting.growth_limits import check_room

_log: Final = logging.getLogger("trimq.namesrv")
_DESCRIBED: Final = "cluster=%s name=%s id=%d address=%s"


class Registered(NamedTuple):
    """What a slave learns from its registration; both None for a master."""

    master_address: str | None = None
    ha_address: str | None = None


class MinBrokerListener(Protocol):
    """Told when the lowest id of a broker group has changed."""

    def changed(
        self, addresses: Mapping[int, str], offline_address: str | None, ha_address: str | None
    ) -> None: ...


class RouteTable:
    """Brokers and their topics. Also the listener that drops a broker with its connection."""

    def __init__(
        self,
        config: NamesrvConfig,
        now_millis: Callable[[], int],
        min_broker: MinBrokerListener | None = None,
    ) -> None:
        self._config = config
        self._now = now_millis
        self._min_broker = min_broker
        self._brokers = Brokers()
        self._mappings: dict[str, dict[str, TopicQueueMappingInfo]] = {}
        self.topics = TopicQueues()
        self._rivals = DuplicateBrokers()
        self._changes = 0

    @property
    def changes(self) -> int:
        """Grows whenever an answer of `route` may have become another one."""
        return self._changes + self.topics.changes

    # -- brokers come and go -------------------------------------------------------------------

    def register_broker(
        self,
        header: RegisterBrokerRequestHeader,
        body: RegisterBrokerBody,
        peer: Peer,
        zone_name: str | None = None,
    ) -> Registered | None:
        """Take over a broker and its topics; None refuses it.

        A single topic from a broker that is not registered yet is refused. A newcomer that claims
        the id of a broker with a higher state version is ignored, but not told so.
        """
        self._changes += 1
        key = BrokerKey(header.cluster_name, header.broker_addr)
        version = body.topic_config_serialize_wrapper.data_version
        self._check_room(key, header.broker_name, body.topic_config_serialize_wrapper)
        group = self._brokers.group(header.cluster_name, header.broker_name)
        group.enable_acting_master = bool(header.enable_acting_master)
        group.zone_name = zone_name
        addresses = group.broker_addrs
        lowest_changes = header.broker_id < min(addresses, default=0)
        _drop_other_ids(addresses, header.broker_addr, header.broker_id)
        if self._outdated(key, addresses.get(header.broker_id), version):
            self._brokers.live.pop(key, None)
            return Registered()
        topics = body.topic_config_serialize_wrapper.topic_config_table
        if header.broker_id not in addresses and len(topics) == 1:
            _log.warning(
                f"topic of an unregistered broker refused: {_DESCRIBED}", *_described(header)
            )
            return None
        self._look_for_rival(header, addresses.get(header.broker_id), peer)
        first = not addresses.get(header.broker_id)
        addresses[header.broker_id] = header.broker_addr
        if header.broker_id == MASTER_ID or _is_prime_slave(header, addresses):
            self._take_topics(header, group, body, first or self.is_changed(key, version))
        self._alive(key, header, version, peer)
        self._brokers.set_filter_servers(key, body.filter_server_list)
        if lowest_changes:
            self._tell_lowest(addresses, None, header.ha_server_addr)
        return self._master_of(header, addresses)

    def _check_room(self, key: BrokerKey, name: str, topics: TopicConfigSerializeWrapper) -> None:
        """LimitReached for one broker, or one topic, too many."""
        settings, brokers = self._config, self._brokers
        if key not in brokers.live or not brokers.known(name):
            # A group may be known without any live broker.
            count = max(len(brokers.live), len(brokers.groups))
            check_room(count, settings.namesrv_max_brokers, "brokers", "namesrvMaxBrokers")
        self.topics.check_room(topics.topic_config_table, settings.namesrv_max_topics)

    def unregister_broker(self, cluster: str, address: str, name: str, broker_id: int) -> None:
        """Forget a broker; without a master left, an acting-master group becomes read-only."""
        self._changes += 1
        group = self._brokers.groups.get(name)
        addresses = self._brokers.addresses(name)
        was_lowest = bool(addresses) and broker_id == min(addresses)
        gone = self._brokers.remove_address(name, BrokerKey(cluster, address))
        self._rivals.gone(address)
        _log.info("broker unregistered: cluster=%s name=%s address=%s", cluster, name, address)
        if gone:
            self.topics.remove_broker(name)
        elif group is not None and group.enable_acting_master:
            if min(group.broker_addrs) > MASTER_ID:
                self.topics.wipe_write(name)
            if was_lowest:
                self._tell_lowest(group.broker_addrs, address, None)

    def heard_of(self, cluster: str, address: str) -> None:
        """A broker has shown that it is alive."""
        live = self._brokers.live.get(BrokerKey(cluster, address))
        if live is not None:
            live.heard_at = self._now()

    def data_version(self, cluster: str, address: str) -> DataVersion | None:
        """The version of the topics that a broker registered last."""
        live = self._brokers.live.get(BrokerKey(cluster, address))
        return None if live is None else live.data_version

    def is_changed(self, key: BrokerKey, version: DataVersion) -> bool:
        """Whether a broker's topics are of another version than those it registered."""
        return self.data_version(*key) != version

    def opened(self, peer: Peer) -> None:
        """ConnectionListener: a connection is not a broker until it registers."""

    def closed(self, peer: Peer) -> None:
        """ConnectionListener: the brokers of this connection are gone."""
        gone = [key for key, live in self._brokers.live.items() if live.peer is peer]
        for key in gone:
            self._lose(key, "its connection closed")

    def drop_silent(self) -> None:
        """Forget every broker that was silent for longer than it said, and close its connection."""
        now = self._now()
        silent = [(key, live) for key, live in self._brokers.live.items() if live.expired(now)]
        for key, live in silent:
            # Another one on the same connection may already be gone with it.
            if key in self._brokers.live:
                self._lose(key, "silent for too long")
            live.peer.close("silent for too long")

    async def scan(self) -> None:
        """Background service: looks for silent brokers every now and then."""
        while True:
            await trio.sleep(self._config.scan_not_active_broker_interval / 1000)
            self.drop_silent()

    # -- what is asked -------------------------------------------------------------------------

    def route(self, topic: str) -> TopicRouteData | None:
        """Queues and brokers of a topic; None when no known broker serves it."""
        queues = self.topics.brokers(topic)
        known = [name for name in listing.copied(queues) if self._brokers.known(name)]
        groups = [self._brokers.groups[name] for name in known]
        if not groups:
            return None
        filter_servers: dict[str, list[str]] = {}
        for group in groups:
            addresses = group.broker_addrs.values()
            filter_servers |= self._brokers.filter_servers(group.cluster, addresses)
        found = TopicRouteData(
            queue_datas=[queues[name] for name in listing.grown(queues)],
            broker_datas=[copy_of(group) for group in groups],
            filter_server_table=filter_servers,
            topic_queue_mapping_by_broker=self._mappings.get(topic),
        )
        # Only that prefix's topics never get an acting master.
        if self._config.support_acting_master and not topic.startswith(SYNC_MEMBER_PREFIX):
            _name_acting_masters(found.broker_datas, queues)
        return found

    def clusters(self) -> dict[str, list[str]]:
        """Cluster name -> broker names."""
        known = self._brokers.clusters
        return {name: listing.grown(known[name]) for name in listing.clusters(known)}

    def groups(self) -> dict[str, BrokerData]:
        """Broker name -> members."""
        known = self._brokers.groups
        return {name: known[name] for name in listing.brokers(known)}

    def members(self, broker_name: str) -> dict[int, str]:
        """Broker id -> address of one broker group."""
        return dict(self._brokers.addresses(broker_name))

    def register_topic(self, topic: str, queues: list[QueueData]) -> None:
        """Take over one topic's queues on brokers that are known (REGISTER_TOPIC_IN_NAMESRV)."""
        if queues:
            self.topics.check_room([topic], self._config.namesrv_max_topics)
            self.topics.register(topic, queues, self._brokers.known)

    def delete_topic(self, topic: str, cluster: str | None) -> None:
        """Forget a topic, in one cluster or everywhere."""
        if cluster:
            self.topics.remove(topic, self._brokers.clusters.get(cluster, ()))
        else:
            self.topics.remove(topic)

    # -- parts of a registration ---------------------------------------------------------------

    def _outdated(self, key: BrokerKey, holder: str | None, version: DataVersion) -> bool:
        if not holder or holder == key.address:
            return False
        known = self.data_version(key.cluster, holder)
        if known is None or known.state_version <= version.state_version:
            return False
        _log.warning(
            "broker ignored, another holds its id: address=%s holder=%s", key.address, holder
        )
        return True

    def _look_for_rival(
        self, header: RegisterBrokerRequestHeader, holder: str | None, peer: Peer
    ) -> None:
        if not holder or holder == header.broker_addr:
            return
        other = self._brokers.live.get(BrokerKey(header.cluster_name, holder))
        # A connection that changes its address is a broker that has moved.
        if other is not None and other.peer is not peer and not other.peer.closed:
            self._rivals.met(header, holder)

    def _take_topics(
        self,
        header: RegisterBrokerRequestHeader,
        group: BrokerData,
        body: RegisterBrokerBody,
        changed: bool,
    ) -> None:
        wrapper = body.topic_config_serialize_wrapper
        mappings = wrapper.topic_queue_mapping_info_map
        name = header.broker_name
        if self._config.delete_topic_with_broker_registration and not mappings:
            for topic in self.topics.served_by(name):
                if topic not in wrapper.topic_config_table:
                    self.topics.remove(topic, [name])
        read_only = header.broker_id != MASTER_ID and group.enable_acting_master
        for topic_config in wrapper.topic_config_table.values():
            if changed or not self.topics.serves(name, topic_config.topic_name):
                perm = topic_config.perm & ~Perm.WRITE if read_only else topic_config.perm
                self.topics.put(name, topic_config, perm)
        if changed:
            for topic, mapping in mappings.items():
                self._mappings.setdefault(topic, {})[mapping.bname or name] = mapping

    def _alive(
        self, key: BrokerKey, header: RegisterBrokerRequestHeader, version: DataVersion, peer: Peer
    ) -> None:
        if key not in self._brokers.live:
            _log.info(
                f"broker registered: {_DESCRIBED} peer=%s", *_described(header), peer.remote_addr
            )
        self._brokers.live[key] = LiveBroker(
            version, peer, header.ha_server_addr, self._now(), header.heartbeat_timeout_millis
        )

    def _master_of(
        self, header: RegisterBrokerRequestHeader, addresses: Mapping[int, str]
    ) -> Registered:
        master = addresses.get(MASTER_ID)
        if header.broker_id == MASTER_ID or master is None:
            return Registered()
        live = self._brokers.live.get(BrokerKey(header.cluster_name, master))
        return Registered() if live is None else Registered(master, live.ha_address)

    def _lose(self, key: BrokerKey, why: str) -> None:
        _log.warning("broker lost: cluster=%s address=%s reason=%s", key.cluster, key.address, why)
        known = self._brokers.find(key)
        if known is None:
            self._rivals.gone(key.address)
            del self._brokers.live[key]
        else:
            self.unregister_broker(key.cluster, key.address, *known)

    def _tell_lowest(
        self, addresses: Mapping[int, str], offline: str | None, ha_address: str | None
    ) -> None:
        if self._min_broker is not None and self._config.notify_min_broker_id_changed:
            self._min_broker.changed(addresses, offline, ha_address)


def _described(header: RegisterBrokerRequestHeader) -> tuple[Any, ...]:
    """The values of `_DESCRIBED`."""
    return header.cluster_name, header.broker_name, header.broker_id, header.broker_addr


def _drop_other_ids(addresses: dict[int, str], address: str, broker_id: int) -> None:
    """A slave that became master registers under a new id: an address has only one id."""
    for other in [other for other, known in addresses.items() if known == address]:
        if other != broker_id:
            del addresses[other]


def _is_prime_slave(header: RegisterBrokerRequestHeader, addresses: Mapping[int, str]) -> bool:
    """The lowest slave of a group without master; old brokers don't send enableActingMaster."""
    return header.enable_acting_master is not None and header.broker_id == min(addresses)


def _name_acting_masters(groups: list[BrokerData], queues: Mapping[str, QueueData]) -> None:
    """A read-only group without master shows its lowest slave as broker 0."""
    for group in groups:
        addresses = group.broker_addrs
        if not group.enable_acting_master or not addresses or MASTER_ID in addresses:
            continue
        if not Perm.writable(queues[group.broker_name].perm):
            addresses[MASTER_ID] = addresses.pop(min(addresses))
