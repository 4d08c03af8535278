"""Says when two live brokers claim the same cluster, name and id. What gets registered is as in RocketMQ."""

import logging
from typing import Final

from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader

_log: Final = logging.getLogger("trimq.namesrv")

# Pairs already reported: brokers must not be able to fill the memory with made-up ones.
_MOST: Final = 1000


class DuplicateBrokers:
    """Reports each pair of addresses once, until one of the two is gone."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: set[frozenset[str]] = set()

    def met(self, header: RegisterBrokerRequestHeader, holder: str) -> None:
        """A broker registers under the name and id of another one, which is alive."""
        pair = frozenset((header.broker_addr, holder))
        if pair in self._said or len(self._said) >= _MOST:
            return
        self._said.add(pair)
        _log.error(
            "two brokers have the same name and id, and clients find only the one that registered "
            "last: give one of them another brokerName: cluster=%s name=%s id=%d address=%s "
            "other=%s",
            header.cluster_name,
            header.broker_name,
            header.broker_id,
            header.broker_addr,
            holder,
        )

    def gone(self, address: str) -> None:
        """A broker has left."""
        self._said = {pair for pair in self._said if address not in pair}
