"""The mqadmin and the Java client of an old version, both in one JVM."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path
from typing import IO, Final

from compat_tests.old.servers import OPENED, prepare_logging
from compat_tests.servers import artifacts
from compat_tests.servers.jvm import SHORT_LIVED

_SOURCES: Final = (artifacts.TESTS / "old" / "java" / "Old.java",)
# Of one command; the first one waits for the JVM.
_SECONDS: Final = 240


class OldTool:
    """`java/Old.java` on the jars of one version."""

    def __init__(self, version: str, folder: Path) -> None:
        prepare_logging(folder)
        lib = f"rocketmq-{version}"
        path = artifacts.program(f"old-{version}", lib, _SOURCES)
        java = [shutil.which("java") or "java", "-Xmx192m", *SHORT_LIVED, *OPENED]
        java += [f"-Duser.home={folder}", f"-Drocketmq.home.dir={folder}"]
        self._log = (folder / "old-tool.log").open("wb")
        self._process = subprocess.Popen(
            [*java, "-cp", path, "Old"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,
        )

    def run(self, *words: str) -> str:
        """What a command prints. `client NAMESRV TOPIC GROUP NUMBER` sends so many messages and consumes them."""
        requests, answers = self._pipes()
        watchdog = threading.Timer(_SECONDS, self._process.kill)
        watchdog.start()
        try:
            requests.write("\t".join(words).encode() + b"\n")
            requests.flush()
            head = answers.readline().split()
            if len(head) != 2 or head[0] != b"=":
                raise RuntimeError(f"the old tool ended at {words}: {head!r}")
            return answers.read(int(head[1])).decode(errors="replace")
        finally:
            watchdog.cancel()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes():
            pipe.close()
        self._log.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout
