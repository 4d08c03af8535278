"""One broker's process, kept going.

Its standard input is a pipe that the supervisor holds: when that ends, so does the broker, whatever ended the
supervisor. Over it comes one line that names the siblings; over its standard output goes one that says where it is.

Where a service manager has a watchdog over the supervisor, the supervisor is the watchdog over the brokers: each then
writes an empty line whenever its loop has turned for a while. One that hangs is ended and started again by itself; the
manager would have to end all of them.
"""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import trio

from trimq.process.service_manager import WATCHDOG_SIGNAL
from trimq.process.stop_signals import STOP_SECONDS
from trimq.serving.failures import ChildFailed
from trimq.settings.endpoints import Endpoint
from trimq.supervising.broker_layout import Member

log = logging.getLogger("trimq.supervisor")

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
# A broker ends by itself within STOP_SECONDS of its own.
KILL_SECONDS: Final = STOP_SECONDS + 0.4
# What one that hangs may take to say where.
_LAST_WORDS_SECONDS: Final = 2.0
_LINES: Final = 4096


class Child:
    def __init__(
        self,
        member: Member,
        namesrv: str,
        arguments: Sequence[str],
        metrics: bool,
        watchdog_seconds: float = 0.0,
    ) -> None:
        """`arguments` are those that all brokers share. `watchdog_seconds`: how long it may be silent; 0: always."""
        self.member = member
        self.address = ""
        self.port = 0
        self.metrics_address: str | None = None
        self.restarts = 0
        self._namesrv = namesrv
        self._arguments = arguments
        self._metrics = metrics
        self._watchdog_seconds = watchdog_seconds
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
                self.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment(),
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
                    if self._watchdog_seconds:
                        await self._watch(process)
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

    def _environment(self) -> dict[str, str] | None:
        """None: this process's own."""
        if not self._watchdog_seconds:
            return None
        return {**os.environ, "WATCHDOG_USEC": str(int(self._watchdog_seconds * 1e6))}

    async def _watch(self, process: trio.Process) -> None:
        """Until it ends; one that hangs is ended."""
        assert process.stdout is not None
        while True:
            with trio.move_on_after(self._watchdog_seconds) as patience:
                if not await process.stdout.receive_some(_LINES):
                    return
            if self._stopping:
                return
            if patience.cancelled_caught:
                break
        log.error(
            "broker hangs, ending it: name=%s silent_seconds=%.1f",
            self.member.name,
            self._watchdog_seconds,
        )
        process.send_signal(WATCHDOG_SIGNAL)
        # Of one that was halted, too.
        process.send_signal(signal.SIGCONT)
        with trio.move_on_after(_LAST_WORDS_SECONDS):
            await process.wait()
        process.kill()

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
