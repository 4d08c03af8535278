"""What a broker says about its replication."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64


class HAClientRuntimeInfo(Body, kw_only=True):
    """A slave's side; times are milliseconds since 1970."""

    last_read_timestamp: Int64 = 0
    last_write_timestamp: Int64 = 0
    master_addr: str | None = None
    master_flush_offset: Int64 = 0
    max_offset: Int64 = 0
    transferred_byte_in_second: Int64 = 0


class HAConnectionRuntimeInfo(Body, kw_only=True):
    """A master's side of one slave; `diff` is the number of bytes that the slave lacks."""

    addr: str | None = None
    diff: Int64 = 0
    in_sync: bool = False
    slave_ack_offset: Int64 = 0
    transfer_from_where: Int64 = 0
    transferred_byte_in_second: Int64 = 0


class HARuntimeInfo(Body, kw_only=True):
    """GET_BROKER_HA_STATUS."""

    ha_client_runtime_info: HAClientRuntimeInfo = msgspec.field(default_factory=HAClientRuntimeInfo)
    ha_connection_info: list[HAConnectionRuntimeInfo] = msgspec.field(default_factory=list)
    in_sync_slave_nums: Int32 = 0
    master: bool = False
    master_commit_log_max_offset: Int64 = 0
