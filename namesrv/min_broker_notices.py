"""Tell the members of a broker group when its lowest id has changed (notifyMinBrokerIdChanged).

Like the real NameServer: one way, over a connection to the broker's own port, and only once.
"""

import logging
from collections.abc import Mapping
from typing import Final

import trio

from trimq.codec.codes import RequestCode
from trimq.codec.headers.replication import NotifyMinBrokerIdChangeRequestHeader
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import TransportError

_log: Final = logging.getLogger("trimq.namesrv")

_WAITING_LIMIT: Final = 1000
_SECONDS_PER_BROKER: Final = 3

Notice = tuple[NotifyMinBrokerIdChangeRequestHeader, list[str]]


class MinBrokerNotices:
    """RouteTable's listener, and the background service that sends the notices."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[Notice](_WAITING_LIMIT)

    def changed(
        self, addresses: Mapping[int, str], offline_address: str | None, ha_address: str | None
    ) -> None:
        """Never waits; when too many are waiting, the newest notices are lost."""
        lowest = min(addresses)
        header = NotifyMinBrokerIdChangeRequestHeader(
            min_broker_id=lowest,
            min_broker_addr=addresses[lowest],
            offline_broker_addr=offline_address,
            ha_broker_addr=ha_address,
        )
        # The newcomer knows that it is the lowest; after a loss everybody has to learn it.
        everybody = offline_address is not None or len(addresses) == 1
        told = [addresses[each] for each in addresses if everybody or each != lowest]
        try:
            self._send.send_nowait((header, told))
        except trio.WouldBlock:
            _log.warning(
                "notice of the lowest broker id lost, too many are waiting: brokers=%s", told
            )

    async def run(self) -> None:
        """Background service."""
        async for header, brokers in self._receive:
            for address in brokers:
                await _tell(address, header)


async def _tell(address: str, header: NotifyMinBrokerIdChangeRequestHeader) -> None:
    try:
        async with Client.connect(address, timeout=_SECONDS_PER_BROKER) as client:
            client.oneway(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, header)
    except TransportError as error:
        _log.warning("broker not told its lowest id: broker=%s reason=%s", address, error)
    else:
        _log.info("broker told its lowest id: broker=%s id=%s", address, header.min_broker_id)
