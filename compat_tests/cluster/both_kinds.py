"""Both NameServers, and a broker of each kind that registers with both."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from compat_tests.cluster.namesrv_asks import Ask, Connection, ask_once
from compat_tests.mqadmin.tools import OfficialTool
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqNameServer, TrimqServer
from compat_tests.servers.real import RealBroker, RealNameServer
from compat_tests.servers.server import Options
from tests.patience import until


class Field:
    """Both NameServers and both brokers."""

    def __init__(self, launch: Launcher, home: Path, stack: ExitStack) -> None:
        self.home = home
        tools = home / "tools"
        tools.mkdir()
        self._tool = OfficialTool(tools)
        stack.callback(self._tool.close)
        self.real = RealNameServer(launch, home / "real-namesrv")
        stack.callback(self.real.kill)
        self.real.start()
        self.ours = TrimqNameServer(home / "our-namesrv")
        with pytest.MonkeyPatch.context() as patch:
            # Where a NameServer keeps its files unless told otherwise.
            patch.setenv("HOME", str(home))
            self.ours.start()
        stack.callback(self.ours.stop)
        both = f"{self.real.addr};{self.ours.addr}"
        self.real_broker = RealBroker(launch, home / "broker", both, Options())
        stack.callback(self.real_broker.kill)
        self.real_broker.start()
        options = Options({"brokerName": "broker-b"})
        self.our_broker = TrimqServer(home / "trimq", options, namesrv=both)
        stack.callback(self.our_broker.kill)
        self.our_broker.start()

    @property
    def addrs(self) -> tuple[str, str]:
        return self.real.addr, self.ours.addr

    def mqadmin(self, namesrv: str, *words: str) -> str:
        """What the official tool prints, without its logger's noise."""
        printed = self._tool.run(namesrv, words)
        assert not printed.err, printed.err
        return "\n".join(line for line in printed.out.splitlines() if "|-" not in line)

    def compare(self, asks: list[Ask]) -> list[str]:
        """One line for each request that the two answer differently."""
        found = []
        real, ours = map(Connection, self.addrs)
        for ask in asks:
            expected, seen = real.ask(ask), ours.ask(ask)
            if expected != seen:
                found.append(f"{ask}\n  real {expected}\n  ours {seen}")
        real.close()
        ours.close()
        return found

    def serves(self, topic: str, broker: str, yes: bool = True) -> None:
        """Wait until both NameServers say whether a broker serves a topic."""
        for addr in self.addrs:
            until(
                lambda addr=addr: (f"'{broker}'" in str(ask_once(addr, 105, topic=topic))) is yes,
                f"{broker} serves {topic} at {addr}: {yes}",
            )

    def forgets(self, topic: str) -> None:
        """Wait until no broker serves a topic in either NameServer."""
        for addr in self.addrs:
            until(
                lambda addr=addr: ask_once(addr, 105, topic=topic)[0] == 17,
                f"{topic} is gone at {addr}",
            )
