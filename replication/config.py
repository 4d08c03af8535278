"""The settings of masters and slaves (MessageStoreConfig)."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicationConfig:
    """Times are milliseconds, sizes bytes."""

    ha_listen_port: int = setting(
        0,
        "Port where slaves fetch this broker's log. 0: listenPort + 1.",
        at_least=0,
        at_most=65535,
        guarded=True,
        rocketmq_default="10912",
        why="its start replaces that by listenPort + 1",
    )
    ha_enable: str = setting(
        "auto",
        "Whether slaves may fetch this broker's log. It travels without TLS and without passwords, as RocketMQ's"
        " does, so with auto they may not if tls.server.mode is enforcing.",
        choices=("auto", "true", "false"),
        guarded=True,
        own=True,
    )
    ha_master_address: str | None = setting(
        None,
        "Where a slave fetches its master's log, HOST:PORT. Default: where NameServers say.",
        guarded=True,
    )
    ha_send_heartbeat_interval: int = setting(
        5000, "With nothing to say for this long, both sides send a sign of life.", at_least=1
    )
    ha_housekeeping_interval: int = setting(
        20_000, "A link that has been silent for this long is given up by both sides.", at_least=1
    )
    ha_transfer_batch_size: int = setting(
        32 * 1024,
        "How much of its log RocketMQ's master sends in one piece. TriMQ's sends what there is, up to 1 MiB.",
        at_least=1,
    )
    ha_flow_control_enable: bool = setting(
        False, "Limit what is sent to each slave to maxHaTransferByteInSecond.", live=True
    )
    max_ha_transfer_byte_in_second: int = setting(
        100 * 1024 * 1024, "With haFlowControlEnable.", at_least=1, live=True, long=True
    )
    ha_max_gap_not_in_sync: int = setting(
        256 * 1024 * 1024,
        "A slave that lacks more of the log than this does not count as in sync.",
        at_least=0,
        live=True,
    )
    slave_timeout: int = setting(
        3000,
        "How long a SYNC_MASTER's reply waits for slaves before it says FLUSH_SLAVE_TIMEOUT.",
        at_least=0,
    )
    total_replicas: int = setting(
        1,
        "Brokers of this name, the master included. Counts only with slaves that act as masters, which TriMQ refuses.",
        at_least=1,
    )
    in_sync_replicas: int = setting(
        1,
        "How many brokers must have a message before a SYNC_MASTER says SEND_OK, itself included. With 1 it waits for "
        "no slave, as in RocketMQ.",
        at_least=1,
    )
    min_in_sync_replicas: int = setting(
        1,
        "Only with a controller or slaves that act as masters, which TriMQ refuses.",
        at_least=1,
    )
    enable_auto_in_sync_replicas: bool = setting(
        False,
        "Only with a controller or slaves that act as masters, which TriMQ refuses.",
    )
