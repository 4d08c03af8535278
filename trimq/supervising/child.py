"""One broker's process, kept going.

Its standard input is a pipe that the supervisor holds: when that ends, so does the broker, whatever ended the
supervisor. Over it comes one line that names the siblings; over its standard output goes one that says where it is.
"""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import trio

from trimq.process.stop_signals import STOP_SECONDS
from trimq.serving.failures import ChildFailed
from trimq.settings.endpoints import Endpoint
from trimq.supervising.broker_layout import Member

log = logging.getLogger("trimq.supervisor")

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
# A broker ends by itself within STOP_SECONDS of its own.
KILL_SECONDS: Final = STOP_SECONDS + 0.4


class Child:
    def __init__(
        self, member: Member, namesrv: str, arguments: Sequence[str], metrics: bool
    ) -> None:
        """`arguments` are those that all brokers share."""
        self.member = member
        self.address = ""
        self.port = 0
        self.metrics_address: str | None = None
        self.restarts = 0
        self._namesrv = namesrv
        self._arguments = arguments
        self._metrics = metrics
        self._process: trio.Process | None = None
        self._siblings: list[str] | None = None
        self._stopping = False

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

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until `stop`; started once the broker is ready. ChildFailed."""
        pause = FIRST_PAUSE
        is_first = True
        while not self._stopping:
            began = trio.current_time()
            process = await trio.lowlevel.open_process(
                self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._process = process
            try:
                if await self._until_ready(process):
                    if is_first:
                        is_first = False
                        task_status.started()
                    else:
                        log.info(
                            "broker is back: name=%s address=%s", self.member.name, self.address
                        )
                code = await process.wait()
            finally:
                await self._end(process)
            if self._stopping:
                break
            if is_first:
                raise ChildFailed(f"broker {self.member.name} did not start: exit code {code}")
            if trio.current_time() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            self.restarts += 1
            log.error(
                "broker ended, starting it again: name=%s exit_code=%d pause=%.1f",
                self.member.name,
                code,
                pause,
            )
            await trio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _until_ready(self, process: trio.Process) -> bool:
        """Whether it says where it is before it ends."""
        assert process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            data = await process.stdout.receive_some()
            if not data:
                return False
            line += data
        told = json.loads(line)
        self.address = told["broker"]
        self.port = told["port"]
        self.metrics_address = told["metrics"]
        if self._siblings is not None:
            await self._send_siblings(process)
        return True

    async def tell_siblings(self, addresses: Sequence[str]) -> None:
        """Where the other brokers are; told again to each new process."""
        self._siblings = list(addresses)
        if self._process is not None:
            await self._send_siblings(self._process)

    async def _send_siblings(self, process: trio.Process) -> None:
        assert process.stdin is not None
        line = json.dumps({"siblings": self._siblings}) + "\n"
        try:
            await process.stdin.send_all(line.encode())
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # It has just ended, which `run` sees.
            return

    async def stop(self) -> None:
        """Cleanly; what takes too long is killed."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        with trio.move_on_after(KILL_SECONDS) as patience:
            await process.wait()
        if patience.cancelled_caught:
            log.error("broker does not stop, killing it: name=%s", self.member.name)
            process.kill()
            await process.wait()

    @staticmethod
    async def _end(process: trio.Process) -> None:
        """Whatever ended us: it does not outlive this."""
        if process.returncode is None:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                await stream.aclose()
