"""Routes: which broker has which queues of a topic."""

from typing import Final

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.topics import TopicQueueMappingInfo
from trimq.codec.errors import CodecError
from trimq.codec.java import fastjson

# Of one topic on one broker. RocketMQ knows no bound; what a route claims must not fill a tool's memory.
MOST_QUEUES: Final = 262_144


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

    def readable(self) -> range:
        """The numbers of the queues that can be read; CodecError when the broker claims too many to be true."""
        return _numbers(self, self.read_queue_nums)

    def writable(self) -> range:
        """The same of those that can be written."""
        return _numbers(self, self.write_queue_nums)


def _numbers(data: QueueData, count: int) -> range:
    if count > MOST_QUEUES:
        raise CodecError(
            f"broker {data.broker_name!r} claims to have {count} queues of a topic; more than {MOST_QUEUES}"
            " cannot be true"
        )
    return range(count)


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
