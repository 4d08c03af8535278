"""What one connection may register. The limits are TriMQ's own; LimitReached names the setting."""

from trimq.broker.config import BrokerConfig
from trimq.codec.bodies.heartbeat import HeartbeatData
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import LimitReached
from trimq.remoting.growth_limits import check_room


def check_heartbeat(config: BrokerConfig, data: HeartbeatData) -> None:
    """LimitReached when it names more groups than any client would be in."""
    count = len(data.consumer_data_set) + len(data.producer_data_set)
    most = config.max_heartbeat_groups
    if most and count > most:
        raise LimitReached(
            ResponseCode.SYSTEM_ERROR,
            f"a heartbeat of {count} groups: no more than {most} are allowed (maxHeartbeatGroups)",
            "maxHeartbeatGroups",
        )


def check_consumer_groups(config: BrokerConfig, count: int) -> None:
    """Before a connection that is in so many consumer groups enters another one."""
    check_room(
        count, config.max_connection_groups, "groups of the connection", "maxConnectionGroups"
    )


def check_producer_groups(config: BrokerConfig, count: int) -> None:
    """Before a connection that is in so many producer groups enters another one."""
    most = config.max_connection_groups
    check_room(count, most, "producer groups of the connection", "maxConnectionGroups")


def check_subscriptions(config: BrokerConfig, count: int) -> None:
    """Of all groups of a connection, with those that a heartbeat brings."""
    most = config.max_connection_subscriptions
    what, key = "subscriptions of the connection", "maxConnectionSubscriptions"
    check_room(count - 1, most, what, key)
