"""Where a master lets its log be copied: asked for, and told to a slave, which hears who says so."""

from __future__ import annotations

from typing import Any

from trimq.broker.identity import BrokerIdentity
from trimq.broker.services.masters_address import Told
from trimq.codec.headers.replication import (
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
)
from trimq.processors.replication.exchange_broker_ha_info import ExchangeBrokerHaInfo

MASTER = BrokerIdentity("C", "broker-a", 0, "10.0.0.2:10911", "10.0.0.2:10912")


def test_a_slave_hears_who_tells_it(broker: Any) -> None:
    heard: list[Told] = []
    slave = BrokerIdentity("C", "broker-a", 1, "10.0.0.3:10911", "10.0.0.3:10912")
    processor = ExchangeBrokerHaInfo(slave, 0, heard.append)
    header = ExchangeHAInfoRequestHeader(master_ha_address="6.6.6.6:1", master_address="6.6.6.6:2")
    request = broker.request(906, header)
    # The answer is the same, believed or not.
    assert processor.handle(request).code == 0
    assert heard == [Told("6.6.6.6:1", "6.6.6.6:2", request.peer.remote_addr)]
    assert processor.handle(broker.request(906, ExchangeHAInfoRequestHeader())).header is None


def test_a_master_says_where(broker: Any) -> None:
    answer = ExchangeBrokerHaInfo(MASTER, 7, None).handle(
        broker.request(906, ExchangeHAInfoRequestHeader())
    )
    assert answer.header == ExchangeHAInfoResponseHeader(
        master_ha_address="10.0.0.2:10912",
        master_flush_offset=7,
        master_address="10.0.0.2:10911",
    )
