"""What a broker says about the copies of its log."""

from typing import Protocol

from trimq.codec.bodies.replication import HARuntimeInfo


class Replicas(Protocol):
    """Implemented by the wiring: the broker does not know how logs are copied."""

    def info(self) -> HARuntimeInfo:
        """Of a master: its slaves; of a slave: its master."""
        ...
