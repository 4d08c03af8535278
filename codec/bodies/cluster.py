"""Clusters and the brokers in them."""

import msgspec

from trimq.codec.bodies.base import Body, Int64
from trimq.codec.bodies.route import BrokerData


class ClusterInfo(Body, kw_only=True):
    """GET_BROKER_CLUSTER_INFO."""

    broker_addr_table: dict[str, BrokerData] = msgspec.field(default_factory=dict)
    cluster_addr_table: dict[str, list[str]] = msgspec.field(default_factory=dict)


class BrokerMemberGroup(Body, kw_only=True):
    """The live members of one broker name, by broker id."""

    broker_addrs: dict[Int64, str] = msgspec.field(default_factory=dict)
    broker_name: str | None = None
    cluster: str | None = None


class GetBrokerMemberGroupResponseBody(Body, kw_only=True):
    """GET_BROKER_MEMBER_GROUP."""

    broker_member_group: BrokerMemberGroup | None = None
