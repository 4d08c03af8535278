"""Servers that cannot be reached: each loss is logged once, and its end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from trimq.remoting.log_throttle import LogThrottle

log = logging.getLogger("trimq.proxy")

# Servers that are remembered as lost: a NameServer can name any number.
_MOST: Final = 1000


class Losses:
    """`name_servers` are few and known from the start: of them no loss is passed over, as it is of a broker that
    comes and goes."""

    def __init__(self, name_servers: Sequence[str] = ()) -> None:
        self._name_servers = frozenset(name_servers)
        # Whether each loss was logged.
        self._lost: dict[str, bool] = {}
        self._throttle = LogThrottle()

    def is_lost(self, addr: str) -> bool:
        return addr in self._lost

    def lost(self, addr: str, reason: object) -> None:
        """It could not be connected to, or a NameServer does not answer."""
        if addr in self._lost:
            return
        if addr in self._name_servers:
            self._lost[addr] = True
            log.warning("NameServer lost, trying again: namesrv=%s reason=%s", addr, reason)
            return
        if len(self._lost) >= _MOST:
            del self._lost[next(iter(self._lost))]
        times = self._throttle.times(addr)
        self._lost[addr] = times > 0
        if times:
            log.warning(
                "broker lost, trying again: broker=%s reason=%s times=%s",
                addr,
                reason,
                times if times > 1 else None,
            )

    def connected(self, addr: str) -> None:
        """A NameServer is found when it answers, a broker with its connection."""
        if addr in self._lost and addr not in self._name_servers:
            self.found(addr)

    def found(self, addr: str) -> None:
        """It is there: nothing is said of one that was never lost."""
        if self._lost.pop(addr, False):
            if addr in self._name_servers:
                log.info("NameServer found: namesrv=%s", addr)
            else:
                log.info("broker found: broker=%s", addr)
