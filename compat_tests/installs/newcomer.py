"""What somebody types who has a clone of TriMQ, and on the machine Python, git and make alone; how long each takes.

    python3 newcomer.py REPOSITORY FOLDER

It clones the repository into the folder, serves a first message, installs what it has cloned, and plays `make test`.
Standard error says how far it is. The output is JSON: seconds, and what was said. The Python of that machine runs this
file, without TriMQ: it imports nothing but what comes with Python.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

TOPIC: Final = "FirstMinutes"
BODY: Final = "hello"
ON_FREE_PORTS: Final = ("NAMESRV_LISTEN=127.0.0.1:0", "LISTEN=127.0.0.1:0")


class Newcomer:
    """One clone and one environment beside it."""

    def __init__(self, repository: str, folder: Path) -> None:
        self._repository = repository
        self.clone = folder / "trimq"
        self._installed = folder / "installed"
        self._log = folder / "said.txt"
        self.seconds: dict[str, float] = {}
        self.said: dict[str, str] = {}

    def play(self) -> None:
        began = time.monotonic()
        self._timed("clone", "git", "clone", "--quiet", self._repository, str(self.clone))
        self._serve(began)
        self._timed("venv", sys.executable, "-m", "venv", str(self._installed))
        installed = self._installed / "bin"
        self._timed("install", str(installed / "pip"), "install", ".", cwd=self.clone)
        self._timed("version", str(installed / "trimq"), "--version")
        self._timed("test", "make", "test", cwd=self.clone)

    def _timed(self, name: str, *command: str, cwd: Path | None = None) -> None:
        """Its output is kept, be it right or wrong; SystemExit if it failed."""
        began = time.monotonic()
        with self._log.open("wb") as log:
            done = subprocess.run(command, cwd=cwd, stdout=log, stderr=log, check=False)
        self._note(name, began)
        self.said[name] = self._log.read_text(errors="replace")
        if done.returncode:
            raise SystemExit(
                f"{' '.join(command)} ended with {done.returncode}:\n{self.said[name]}"
            )

    def _note(self, name: str, began: float) -> None:
        self.seconds[name] = time.monotonic() - began
        print(f"{name}: {self.seconds[name]:.1f} s", file=sys.stderr, flush=True)

    def _serve(self, began: float) -> None:
        """`make serve`; a first message by mqadmin, which is seen; and Ctrl-C."""
        with (
            self._log.open("wb") as errors,
            subprocess.Popen(
                ["make", "serve", *ON_FREE_PORTS],
                cwd=self.clone,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            ) as served,
        ):
            assert served.stdout is not None
            try:
                namesrv = self._namesrv(served.stdout)
                self._note("ready", began)
                self._mqadmin("sent", namesrv, "sendMessage", "-t", TOPIC, "-p", BODY)
                self._note("message", began)
                self._mqadmin("seen", namesrv, "tail", TOPIC, "--format", "%b")
            finally:
                os.killpg(served.pid, signal.SIGINT)
                served.wait()
                self.said["serve"] = self._log.read_text(errors="replace")

    def _namesrv(self, lines: Any) -> str:
        for line in lines:
            found = re.match(r"TriMQ ready: namesrv=(\S+)", line)
            if found is not None:
                return found[1]
        raise SystemExit(f"make serve ended before it was ready:\n{self._log.read_text()}")

    def _mqadmin(self, name: str, namesrv: str, *words: str) -> None:
        command = [str(self.clone / ".venv" / "bin" / "mqadmin"), "-n", namesrv, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.said[name] = done.stdout + done.stderr
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{self.said[name]}")


def main(words: Sequence[str]) -> None:
    repository, folder = words
    newcomer = Newcomer(repository, Path(folder))
    newcomer.play()
    found = {"seconds": newcomer.seconds, "said": newcomer.said}
    print(json.dumps({"python": platform.python_version(), **found}))


if __name__ == "__main__":
    main(sys.argv[1:])
