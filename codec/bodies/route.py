"""Routes: which broker has which queues of a topic."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.topics import TopicQueueMappingInfo
from trimq.codec.java import fastjson


class BrokerData(Body, kw_only=True):
    """A broker name and its addresses by broker id; 0 is the master."""

    broker_addrs: dict[Int64, str] = msgspec.field(default_factory=dict)
    broker_name: str = ""
    cluster: str | None = None
    enable_acting_master: bool = False
    zone_name: str | None = None


class QueueData(Body, kw_only=True):
    """The queues of one topic on one broker name."""

    broker_name: str = ""
    perm: Int32 = 0
    read_queue_nums: Int32 = 0
    topic_sys_flag: Int32 = 0
    write_queue_nums: Int32 = 0


class TopicRouteData(Body, kw_only=True):
    """GET_ROUTEINFO_BY_TOPIC."""

    broker_datas: list[BrokerData] = msgspec.field(default_factory=list)
    filter_server_table: dict[str, list[str]] = msgspec.field(default_factory=dict)
    order_topic_conf: str | None = None
    queue_datas: list[QueueData] = msgspec.field(default_factory=list)
    topic_queue_mapping_by_broker: dict[str, TopicQueueMappingInfo] | None = None


def encode_route(data: TopicRouteData, quoted_keys: bool) -> bytes:
    """Compact: the Go client cuts `brokerAddrs` out of the text.

    Broker ids are quoted and map keys sorted for callers of version 4.9.4 and later or with
    `acceptStandardJsonOnly`; older ones get them bare (ClientRequestProcessor).
    """
    return fastjson.dumps(data, int_keys_quoted=quoted_keys, sort_keys=quoted_keys)
