"""Says when two living brokers claim one cluster, name and id. What is registered stays RocketMQ's affair."""

import logging
from typing import Final

from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader

_log: Final = logging.getLogger("trimq.namesrv")

# Pairs that were said: brokers may not fill the memory with made-up ones.
_MOST: Final = 1000


class Rivals:
    """Each pair of addresses is said once, until one of the two is gone."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: set[frozenset[str]] = set()

    def met(self, header: RegisterBrokerRequestHeader, holder: str) -> None:
        """A broker registers under the name and id of another one, which lives."""
        pair = frozenset((header.broker_addr, holder))
        if pair in self._said or len(self._said) >= _MOST:
            return
        self._said.add(pair)
        _log.error(
            "two brokers have one name and id, and clients find only the one that registered last:"
            " give one of them its own brokerName: cluster=%s name=%s id=%d address=%s other=%s",
            header.cluster_name,
            header.broker_name,
            header.broker_id,
            header.broker_addr,
            holder,
        )

    def gone(self, address: str) -> None:
        """A broker has left."""
        self._said = {pair for pair in self._said if address not in pair}
