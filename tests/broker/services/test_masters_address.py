"""Where a slave looks for its master's log: nobody sends it elsewhere."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from tests.identities import named
from trimq.broker.services.masters_address import MastersAddress, Told
from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, encode_header
from trimq.codec.headers.replication import ExchangeHAInfoResponseHeader
from trimq.remoting.contract import RemotingError

OWN, STRANGERS = "10.0.0.2:10912", "6.6.6.6:10912"


@dataclass
class Others:
    """What NameServers and the registered master say; None: nobody is there."""

    registered: str | None = "10.0.0.2:10911"
    ha_address: str | None = OWN
    has_name_server: bool = True

    async def ask_courteously(self, _: str, __: int, ___: Header) -> RemotingCommand | None:
        if self.ha_address is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "gone")
        header = ExchangeHAInfoResponseHeader(master_ha_address=self.ha_address)
        return RemotingCommand(0, 0, ext_fields=encode_header(header))

    async def address_of(self, _: str) -> str | None:
        if not self.has_name_server:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "gone")
        return self.registered


ALIVE = Others()
SILENT = Others(ha_address=None)
UNKNOWN = Others(registered=None, ha_address=None)
NO_NAMES = Others(ha_address=None, has_name_server=False)
BY_MASTER = Told(OWN, "10.0.0.2:10911", "10.0.0.2:40000")
BY_STRANGER = Told(STRANGERS, "6.6.6.6:10911", "6.6.6.6:40000")
FOR_OWN = Told(STRANGERS, "10.0.0.2:10911", "6.6.6.6:40000")
# brokerIP2 is another network.
SECOND_NETWORK = Told("192.168.0.2:10912", "10.0.0.2:10911", "10.0.0.2:40000")


@pytest.mark.parametrize(
    ("others", "told", "found"),
    [
        (ALIVE, None, OWN),
        (ALIVE, BY_MASTER, OWN),
        (ALIVE, BY_STRANGER, OWN),
        (SILENT, None, None),
        (SILENT, BY_MASTER, OWN),
        (SILENT, SECOND_NETWORK, SECOND_NETWORK.ha_address),
        (SILENT, BY_STRANGER, None),
        (SILENT, FOR_OWN, None),
        # A master that is registered only when its slaves copy it (BrokerPreOnlineService).
        (UNKNOWN, BY_MASTER, OWN),
        (UNKNOWN, SECOND_NETWORK, SECOND_NETWORK.ha_address),
        (UNKNOWN, Told(STRANGERS, None, "10.0.0.7:40000"), None),
        (UNKNOWN, Told("nonsense", None, "10.0.0.7:40000"), None),
        (NO_NAMES, BY_MASTER, None),
    ],
)
async def test_whose_word_counts(others: Others, told: Told | None, found: str | None) -> None:
    address = MastersAddress(None, named("broker-a"), others)  # type: ignore[arg-type]
    if told is not None:
        address.tell(told)
    assert await address.find() == found


async def test_what_is_configured_counts_more() -> None:
    address = MastersAddress("10.0.0.9:1", named("broker-a"), SILENT)  # type: ignore[arg-type]
    address.tell(BY_MASTER)
    assert await address.find() == "10.0.0.9:1"


async def test_a_stranger_s_word_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    address = MastersAddress(None, named("broker-a"), SILENT)  # type: ignore[arg-type]
    address.tell(BY_STRANGER)
    with caplog.at_level(logging.WARNING):
        assert await address.find() is None
    assert "6.6.6.6:40000" in caplog.text
