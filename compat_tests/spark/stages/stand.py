"""A NameServer that stays and a broker that is killed, frozen and started again, of either kind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqNameServer, TrimqServer
from compat_tests.servers.real import RealBroker, RealServer
from compat_tests.servers.server import Options
from compat_tests.spark.stages.stage import Side
from tests.patience import until
from trimq.admin import BlockingAdminClient

KINDS = ("real", "trimq")


class Stand:
    """The broker of a side, alone."""

    def __init__(self, kind: str, side: Side, broker: TrimqServer | RealServer) -> None:
        self.kind = kind
        self.side = side
        self._broker = broker

    @property
    def namesrv(self) -> str:
        return self.side.namesrv

    def kill(self) -> None:
        """SIGKILL."""
        _alone(self._broker).kill()

    def start(self) -> None:
        """On the same port and files."""
        _alone(self._broker).start()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Killed, and back at the end."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Connections hold, and nothing is answered."""
        pid = self._broker.broker_pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def count(self, topic: str) -> int:
        """How many messages its queues show."""
        with BlockingAdminClient(self.namesrv) as admin:
            return sum(one.max_offset for one in admin.topic_stats(topic).offsets.values())

    def settled(self, topic: str) -> int:
        """The same when it does not grow any more."""
        seen = [-1]

        def same() -> bool:
            # Asked again at once it would hardly have grown.
            time.sleep(0.05)
            seen.append(self.count(topic))
            return seen[-1] == seen[-2]

        until(same)
        return seen[-1]


def _alone(server: TrimqServer | RealServer) -> TrimqServer | RealBroker:
    return server.broker if isinstance(server, RealServer) else server


@contextmanager
def stands(launch: Launcher, folder: Path, **settings: str) -> Iterator[dict[str, Stand]]:
    """One of each kind."""
    with ExitStack() as undo:
        real = RealServer(launch, folder / "real", Options(settings))
        undo.callback(real.kill)
        real.start()
        namesrv = TrimqNameServer(folder / "namesrv")
        undo.callback(namesrv.stop)
        namesrv.start()
        trimq = TrimqServer(folder / "trimq", Options(settings), namesrv=namesrv.addr)
        undo.callback(trimq.kill)
        trimq.start()
        yield {
            "real": Stand("real", Side(real, real.broker.store), real),
            "trimq": Stand("trimq", Side(trimq, trimq.store), trimq),
        }
