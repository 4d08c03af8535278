"""Starts old NameServers and brokers on this machine's Java, as `compat_tests.servers.real` does those of 5.5.0."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from compat_tests.servers import artifacts
from compat_tests.servers.jvm import SHORT_LIVED
from compat_tests.servers.ours import TrimqNameServer
from compat_tests.servers.processes import Child
from compat_tests.servers.real import RealBroker, RealNameServer, wait_until_known
from compat_tests.servers.server import Options

VERSIONS: Final = (*artifacts.OLD_VERSIONS, *artifacts.OTHER_VERSIONS)
# What RocketMQ's own scripts give to Java 9 and later.
OPENED: Final = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)
_HEAP: Final = ("-Xms256m", "-Xmx256m", "-XX:MaxDirectMemorySize=256m", *SHORT_LIVED)
# Without a file of this name servers of 4.x do not start.
_LOGGING: Final = '<configuration><root level="OFF"/></configuration>\n'


class OldLauncher:
    """The jars of one old version."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.description = f"{version} on the JVM"

    def java(self, arguments: Sequence[str], home: Path, log: Path) -> Child:
        java = shutil.which("java")
        if java is None:
            raise FileNotFoundError("java is needed: apt-get install openjdk-17-jdk-headless")
        prepare_logging(home)
        path = artifacts.classpath(artifacts.jars(f"rocketmq-{self.version}"))
        command = [java, *OPENED, "-cp", path, *arguments]
        return Child(command, log, {**os.environ, "ROCKETMQ_HOME": str(home)})


def prepare_logging(home: Path) -> None:
    (home / "conf").mkdir(parents=True, exist_ok=True)
    for name in ("namesrv", "broker", "tools"):
        (home / "conf" / f"logback_{name}.xml").write_text(_LOGGING)


def old_name_server(version: str, home: Path) -> RealNameServer:
    return RealNameServer(OldLauncher(version), home / "namesrv")


def our_name_server(home: Path) -> TrimqNameServer:
    """Started; where a NameServer keeps its files unless told otherwise is below `home`."""
    ours = TrimqNameServer(home / "our-namesrv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        ours.start()
    return ours


class OldBroker(RealBroker):
    """Some of them say nothing when they are up: started is who is registered."""

    def __init__(
        self, version: str, home: Path, namesrv: str, settings: Mapping[str, str] | None = None
    ) -> None:
        options = Options({"mapedFileSizeCommitLog": str(64 << 20), **(settings or {})})
        super().__init__(OldLauncher(version), home / "broker", namesrv, options, _HEAP)

    def start(self) -> None:
        self._running = self._launch.java(self.arguments(), self.home, self._log)
        for namesrv in self.settings["namesrvAddr"].split(";"):
            wait_until_known(namesrv, [self.settings["brokerName"]])


def is_fetched(version: str) -> bool:
    """Whether the jars are there without asking anybody."""
    return (artifacts.cache_root() / f"rocketmq-{version}" / "lib").is_dir()
