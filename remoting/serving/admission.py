"""How many connections are admitted: in all, from one address, and new ones a second."""

import logging
from collections import Counter
from typing import Final

from trimq.remoting.counters import RemotingCounters
from trimq.remoting.growth_limits import GrowthLimits, is_loopback
from trimq.remoting.limits import Limits
from trimq.remoting.wire.proxy_protocol import Networks, is_in

log = logging.getLogger("trimq.remoting")

# Refusals of one kind are logged at most this often.
_QUIET_SECONDS: Final = 60
# This many seconds' worth may come at once: all clients of a machine that starts.
_BURST_SECONDS: Final = 10


class ConnectionAdmission:
    """Counts the connections of all servers that share it. Limits of 0 mean no limit.

    This machine itself, and load balancers with many clients behind them, count only in the total.
    """

    def __init__(
        self, limits: Limits, counters: RemotingCounters, balancers: Networks = ()
    ) -> None:
        self._balancers = balancers
        self._limits = limits
        self._counters = counters
        self.inside = 0
        self._of_host: Counter[str] = Counter()
        self._new = GrowthLimits()
        self._told: dict[str, float] = {}

    def admit(self, host: str, now: float) -> bool:
        """Whether a connection from there is admitted; call `left` when an admitted one has ended."""
        reached = self._reached(host, now)
        if reached is not None:
            self._refused(reached, host, now)
            return False
        self.inside += 1
        self._of_host[host] += 1
        return True

    def left(self, host: str) -> None:
        """A connection that was admitted has ended."""
        self.inside -= 1
        self._of_host[host] -= 1
        if not self._of_host[host]:
            del self._of_host[host]

    def _reached(self, host: str, now: float) -> str | None:
        limits = self._limits
        if limits.connection_limit and self.inside >= limits.connection_limit:
            return "maxConnections"
        if is_loopback(host) or (self._balancers and is_in(f"{host}:0", self._balancers)):
            return None
        if limits.address_limit and self._of_host[host] >= limits.address_limit:
            return "maxConnectionsPerAddress"
        rate = limits.address_rate
        if rate and not self._new.take(host, now, rate, rate * _BURST_SECONDS):
            return "maxNewConnectionsPerAddress"
        return None

    def _refused(self, limit: str, host: str, now: float) -> None:
        self._counters.refused += 1
        self._counters.limits[limit] += 1
        told = self._told.get(limit)
        if told is None or now - told >= _QUIET_SECONDS:
            self._told[limit] = now
            log.error("connections refused limit=%s peer=%s open=%d", limit, host, self.inside)
