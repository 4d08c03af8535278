"""What the connections of one server, or of one client, have in common."""

from trimq.codec.frames.command import JSON
from trimq.remoting.contract import ConnectionListener
from trimq.remoting.gate import Awaited
from trimq.remoting.limits import Limits
from trimq.remoting.resources import Resources
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.receive_round import ReceiveRound
from trimq.remoting.wire.file_sender import FileSender
from trimq.remoting.wire.poller import Poller
from trimq.remoting.wire.unfinished_frames import UnfinishedFrames


class Shared:
    """What all connections of one server, or of one client, share."""

    __slots__ = (
        "coding",
        "counters",
        "dispatcher",
        "extra_fields",
        "gates",
        "lane",
        "limits",
        "listener",
        "listener_name",
        "poller",
        "resources",
        "round",
        "unfinished",
        "waiting_bytes_limit",
    )

    def __init__(
        self,
        dispatcher: Dispatcher,
        limits: Limits,
        gates: tuple[Awaited, ...] = (),
        listener: ConnectionListener | None = None,
        coding: int = JSON,
        resources: Resources | None = None,
    ) -> None:
        self.dispatcher = dispatcher
        self.limits = limits
        self.gates = gates
        self.listener = listener
        self.counters = dispatcher.counters
        self.resources = Resources() if resources is None else resources
        memory = self.resources.memory
        self.unfinished = UnfinishedFrames(memory.part(limits.unfinished_limit), self.counters)
        self.waiting_bytes_limit = memory.part(limits.waiting_bytes_limit)
        # For log lines: one process may listen as a broker and as a NameServer.
        self.listener_name = dispatcher.request_log.listener
        # The header coding of our own requests; a reply always has that of its request.
        self.coding = coding
        # Fields of every request of ours in addition to those of its header.
        self.extra_fields: dict[str, str] = {}
        # Reads the plain sockets of a server; without it each connection has a reading task.
        self.poller: Poller | None = None
        # What the poller's sockets bring at the same time.
        self.round = ReceiveRound(dispatcher)
        # Sends what lies in files on plain sockets; without it everything is read first.
        self.lane: FileSender | None = None

    def limit_of_waiting(self, count: int, size: int) -> str | None:
        """The setting that forbids a connection with `count` waiting requests another one of that size, if any does."""
        limits = self.limits
        if limits.waiting_limit and count >= limits.waiting_limit:
            return "maxHeldRequestsPerConnection"
        most = self.waiting_bytes_limit
        if most and self.counters.waiting_bytes + size > most:
            return "maxHeldRequestBytes"
        return None
