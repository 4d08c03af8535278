"""A process of this program's own that is kept going: started again when it ends, ended when this one does.

Its standard input is a pipe that this process holds: when that ends, so does the other one, whatever ended this one.
Over its standard output comes one line when it is ready. One that has to show that its loop turns writes an empty line
now and then; when that stays away, it hangs, and is ended and started again.
"""

import logging
import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Final

import trio

from trimq.process.service_manager import WATCHDOG_SIGNAL
from trimq.process.stop_signals import STOP_SECONDS
from trimq.remoting.log_throttle import LogThrottle
from trimq.serving.failures import ChildFailed

log = logging.getLogger("trimq.supervisor")

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
# A server ends by itself within STOP_SECONDS of its own.
KILL_SECONDS: Final = STOP_SECONDS + 0.4
# What one that hangs may take to say where.
_LAST_WORDS_SECONDS: Final = 2.0
_LINES: Final = 4096


class KeptProcess:
    """What kinds differ in: `command`, `environment` and what they make of the ready line (`heard`)."""

    def __init__(self, kind: str, name: str, watchdog_seconds: float = 0.0) -> None:
        """For the log: "broker", and which. `watchdog_seconds`: how long it may be silent; 0: always."""
        self.address = ""
        self.restarts = 0
        # Why it is not ready, as it says itself; empty: it has said nothing of the kind.
        self.failure = ""
        self._kind = kind
        self._name = name
        self._watchdog_seconds = watchdog_seconds
        self._process: trio.Process | None = None
        self._stopping = False
        self._throttle = LogThrottle()

    def command(self) -> list[str]:
        """How it is started, now."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str] | None:
        """None: this process's own."""
        return None

    async def began(self) -> None:
        """It runs, and is not ready yet."""

    async def heard(self, line: bytes) -> None:
        """What it says when it is ready: `address` is known afterwards; or `failure`, when it never will be."""
        raise NotImplementedError

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until `stop`; started once it is ready. ChildFailed when it never was."""
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
            self.failure = ""
            was_ready = False
            try:
                await self.began()
                if await self._until_ready(process):
                    was_ready = True
                    if is_first:
                        is_first = False
                        task_status.started()
                    else:
                        log.info(
                            "%s is back: name=%s address=%s", self._kind, self._name, self.address
                        )
                    if self._watchdog_seconds:
                        await self._watch(process)
                code = await process.wait()
            finally:
                await self._end(process)
            if self._stopping:
                break
            if is_first:
                raise ChildFailed(
                    f"{self._kind} {self._name} did not start: {self.failure or f'exit code {code}'}"
                )
            if trio.current_time() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            self.restarts += 1
            self._say_ended(code, pause, was_ready)
            await trio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _say_ended(self, code: int, pause: float, was_ready: bool) -> None:
        """Each end of one that was ready; attempts that fail alike once in a while."""
        times = 1 if was_ready else self._throttle.times((code, self.failure))
        if times:
            log.log(
                logging.ERROR if code else logging.WARNING,
                "%s ended, starting it again: name=%s exit_code=%d pause=%.1f reason=%s times=%s",
                self._kind,
                self._name,
                code,
                pause,
                self.failure or None,
                times if times > 1 else None,
            )

    def _environment(self) -> dict[str, str] | None:
        given = self.environment()
        if not self._watchdog_seconds:
            return None if given is None else dict(given)
        watchdog = str(int(self._watchdog_seconds * 1e6))
        return {**(os.environ if given is None else given), "WATCHDOG_USEC": watchdog}

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
            "%s hangs, ending it: name=%s silent_seconds=%.1f",
            self._kind,
            self._name,
            self._watchdog_seconds,
        )
        process.send_signal(WATCHDOG_SIGNAL)
        # Of one that was halted, too.
        process.send_signal(signal.SIGCONT)
        with trio.move_on_after(_LAST_WORDS_SECONDS):
            await process.wait()
        process.kill()

    async def _until_ready(self, process: trio.Process) -> bool:
        """Whether it says where it is before it ends, and not why it is nowhere."""
        assert process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            data = await process.stdout.receive_some()
            if not data:
                return False
            line += data
        await self.heard(line)
        return not self.failure

    async def tell(self, line: str) -> None:
        """Write a line to it; nothing if none runs."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        try:
            await process.stdin.send_all(line.encode() + b"\n")
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
            log.error("%s does not stop, killing it: name=%s", self._kind, self._name)
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
