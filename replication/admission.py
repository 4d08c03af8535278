"""Who may have a link to a master, which anybody who reaches the port can open.

A slave reports within a moment; RocketMQ's within haSendHeartbeatInterval after it has connected
(DefaultHAClient.isTimeToReportOffset). Links that have said nothing leave after that, and at once when another
one needs their place: so they keep nobody out.
"""

from __future__ import annotations

from typing import Final

import trio

from trimq.replication.slaves import NOT_REPORTED, SlaveLink, Slaves

# In all, and from one address: several slaves may be behind one.
MOST_LINKS: Final = 64
MOST_OF_ADDRESS: Final = 16
# Beside haSendHeartbeatInterval.
SILENT_SECONDS: Final = 5


class Admission:
    def __init__(self, slaves: Slaves) -> None:
        self._slaves = slaves
        # How to end each link.
        self._scopes: dict[SlaveLink, trio.CancelScope] = {}

    def admit(self, host: str) -> bool:
        """Whether a link from there may be added, now that perhaps a silent one has to leave."""
        links = [link for link in self._slaves if not self._is_leaving(link)]
        of_host = [link for link in links if host_of(link) == host]
        if len(of_host) >= MOST_OF_ADDRESS:
            return self._end_silent(of_host)
        return len(links) < MOST_LINKS or self._end_silent(links)

    def enter(self, link: SlaveLink, scope: trio.CancelScope) -> None:
        self._scopes[link] = scope

    def leave(self, link: SlaveLink) -> None:
        del self._scopes[link]

    def _is_leaving(self, link: SlaveLink) -> bool:
        scope = self._scopes.get(link)
        return scope is not None and scope.cancel_called

    def _end_silent(self, links: list[SlaveLink]) -> bool:
        """The one that has been silent for longest; False without any."""
        for link in links:
            if is_silent(link) and link in self._scopes:
                self._scopes[link].cancel()
                return True
        return False


def is_silent(link: SlaveLink) -> bool:
    """Whether it has not said yet how far its log goes."""
    return link.sent_to == NOT_REPORTED


def host_of(link: SlaveLink) -> str:
    return link.address.rpartition(":")[0]
