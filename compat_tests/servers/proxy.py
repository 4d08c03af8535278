"""RocketMQ's proxy 5.5.0 in cluster mode, before one NameServer and its broker."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

from compat_tests.servers import artifacts
from compat_tests.servers.processes import HOST, free_port
from tests.patience import until

MAIN: Final = "org.apache.rocketmq.proxy.ProxyStartup"
HEAP: Final = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC"]
READY: Final = b"startup successfully"
START_SECONDS: Final = 240
_PR_SET_PDEATHSIG: Final = 1


def end_with_parent() -> None:
    """For a child, before it becomes its program: whoever kills the parent ends it as well (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Proxy:
    """Default settings but for addresses, ports and `more`. It is on the JVM also where brokers run in containers."""

    def __init__(self, home: Path, namesrv: str, **more: object) -> None:
        self._home = home
        (home / "conf").mkdir(parents=True, exist_ok=True)
        (home / "tmp").mkdir(exist_ok=True)
        grpc, remoting = free_port(), free_port()
        self.grpc = f"{HOST}:{grpc}"
        self.remoting = f"{HOST}:{remoting}"
        self._file = home / "rmq-proxy.json"
        settings = {
            "rocketMQClusterName": "DefaultCluster",
            "namesrvAddr": namesrv,
            "grpcServerPort": grpc,
            "remotingListenPort": remoting,
            "localServeAddr": HOST,
            **more,
        }
        self._file.write_text(json.dumps(settings))
        self._log = home / "proxy.log"
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> Proxy:
        java = shutil.which("java")
        if java is None:
            raise FileNotFoundError("java is needed for RocketMQ's proxy")
        path = artifacts.classpath(artifacts.jars(artifacts.PROXY))
        folders = [f"-Duser.home={self._home}", f"-Djava.io.tmpdir={self._home / 'tmp'}"]
        command = [java, *HEAP, *folders, "-cp", path, MAIN, "-pc", str(self._file)]
        home = {**os.environ, "ROCKETMQ_HOME": str(self._home)}
        with self._log.open("wb") as sink:
            self._running = process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=home,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - no thread runs here
            )
        until(
            lambda: READY in self._log.read_bytes() or process.poll() is not None,
            "the proxy is ready",
            START_SECONDS,
        )
        if process.poll() is not None:
            raise RuntimeError(f"the proxy ended: {self._log.read_text()[-3000:]}")
        return self

    @property
    def pid(self) -> int:
        if self._running is None:
            raise RuntimeError("the proxy does not run")
        return self._running.pid

    def stop(self) -> None:
        """As a crash does: what it holds for its clients is with the broker."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None
