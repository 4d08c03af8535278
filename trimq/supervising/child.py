"""One broker's process, kept going (trimq/serving/kept_process.py).

Over its standard input comes one line that names the siblings; over its standard output goes one that says where it is.

Where a service manager has a watchdog over the supervisor, the supervisor is the watchdog over the brokers: each then
writes an empty line whenever its loop has turned for a while. One that hangs is ended and started again by itself; the
manager would have to end all of them.
"""

import json
import sys
from collections.abc import Sequence

from trimq.serving.kept_process import KeptProcess
from trimq.settings.endpoints import Endpoint
from trimq.supervising.broker_layout import Member


class Child(KeptProcess):
    """`address` is the one that clients are told."""

    def __init__(
        self,
        member: Member,
        namesrv: str,
        arguments: Sequence[str],
        metrics: bool,
        watchdog_seconds: float = 0.0,
    ) -> None:
        """`arguments` are those that all brokers share. `watchdog_seconds`: how long it may be silent; 0: always."""
        super().__init__("broker", member.name, watchdog_seconds)
        self.member = member
        self.port = 0
        self.metrics_address: str | None = None
        self._namesrv = namesrv
        self._arguments = arguments
        self._metrics = metrics
        self._siblings: list[str] | None = None

    def command(self) -> list[str]:
        member = self.member
        # From the second start on it is where clients know it.
        listen = Endpoint(member.listen.host, self.port or member.listen.port)
        command = [sys.executable, "-m", "trimq", "server", "--supervised", *self._arguments]
        command += ["--namesrv", self._namesrv, "--store", str(member.store)]
        command += ["--listen", str(listen)]
        if member.advertise is not None:
            command += ["--advertise", str(member.advertise)]
        if self._metrics:
            command += ["--metrics", "127.0.0.1:0"]
        for key, text in member.settings.items():
            command += ["--set", f"{key}={text}"]
        return command

    async def heard(self, line: bytes) -> None:
        told = json.loads(line)
        self.address = told["broker"]
        self.port = told["port"]
        self.metrics_address = told["metrics"]
        if self._siblings is not None:
            await self._send_siblings()

    async def tell_siblings(self, addresses: Sequence[str]) -> None:
        """Where the other brokers are; told again to each new process."""
        self._siblings = list(addresses)
        await self._send_siblings()

    async def _send_siblings(self) -> None:
        await self.tell(json.dumps({"siblings": self._siblings}))
