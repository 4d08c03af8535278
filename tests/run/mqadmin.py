"""`mqadmin` as processes that begin in no time: see mqadmin_runner.py."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
Done = subprocess.CompletedProcess[str]


class Mqadmin:
    """Runs commands of ours one after the other, each in a process of its own; may be shared by threads."""

    def __init__(self, folder: Path | None = None, timeout: float = 60, **environment: str) -> None:
        """`folder` is where they run."""
        self._folder = folder
        self._timeout = timeout
        self._environment = environment
        self._lock = threading.Lock()
        self._runner: subprocess.Popen[bytes] | None = None

    def run(self, *words: str, **environment: str) -> Done:
        with self._lock, tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            code = self._ask(
                {"words": words, "out": str(out), "err": str(err), "environment": environment}
            )
            return Done(words, code, out.read_text(), err.read_text())

    def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            assert runner.stdin is not None
            assert runner.stdout is not None
            runner.stdin.close()
            runner.wait(self._timeout)
            runner.stdout.close()

    def _start(self) -> subprocess.Popen[bytes]:
        # With it set, other texts would appear.
        plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        own = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", **self._environment}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.run.mqadmin_runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**plain, **own},
            cwd=self._folder,
            start_new_session=True,
        )

    def _ask(self, command: Mapping[str, object]) -> int:
        if self._runner is None:
            self._runner = self._start()
        runner = self._runner
        assert runner.stdin is not None
        assert runner.stdout is not None
        # The command is in the runner's process group.
        watchdog = threading.Timer(self._timeout, os.killpg, (runner.pid, signal.SIGKILL))
        watchdog.start()
        try:
            runner.stdin.write(json.dumps(command).encode() + b"\n")
            runner.stdin.flush()
            answer = runner.stdout.readline()
        finally:
            watchdog.cancel()
        if not answer:
            self.close()
            raise RuntimeError(
                f"mqadmin took over {self._timeout} s, or its runner ended: {command}"
            )
        return int(answer)


@cache
def _shared() -> Mqadmin:
    made = Mqadmin()
    atexit.register(made.close)
    return made


def run_mqadmin(*words: str, **environment: str) -> Done:
    """By a runner that lives as long as this process."""
    return _shared().run(*words, **environment)
