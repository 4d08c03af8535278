"""Where a slave's master lets its log be copied: as configured, as the registered master says, or as it is told (906).

Whoever reaches the slave's port can tell it an address (EXCHANGE_BROKER_HA_INFO with masterHaAddress; RocketMQ's slaves
go there). Here that counts only while the registered master cannot be asked itself, and only of

- the host that NameServers know as the master's, or
- while they know no master: a sender that names its own host, as a master does that comes online only when its slaves
  copy it (BrokerPreOnlineService).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.identity import BrokerIdentity
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.replication import (
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
)
from trimq.remoting.contract import RemotingError

log: Final = logging.getLogger("trimq.broker")


class Told(NamedTuple):
    """What was told, and by whom: addresses are HOST:PORT."""

    ha_address: str
    master_address: str | None
    teller: str


class MastersAddress:
    def __init__(
        self,
        configured: str | None,
        identity: BrokerIdentity,
        others: OtherBrokers,
        registered: Callable[[], str] = str,
    ) -> None:
        """`identity` has the name of both; `registered`: the address that a NameServer has of the master, or ""."""
        self._configured = configured
        self._told: Told | None = None
        self._identity = identity
        self._others = others
        self._registered = registered

    def tell(self, told: Told) -> None:
        """By EXCHANGE_BROKER_HA_INFO."""
        self._told = told

    async def find(self) -> str | None:
        """None while nobody knows it."""
        if self._configured:
            return self._configured
        told, self._told = self._told, None
        address = await self._asked()
        if address is None and told is not None:
            return await self._believed(told)
        return address

    async def _asked(self) -> str | None:
        """What the registered master says."""
        try:
            reply = await self._others.ask_courteously(
                self._identity.name,
                RequestCode.EXCHANGE_BROKER_HA_INFO,
                ExchangeHAInfoRequestHeader(),
            )
            if reply is None:
                # A master of 4.x has to be found by what NameServers have of it.
                return self._registered() or None
            if reply.code != ResponseCode.SUCCESS:
                return None
            return decode_header(ExchangeHAInfoResponseHeader, reply.ext_fields).master_ha_address
        except (RemotingError, CodecError):
            return None

    async def _believed(self, told: Told) -> str | None:
        """The address, if whoever told it may be the master."""
        teller = _host(told.teller)
        try:
            registered = await self._others.address_of(self._identity.name)
        except RemotingError:
            # The next time, when somebody knows who may tell it; the master tells it again until then.
            return None
        if registered is not None:
            hosts = {_host(registered)}
        else:
            hosts = {_host(told.ha_address), _host(told.master_address or "")}
        if teller in hosts:
            return told.ha_address
        log.warning(
            "a stranger's word where the master is, passed over: address=%s teller=%s registered=%s",
            told.ha_address,
            told.teller,
            registered,
        )
        return None


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")
