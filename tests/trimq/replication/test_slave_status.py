"""What a slave says of itself (haStatus)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.store.conftest import Bench
from trimq.base.clock import Clock
from trimq.replication.config import ReplicationConfig
from trimq.replication.slave import Slave
from trimq.wiring.parts.brokers.replication import Replication


async def test_it_names_the_master_that_it_looks_for(tmp_path: Path) -> None:
    bench, clock = Bench(tmp_path), Clock()
    began = clock.millis()
    store = bench.open()

    async def where() -> str | None:
        return None

    slave = Slave(ReplicationConfig(), store.follow(), where, clock)
    absent: Any = None
    replication = Replication(absent, absent, slave, store, absent, absent)
    client = replication.info().ha_client_runtime_info
    assert (client.master_addr, client.master_flush_offset) == (None, 0)
    assert min(client.last_read_timestamp, client.last_write_timestamp) >= began
    slave.sought = "127.0.0.1:10912"
    store.master_flushed_offset = 100
    client = replication.info().ha_client_runtime_info
    assert (client.master_addr, client.master_flush_offset) == ("127.0.0.1:10912", 100)
    assert client.transferred_byte_in_second == 0
    bench.end()
