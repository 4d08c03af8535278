"""A NameServer, a master and a slave in processes of their own, to be stopped, cut off and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from compat_tests.servers.processes import free_port
from tests.history.clients import Members
from tests.trimq.replication.relay import Relay

ROOT: Final = Path(__file__).parents[3]
NAME: Final = "broker-a"
SETTINGS: Final = {
    "mappedFileSizeCommitLog": 256 * 1024,
    "slaveReadEnable": "true",
    "slaveTimeout": 1500,
    "flushConsumerOffsetInterval": 200,
    # Shorter than what the tests call silence, so that both ends of a link give it up.
    "haSendHeartbeatInterval": 300,
    "haHousekeepingInterval": 1500,
}
COMMAND: Final = "trimq"
# Where a process starts: on which host, if there are several.
Within = Callable[[], AbstractContextManager[None]]


class Process:
    """One `trimq` command; killed with everything else at the end."""

    def __init__(
        self,
        words: list[str],
        log: Path,
        within: Within = nullcontext,
        environment: Mapping[str, str] | None = None,
        program: str = COMMAND,
    ) -> None:
        """MUTANT in the environment is the name of a deliberate mistake of all of them (compat_tests/mutants).

        `program`: a module; one that is not the command itself looks for the mistake by itself.
        """
        mutant = os.environ.get("MUTANT", "")
        is_wrong = mutant and program == COMMAND
        module = ["compat_tests.mutants.catalogue", mutant] if is_wrong else [program]
        with log.open("ab") as errors, within():
            self._process = subprocess.Popen(
                [sys.executable, "-m", *module, *words],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
            )
        self.log = log

    def ready(self, key: str) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        assert line.startswith("TriMQ ready"), (line, self.log.read_text()[-3000:])
        return line.split(f"{key}=")[1].split()[0]

    def send(self, number: int) -> None:
        os.kill(self._process.pid, number)

    def end(self, number: int = signal.SIGKILL) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class Broker:
    """A store, and one process after the other on it, always at the same address."""

    def __init__(
        self,
        home: Path,
        namesrv: str,
        settings: Mapping[str, object],
        addr: str | None = None,
        within: Within = nullcontext,
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.store, self._log = home / "store", home / "log"
        self._namesrv = namesrv
        self.settings = dict(settings)
        # Not one of those that outgoing connections get: one of them may sit on it while the broker is down.
        self.addr = addr or f"127.0.0.1:{free_port()}"
        self._within = within
        # Beside this process's own.
        self.environment: dict[str, str] = {}
        self.program = COMMAND
        self._process: Process | None = None

    def start(self) -> str:
        words = ["server", "--namesrv", self._namesrv, "--listen", self.addr]
        words += ["--store", str(self.store), "--set", f"brokerName={NAME}"]
        for key, value in self.settings.items():
            words += ["--set", f"{key}={value}"]
        self._process = Process(words, self._log, self._within, self.environment, self.program)
        self.addr = self._process.ready("broker")
        return self.addr

    def send(self, number: int) -> None:
        assert self._process is not None
        self._process.send(number)

    def end(self, number: int = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.end(number)
            self._process = None

    def said(self) -> str:
        return self._log.read_text() if self._log.exists() else ""


class Pair:
    """SYNC_MASTER with inSyncReplicas=2 and its slave; `members` says who is where."""

    def __init__(self, home: Path, **settings: object) -> None:
        home.mkdir(exist_ok=True)
        self._names = Process(["namesrv", "--listen", "127.0.0.1:0"], home / "namesrv.log")
        namesrv = self._names.ready("namesrv")
        common = {**SETTINGS, **settings}
        self.master = Broker(
            home / "master",
            namesrv,
            {**common, "brokerRole": "SYNC_MASTER", "inSyncReplicas": 2},
        )
        self.slave = Broker(
            home / "slave", namesrv, {**common, "brokerRole": "SLAVE", "brokerId": 1}
        )
        # The log comes to the slave through it.
        self.relay: Relay | None = None
        self.members = Members(NAME, None)

    def start(self) -> None:
        self.members.master = self.master.start()
        host, _, port = self.master.addr.rpartition(":")
        self.relay = Relay(f"{host}:{int(port) + 1}")
        self.slave.settings["haMasterAddress"] = self.relay.address
        self.members.slaves = [self.slave.start()]

    def end(self) -> None:
        if self.relay is not None:
            self.relay.close()
        self.slave.end()
        self.master.end()
        self._names.end()
