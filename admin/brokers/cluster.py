"""Clusters, their brokers, and routes of topics."""

from trimq.admin.connecting.link import Link, ask_name_server
from trimq.admin.errors import Invalid, NoRoute, NotFound, Refused
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.route import BrokerData, TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.names import MASTER_ID, RETRY_PREFIX


async def cluster_info(link: Link) -> ClusterInfo:
    """Every cluster and broker that is registered with the NameServer."""
    answer = await ask_name_server(link, RequestCode.GET_BROKER_CLUSTER_INFO)
    return decode_body(ClusterInfo, answer.body)


async def topic_route(link: Link, topic: str) -> TopicRouteData:
    """Which brokers have which queues of the topic; NoRoute when no NameServer knows it."""
    header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
    try:
        answer = await ask_name_server(link, RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    except Refused as refused:
        if refused.code == ResponseCode.TOPIC_NOT_EXIST:
            # A group's first consumer makes that topic.
            group = topic.removeprefix(RETRY_PREFIX)
            why = f": no consumer of group {group!r} has been online yet" if group != topic else ""
            text = f"{refused.addr} has no route for topic {topic!r}{why}"
            raise NoRoute(text, topic) from None
        raise
    return decode_body(TopicRouteData, answer.body)


def preferred_addr(broker: BrokerData) -> str | None:
    """The master's address, else a slave's, else None (BrokerData.selectBrokerAddr)."""
    addrs = broker.broker_addrs
    return addrs.get(MASTER_ID) or next(iter(addrs.values()), None)


async def route_addrs(link: Link, topic: str) -> list[str]:
    """One address per broker name that has the topic."""
    route = await topic_route(link, topic)
    return [addr for broker in route.broker_datas if (addr := preferred_addr(broker))]


async def broker_names(link: Link, cluster: str) -> list[str]:
    """The broker names of a cluster; Invalid when there is no such cluster."""
    info = await cluster_info(link)
    return _names(info, cluster)


async def masters(link: Link, cluster: str) -> list[str]:
    """The addresses of a cluster's masters (CommandUtil.fetchMasterAddrByClusterName)."""
    info = await cluster_info(link)
    names = _names(info, cluster)
    found = [info.broker_addr_table[name] for name in names if name in info.broker_addr_table]
    return [broker.broker_addrs[MASTER_ID] for broker in found if MASTER_ID in broker.broker_addrs]


async def members(link: Link, cluster: str) -> dict[str, dict[int, str]]:
    """The addresses of a cluster's brokers by name and broker id; 0 is the master."""
    info = await cluster_info(link)
    tables = info.broker_addr_table
    return {name: tables[name].broker_addrs for name in _names(info, cluster) if name in tables}


async def broker_name_of(link: Link, addr: str) -> str:
    """The name of the broker at that address; Invalid when none is registered with it."""
    info = await cluster_info(link)
    for name, broker in info.broker_addr_table.items():
        if addr in broker.broker_addrs.values():
            return name
    raise Invalid(f"no broker is registered with the address {addr}")


async def topic_clusters(link: Link, topic: str) -> list[str]:
    """The clusters that the topic's first broker belongs to, sorted."""
    info = await cluster_info(link)
    route = await topic_route(link, topic)
    if not route.broker_datas:
        raise NotFound(f"no broker has topic {topic!r}")
    first = route.broker_datas[0].broker_name
    return sorted(name for name, brokers in info.cluster_addr_table.items() if first in brokers)


def _names(info: ClusterInfo, cluster: str) -> list[str]:
    names = info.cluster_addr_table.get(cluster)
    if names is None:
        known = ", ".join(sorted(info.cluster_addr_table)) or "none"
        raise Invalid(f"there is no cluster {cluster!r}; the NameServer knows: {known}")
    return sorted(names)
