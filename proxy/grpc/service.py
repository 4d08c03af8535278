"""What all connections of a server have in common."""

from collections.abc import Mapping

import trio

from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.grpc.methods import Method
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.memory_budget import MemoryBudget, budget

# Large messages are unpacked in threads: more at a time would only fill memory.
_UNPACKED_AT_ONCE = 2


class Service:
    """`methods` by their paths."""

    __slots__ = ("bounds", "counters", "memory", "methods", "unpacking")

    def __init__(
        self,
        methods: Mapping[str, Method],
        bounds: GrpcBounds | None = None,
        counters: RemotingCounters | None = None,
    ) -> None:
        self.methods = methods
        self.bounds = GrpcBounds() if bounds is None else bounds
        self.counters = RemotingCounters() if counters is None else counters
        self.memory = MemoryBudget(budget(self.bounds.kept_bytes))
        self.unpacking = trio.CapacityLimiter(_UNPACKED_AT_ONCE)
