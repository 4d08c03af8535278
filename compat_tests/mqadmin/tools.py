"""The two tools: RocketMQ's mqadmin, many commands in one JVM, and ours, one process per command, forked off."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compat_tests.servers import artifacts
from compat_tests.servers.asked import AskedProgram
from tests.run.mqadmin import Mqadmin


@dataclass(frozen=True)
class Printed:
    """What a command wrote, and its exit code (the official tool's is not known)."""

    out: str
    err: str
    code: int | None = None


def temporary(folder: Path) -> Path:
    """Where a tool that works in `folder` leaves what it would leave in /tmp."""
    made = folder / "tmp"
    made.mkdir(parents=True, exist_ok=True)
    return made


class OfficialTool:
    """java/shim/rocketmq-5/driver/AdminTool.java: the real mqadmin, started once."""

    name = "official"

    def __init__(self, folder: Path, timeout: float = 240) -> None:
        """`timeout` of a command, in seconds; the first one waits for the JVM."""
        temp = temporary(folder)
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-Xss512k"]
        options += [f"-Duser.home={folder}", f"-Djava.io.tmpdir={temp}"]
        command = [shutil.which("java") or "java", *options]
        command += ["-cp", artifacts.java_driver(artifacts.CLIENT_5), "driver.AdminTool"]
        self._program = AskedProgram(command, folder, "admin-tool.log", timeout)

    def run(self, namesrv: str, words: Sequence[str]) -> Printed:
        if words[0] == "startMonitoring":
            # It would never end, and say nothing here.
            return self.ask("monitor", namesrv)
        return self.ask("admin", *words, "-n", namesrv)

    def interrupt(self, namesrv: str, words: Sequence[str], lines: int) -> Printed:
        """Run a command that would go on for ever until it rests; it has printed `lines` then."""
        printed = self.ask("endless", *words, "-n", namesrv)
        assert printed.out.count("\n") == lines, printed
        return printed

    def ask(self, *words: str) -> Printed:
        """One request of the driver."""
        out, err = self._program.ask(words, 2)
        return Printed(out.decode(), err.decode())

    def close(self) -> None:
        self._program.close()


class OurTool:
    """`python -m mqadmin` of this checkout, run in a folder of its own."""

    name = "ours"
    _command = (sys.executable, "-m", "trimq.mqadmin")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mqadmin = Mqadmin(folder, 240, **self._own())

    def run(self, namesrv: str, words: Sequence[str]) -> Printed:
        done = self._mqadmin.run(*words, "-n", namesrv)
        return Printed(done.stdout, done.stderr, done.returncode)

    def close(self) -> None:
        self._mqadmin.close()

    def interrupt(self, namesrv: str, words: Sequence[str], lines: int) -> Printed:
        """Run a command that would go on for ever; Ctrl-C when it has printed so many lines.

        How it ends then is no exit code of the command.
        """
        environment = {**self._environment(), "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            [*self._command, *words, "-n", namesrv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            # A shell lets its jobs in the background ignore it, and what they start inherits that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        watchdog = threading.Timer(240, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            first = "".join(process.stdout.readline() for _ in range(lines))
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate()
        finally:
            watchdog.cancel()
        return Printed(first + rest, err)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self._own()}

    def _own(self) -> dict[str, str]:
        return {
            "PYTHONPATH": str(artifacts.ROOT),
            "PYTHONSAFEPATH": "1",
            "TMPDIR": str(temporary(self._folder)),
        }
