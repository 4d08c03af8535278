"""The mqadmin and the Java client of an old version, both in one JVM."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from compat_tests.old.servers import OPENED, prepare_logging
from compat_tests.servers import artifacts
from compat_tests.servers.asked import AskedProgram
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
        command = [*java, "-cp", path, "Old"]
        self._program = AskedProgram(command, folder, "old-tool.log", _SECONDS)

    def run(self, *words: str) -> str:
        """What a command prints. `client NAMESRV TOPIC GROUP NUMBER` sends so many messages and consumes them."""
        [printed] = self._program.ask(words, 1)
        return printed.decode(errors="replace")

    def close(self) -> None:
        self._program.close()
