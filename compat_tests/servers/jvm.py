"""What starts a JVM with the real RocketMQ's jars: this machine's own Java, or whatever else can."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from compat_tests.servers import artifacts
from compat_tests.servers.processes import Child


class Running(Protocol):
    """One started JVM, wherever it runs."""

    @property
    def pid(self) -> int: ...

    def wait_for(self, mark: str, timeout: float = 60) -> str: ...

    def stop(self, timeout: float = 60) -> int: ...

    def kill(self) -> None: ...


class Launcher(Protocol):
    """Starts ``java`` with arguments; ``home`` is readable and writable under the same path."""

    @property
    def description(self) -> str: ...

    def java(self, arguments: Sequence[str], home: Path, log: Path) -> Running: ...


class JvmLauncher:
    """The jars on this machine's own JVM."""

    description = "on the JVM"

    def java(self, arguments: Sequence[str], home: Path, log: Path) -> Running:
        lib = artifacts.jars(artifacts.SERVER)
        java = shutil.which("java")
        if java is None:
            raise FileNotFoundError(
                "java is needed for the real RocketMQ: apt-get install openjdk-17-jdk-headless"
            )
        command = [java, "-cp", artifacts.classpath(lib), *arguments]
        return Child(command, log, {**os.environ, "ROCKETMQ_HOME": str(home)})
