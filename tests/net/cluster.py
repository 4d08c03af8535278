"""Two NameServers, a master, its slave and the history checker's clients, each on a host of its own."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Final

from tests.history.clients import Members
from tests.history.running import check_store
from tests.net.spaces import Net
from tests.trimq.replication.pair import NAME, SETTINGS, Broker, Process

HOSTS: Final = ("names", "names2", "master", "slave", "clients")
_NAMES_PORT: Final = 9876
_BROKER_PORT: Final = 10911


class Cluster:
    """SYNC_MASTER with inSyncReplicas=2; the slave finds its master by the NameServers."""

    def __init__(self, home: Path, late: tuple[str, ...] = (), **settings: object) -> None:
        """`settings`: of both brokers. `end` whatever happened, also when `start` failed."""
        self.home = home
        home.mkdir(exist_ok=True)
        self.net = Net(HOSTS, late)
        self._names: list[Process] = []
        self.namesrv = ";".join(self.names_addr(host) for host in ("names", "names2"))
        self._settings = {**SETTINGS, **settings}
        self.master = self._broker("master", brokerRole="SYNC_MASTER", inSyncReplicas=2)
        self.slave = self._broker("slave", brokerRole="SLAVE", brokerId=1)
        self.members = Members(NAME, None)

    def names_addr(self, host: str) -> str:
        return f"{self.net.address(host)}:{_NAMES_PORT}"

    def start(self) -> None:
        for host in ("names", "names2"):
            words = ["namesrv", "--listen", self.names_addr(host)]
            log = self.home / f"{host}.log"
            self._names.append(Process(words, log, within=partial(self.net.inside, host)))
        for one in self._names:
            one.ready("namesrv")
        self.members.master = self.master.start()
        self.members.slaves = [self.slave.start()]

    def stop(self) -> None:
        """Both brokers, cleanly; AssertionError if `trimq check` finds something."""
        for broker in (self.slave, self.master):
            broker.end(signal.SIGTERM)
            assert not check_store(broker.store)

    def end(self) -> None:
        for broker in (self.slave, self.master):
            broker.end()
        for one in self._names:
            one.end()
        self.net.close()

    def said(self) -> str:
        return "\n".join(
            f"{name}:\n{broker.said()[-3000:]}"
            for name, broker in (("master", self.master), ("slave", self.slave))
        )

    def _broker(self, host: str, **settings: object) -> Broker:
        return Broker(
            self.home / host,
            self.namesrv,
            {**self._settings, **settings},
            f"{self.net.address(host)}:{_BROKER_PORT}",
            partial(self.net.inside, host),
        )
