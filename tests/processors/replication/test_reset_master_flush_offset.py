"""What a slave is told that its master has flushed."""

from __future__ import annotations

from typing import Any

from trimq.broker.identity import BrokerIdentity
from trimq.processors.replication.reset_master_flush_offset import ResetMasterFlushOffset


def reset(broker: Any, broker_id: int, fields: dict[str, str]) -> int:
    identity = BrokerIdentity("C", "broker-a", broker_id, "127.0.0.1:1", "127.0.0.1:2")
    processor = ResetMasterFlushOffset(identity, broker.store)
    header = processor.decode_header(fields)
    return int(processor.handle(broker.request(908, header)).code)


def test_a_slave_keeps_it(broker: Any) -> None:
    assert broker.store.master_flushed_offset == 0
    assert reset(broker, 1, {"masterFlushOffset": "100"}) == 0
    assert broker.store.master_flushed_offset == 100


def test_without_a_number_a_slave_keeps_what_it_has(broker: Any) -> None:
    """RemotingCommand.decodeCommandCustomHeader notes in its log what it cannot read, and goes on."""
    broker.store.master_flushed_offset = 100
    for fields in ({}, {"offset": "7"}, {"masterFlushOffset": "x"}):
        assert reset(broker, 1, fields) == 0
    assert broker.store.master_flushed_offset == 100


def test_a_master_does_not_even_read_it(broker: Any) -> None:
    for fields in ({"masterFlushOffset": "100"}, {"masterFlushOffset": "x"}, {}):
        assert reset(broker, 0, fields) == 0
    assert broker.store.master_flushed_offset == 0
