"""A master's slaves: who is connected, how far each has got, and how far enough of them have.

States of a link, and what its reports are worth:

| state   | begins with                                    | counts                                           |
|---------|------------------------------------------------|--------------------------------------------------|
| silent  | the connection                                 | not at all                                       |
| copying | the first report, of an offset within the log  | with its last report, up to the end of the log   |
| astray  | a report beyond the log, or before its begin   | never again; nothing is sent to it               |
| over    | the end of the term it joined in               | never again: it has to connect anew              |

(DefaultHAService, GroupTransferService. There a slave that is ahead of its master counts, and is copied to once the
master has passed it: the logs differ from then on.)

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from trimq.remoting.gate import Gate
from trimq.replication.config import ReplicationConfig
from trimq.replication.rate import Rate

NOT_REPORTED: Final = -1


class SlaveLink:
    """One slave, as its connection knows it. Offsets are bytes of the log."""

    __slots__ = ("acked", "address", "astray", "rate", "sent_to", "term")

    def __init__(self, address: str) -> None:
        self.address = address
        # How far its log goes, by its own word.
        self.acked = NOT_REPORTED
        # What is sent next begins here.
        self.sent_to = NOT_REPORTED
        self.astray = False
        # Of the gate, when it joined.
        self.term = 0
        self.rate = Rate()

    def bytes_per_second(self, now: float) -> int:
        return self.rate.per_second(now)


class Slaves:
    """`log_end` is the end of the master's own log; `copied` is a gate up to where enough brokers have it."""

    def __init__(self, config: ReplicationConfig, log_end: Callable[[], int]) -> None:
        self._config = config
        self._log_end = log_end
        self._links: list[SlaveLink] = []
        self.copied = Gate()

    def __iter__(self) -> Iterator[SlaveLink]:
        return iter(self._links)

    def __len__(self) -> int:
        return len(self._links)

    def joined(self, link: SlaveLink) -> None:
        link.term = self.copied.term
        self._links.append(link)

    def left(self, link: SlaveLink) -> None:
        self._links.remove(link)

    def reported(self, link: SlaveLink, offset: int) -> None:
        """The slave says how far its log goes."""
        link.acked = offset
        if self._counts(link):
            self.look()

    def _counts(self, link: SlaveLink) -> bool:
        return not link.astray and link.term == self.copied.term

    def end_term(self, offset: int) -> None:
        """The log was cut there, or somebody else has led: what the slaves of before report counts for nothing."""
        self.copied.end_term(offset)

    def look(self) -> None:
        """Let replies go whose messages enough brokers have: inSyncReplicas of them (GroupTransferService)."""
        # The master itself is one of them.
        others = self._config.in_sync_replicas - 1
        acked = sorted((link.acked for link in self._links if self._counts(link)), reverse=True)
        if 0 < others <= len(acked):
            self.copied.advance(min(acked[others - 1], self._log_end()))

    def is_in_sync(self, link: SlaveLink) -> bool:
        """Within haMaxGapNotInSync (DefaultHAService.isInSyncSlave)."""
        gap = self._log_end() - link.acked
        return self._counts(link) and link.acked >= 0 and gap < self._config.ha_max_gap_not_in_sync

    def in_sync(self) -> int:
        """Brokers that are in sync, the master among them."""
        return 1 + sum(self.is_in_sync(link) for link in self._links)
