"""Who a broker is, where it is found, and what it may be used for."""

import os
import socket
from dataclasses import dataclass

from trimq.base.setting_fields import computed_setting, setting


def _host_name() -> str:
    """BrokerIdentity.defaultBrokerName: the machine's name."""
    return socket.gethostname() or "DEFAULT_BROKER"


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """Who this broker is."""

    __slots__ = ()

    broker_cluster_name: str = setting("DefaultCluster", "Cluster that this broker belongs to.")
    broker_name: str = computed_setting(
        _host_name, "Name of this broker; master and slaves share it.", announced=True
    )
    broker_id: int = setting(
        0,
        "A slave's number, above 0 and its own among the brokers of this name. A master's is 0, whatever this says, "
        "as in RocketMQ.",
        long=True,
    )
    broker_role: str = setting(
        "ASYNC_MASTER",
        "SLAVE copies the master of its name. SYNC_MASTER waits for slaves, with inSyncReplicas above 1.",
        choices=("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"),
    )
    namesrv_addr: str | None = computed_setting(
        lambda: os.environ.get("NAMESRV_ADDR", "").strip() or None,
        "NameServers to register with, HOST:PORT;HOST:PORT. Default: the environment's "
        "NAMESRV_ADDR; without that, a NameServer is embedded.",
        guarded=True,
    )
    zone: str = computed_setting(
        lambda: os.environ.get("ROCKETMQ_ZONE", ""),
        "Zone of this broker, reported to NameServers. Default: the environment's ROCKETMQ_ZONE.",
        key="rocketmq.zone",
        guarded=True,
    )
    zone_mode: str = computed_setting(
        lambda: os.environ.get("ROCKETMQ_ZONE_MODE", ""),
        "Reported with the zone. Default: the environment's ROCKETMQ_ZONE_MODE.",
        key="rocketmq.zone.mode",
        guarded=True,
    )
    listen_port: int = setting(
        10911, "Port for clients.", at_least=0, at_most=65535, guarded=True, announced=True
    )
    broker_ip1: str | None = setting(
        None,
        "Address or host name that clients are told.",
        key="brokerIP1",
        guarded=True,
        announced=True,
    )
    broker_ip2: str | None = setting(
        None, "Address or host name that slaves are told.", key="brokerIP2", guarded=True
    )
    broker_permission: int = setting(
        6, "What clients may do on this broker: 2 write, 4 read.", choices=(0, 2, 4, 6), live=True
    )
