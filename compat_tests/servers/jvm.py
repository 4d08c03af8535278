"""What starts a JVM with the real RocketMQ's jars: this machine's own Java, or whatever else can."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from compat_tests.servers import artifacts
from compat_tests.servers.processes import STOP_SECONDS, Child
from tests.patience import PATIENCE

# A folder of classes that come before the server's own: of a version that nobody has released.
PATCHED: Final = "TRIMQ_PATCHED_CLASSES"
# For a JVM that lives for seconds: optimising its code and threads of collectors would cost it more than they save.
SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# For a broker that does little: TimerFlushService goes through its wheel every second, and takes a sixth of a core for
# that in code that is not optimised. So loops are, and methods only when they have run ten times as often as usual.
IDLE: Final = (
    "-XX:TieredStopAtLevel=4",
    "-XX:+UseSerialGC",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=20000",
    "-XX:Tier4CompileThreshold=100000",
)


def prefer_short_lived() -> None:
    """From now on what this process and its children find as `java` on the path has these options, and so has Spark.

    For official clients, tools and proxies, whose command lines stay as they are. Without a word of the JVM's
    own on standard error, as JDK_JAVA_OPTIONS would have it.
    """
    folder = artifacts.cache_root() / "short-lived"
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    others = os.pathsep.join(place for place in places if Path(place) != folder)
    java = shutil.which("java", path=others)
    if java is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    text = f'#!/bin/sh\nexec {shlex.quote(java)} {" ".join(SHORT_LIVED)} "$@"\n'
    # Sessions of tests run side by side, and none may meet half a file.
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as partial:
        partial.write(text)
    Path(partial.name).chmod(0o755)
    Path(partial.name).rename(folder / "java")
    os.environ["PATH"] = os.pathsep.join((str(folder), others))
    # Spark starts the JVM of its driver, and those of a cluster, by the path of the one that runs.
    for name in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
        os.environ.setdefault(name, " ".join(SHORT_LIVED))


class Running(Protocol):
    """One started JVM, wherever it runs."""

    @property
    def pid(self) -> int: ...

    def wait_for(self, mark: str, timeout: float = PATIENCE) -> str: ...

    def stop(self, timeout: float = STOP_SECONDS) -> int: ...

    def kill(self) -> None: ...


class Launcher(Protocol):
    """Starts ``java`` with arguments; ``home`` is readable and writable under the same path."""

    @property
    def description(self) -> str: ...

    def java(self, arguments: Sequence[str], home: Path, log: Path) -> Running: ...


class JvmLauncher:
    """The jars on this machine's own JVM."""

    description = "on the JVM"

    def __init__(self, server: str = artifacts.SERVER) -> None:
        """`server`: whose jars, by the name that `artifacts` has for them."""
        self._server = server

    def java(self, arguments: Sequence[str], home: Path, log: Path) -> Running:
        lib = artifacts.jars(self._server)
        java = shutil.which("java")
        if java is None:
            raise FileNotFoundError(
                "java is needed for the real RocketMQ: apt-get install openjdk-17-jdk-headless"
            )
        path = artifacts.classpath(lib)
        if PATCHED in os.environ:
            path = f"{os.environ[PATCHED]}:{path}"
        command = [java, "-cp", path, *arguments]
        return Child(command, log, {**os.environ, "ROCKETMQ_HOME": str(home)})
