"""A broker that is killed and started again, with the services that POP needs, on a mock clock."""

from pathlib import Path

import trio

from tests.processors.conftest import Broker
from tests.processors.pop.conftest import PopClient
from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig

SERVICES = (
    "write tables",
    "put timer messages on the wheel",
    "flush the timer wheel",
    "deliver timer messages",
    "put popped messages back",
)


class Lives:
    """One broker after the other on a store."""

    def __init__(
        self, root: Path, nursery: trio.Nursery, config: BrokerConfig, clock: TrioClock
    ) -> None:
        self._root, self._nursery, self._config = root, nursery, config
        self.clock = clock

    async def start(self) -> None:
        self.broker = Broker(self._root, self._config, self.clock)
        self.broker.store.open()
        self.broker.parts.load()
        self.opened()
        self.pops = PopClient(self.broker)
        self._scope = trio.CancelScope()
        self._nursery.start_soon(self._run, self._scope)
        await trio.lowlevel.checkpoint()

    def opened(self) -> None:
        """Before anything runs."""

    async def _run(self, scope: trio.CancelScope) -> None:
        with scope:
            async with trio.open_nursery() as nursery:
                for name in SERVICES:
                    nursery.start_soon(self.broker.parts.services[name])

    def kill(self) -> None:
        """What was handed to the kernel stays, and no file of the broker's is written."""
        self._scope.cancel()
        self.pops.reviving._timers._files.close()
        self.broker.store.abandon()
