"""What the remoting layer counts; metrics read it."""

from collections import Counter


class RemotingCounters:
    """Plain numbers, touched from the event loop only."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "closed_idle",
        "connections",
        "dropped_pushes",
        "errors",
        "frames_in",
        "frames_out",
        "limits",
        "opened",
        "protocol_errors",
        "refused",
        "waiting",
        "waiting_bytes",
    )

    def __init__(self) -> None:
        self.connections = 0
        self.opened = 0
        self.refused = 0
        self.closed_idle = 0
        self.frames_in = 0
        self.frames_out = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.waiting = 0
        self.waiting_bytes = 0
        # Refusals by the key of the limit that was reached.
        self.limits: Counter[str] = Counter()
        self.errors = 0
        self.protocol_errors = 0
        self.dropped_pushes = 0
