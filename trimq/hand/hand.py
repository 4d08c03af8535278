"""The hand of one server: all that a test can ask of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from trimq.broker.services.background import flush
from trimq.hand.clock import HandClock
from trimq.hand.faults.faults import Faults
from trimq.hand.faults.operations import fault_operations
from trimq.hand.looks.operations import looks_operations
from trimq.hand.operation import HandError, Operation
from trimq.hand.seeding import Seeding
from trimq.hand.time import Time

if TYPE_CHECKING:
    from trimq.wiring.broker import Broker
    from trimq.wiring.context import Context


# What changes the files, in a worker thread, and what is done here before a broker opens them.
Renew = Callable[[Callable[[], None], Callable[[], None]], Awaitable[None]]


class Hand:
    """Made before the server; `attach` when its broker is built, and before it serves.

    All of it is touched from the server's loop only.
    """

    def __init__(self, clock: HandClock | None = None) -> None:
        self.clock = clock or HandClock()
        self.time = Time(self.clock, self._due, self._flush)
        self.operations: dict[str, Operation[Any]] = {}
        self.add(self.time.operations)
        self.seeding = Seeding()
        self.add(self.seeding.operations)
        self.faults = Faults()
        self.add(fault_operations(self.faults))
        self._broker: Broker | None = None
        self._context: Context | None = None
        # What `store/reset` undoes besides what is stored, while no broker is open.
        self.on_reset: list[Callable[[], object]] = []
        # Closes the broker, changes its files, and opens a broker again: `attach` is called once more.
        self.renew: Renew | None = None
        self.add(looks_operations(self))

    def add(self, operations: Iterable[Operation[Any]]) -> None:
        """ValueError for a path that is there."""
        for one in operations:
            if one.path in self.operations:
                raise ValueError(f"two operations of the hand have the path {one.path!r}")
            self.operations[one.path] = one

    def attach(self, context: Context, broker: Broker) -> None:
        self._context, self._broker = context, broker
        self.faults.attach(context, broker)

    def detach(self) -> None:
        """The broker is being closed."""
        self._context = self._broker = None

    @property
    def is_attached(self) -> bool:
        return self._broker is not None

    def _due(self, until: int) -> dict[str, int]:
        return self.broker.parts.due(until)

    async def _flush(self) -> None:
        await flush(self.context.store, self.broker.common.messaging.gate)

    @property
    def broker(self) -> Broker:
        if self._broker is None:
            raise HandError("the broker has not started yet: try again when it is ready")
        return self._broker

    @property
    def context(self) -> Context:
        if self._context is None:
            raise HandError("the broker has not started yet: try again when it is ready")
        return self._context
