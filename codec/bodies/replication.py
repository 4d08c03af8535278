"""What a broker says of its replication."""

import msgspec

from trimq.codec.bodies.base import Body


class HAClientRuntimeInfo(Body, kw_only=True):
    """A slave's side; times are milliseconds since 1970."""

    last_read_timestamp: int = 0
    last_write_timestamp: int = 0
    master_addr: str | None = None
    master_flush_offset: int = 0
    max_offset: int = 0
    transferred_byte_in_second: int = 0


class HAConnectionRuntimeInfo(Body, kw_only=True):
    """A master's side of one slave; `diff` are the bytes that the slave lacks."""

    addr: str | None = None
    diff: int = 0
    in_sync: bool = False
    slave_ack_offset: int = 0
    transfer_from_where: int = 0
    transferred_byte_in_second: int = 0


class HARuntimeInfo(Body, kw_only=True):
    """GET_BROKER_HA_STATUS."""

    ha_client_runtime_info: HAClientRuntimeInfo = msgspec.field(default_factory=HAClientRuntimeInfo)
    ha_connection_info: list[HAConnectionRuntimeInfo] = msgspec.field(default_factory=list)
    in_sync_slave_nums: int = 0
    master: bool = False
    master_commit_log_max_offset: int = 0
