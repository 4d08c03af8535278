"""Whether a request may look at a queue as a pop would: PEEK_MESSAGE, NOTIFICATION, POLLING_INFO."""

from typing import Protocol

from trimq.broker.pop.reading.checks import PopChecks
from trimq.remoting.contract import Peer


class Look(Protocol):
    """A header that names a queue and a group."""

    @property
    def topic(self) -> str: ...

    @property
    def queue_id(self) -> int: ...

    @property
    def consumer_group(self) -> str: ...


def check_peek(checks: PopChecks, header: Look, peer: Peer) -> None:
    """RemotingError if not."""
    checks.readable("peeking message")
    checks.topic(header.topic, header.queue_id, peer)
    checks.group(header.consumer_group, peer)
