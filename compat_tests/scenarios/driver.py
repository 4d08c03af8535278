"""Runs a driver program (Java or Go) against a server and collects what its scenarios saw.

A driver is called with ``--namesrv A --broker A --run ID --scenario X,Y --out DIR [--control DIR] [--tls]`` and
writes ``DIR/X.json`` = ``{"scenario", "outcome", "error"}`` per scenario. A scenario that wants the server restarted
writes ``request-N.json`` = ``{"do": "restart" | "kill9" | "restart_namesrv"}`` into the control folder and waits for
``done-N``.
"""

from __future__ import annotations

import json
import secrets
import shutil
import string
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from compat_tests.servers import artifacts
from compat_tests.servers.processes import Child
from compat_tests.servers.server import Server, Tls


@dataclass(frozen=True)
class Outcome:
    """What one scenario saw on one server; ``error`` is a scenario that could not end."""

    scenario: str
    run: str
    outcome: Any
    error: str | None


class Driver(Protocol):
    """A program that plays scenarios with one official client."""

    @property
    def name(self) -> str: ...

    @property
    def plays_plain(self) -> bool:
        """Whether the plain build plays its scenarios too where there is a compiled one."""

    def sources(self) -> Sequence[Path]:
        """Everything that decides what its scenarios do."""

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        """How it is started; ``folder`` is its own to write to."""


@dataclass(frozen=True)
class JavaDriver:
    """java/src against one line of the official Java client."""

    client: str
    parallel: int = 6
    plays_plain: bool = False

    @property
    def name(self) -> str:
        return f"java-{self.client.rsplit('-', 1)[1]}"

    def sources(self) -> Sequence[Path]:
        return artifacts.java_sources(self.client)

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        java = shutil.which("java") or "java"
        options = ["-Xms256m", "-Xmx768m", "-XX:+UseSerialGC", "-Xss512k", f"-Duser.home={folder}"]
        # The client looks every 20 s whether its queues should change, unless somebody tells it.
        options += ["-Drocketmq.client.rebalance.waitInterval=1000"]
        options += [f"-Drocketmq.client.localOffsetStoreDir={folder / 'offsets'}"]
        if tls is not None:
            file = folder / "tls.properties"
            file.write_text(
                f"tls.test.mode.enable=false\ntls.client.authServer=true\ntls.client.trustCertPath={tls.authority}\n"
            )
            options += [f"-Dtls.config.file={file}"]
        path = artifacts.java_driver(self.client)
        return [java, *options, "-cp", path, "driver.Driver", "--parallel", str(self.parallel)]


JAVA_5: Final = JavaDriver(artifacts.CLIENT_5)
JAVA_4: Final = JavaDriver(artifacts.CLIENT_4)


def new_run() -> str:
    """An id that makes names of topics and groups new. Always as long, since names are part of a record's size."""
    return "r" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(7))


def play(
    driver: Driver,
    server: Server,
    scenarios: Iterable[str],
    folder: Path,
    *,
    how: str | None = None,
    tls: Tls | None = None,
    timeout: float = 400,
) -> dict[str, Outcome]:
    """Every scenario once, in one process of the driver; requests for restarts are served meanwhile."""
    run = new_run()
    names = list(scenarios)
    out = folder / run
    control = out / "control"
    control.mkdir(parents=True)
    command = [
        *driver.command(out, tls),
        "--namesrv",
        server.namesrv_addr,
        "--broker",
        server.broker_addr,
    ]
    command += [
        "--run",
        run,
        "--scenario",
        ",".join(names),
        "--out",
        str(out),
        "--control",
        str(control),
    ]
    command += ["--how", how] if how else []
    command += ["--tls"] if tls else []
    child = Child(command, out / "driver.log")
    deadline = time.monotonic() + timeout
    try:
        _serve_requests(child, server, control, deadline)
    finally:
        child.kill()
    return {name: _outcome(out, name, run, child) for name in names}


def _serve_requests(child: Child, server: Server, control: Path, deadline: float) -> None:
    actions: dict[str, Callable[[], None]] = {
        "restart": server.restart,
        "kill9": server.kill9,
        "restart_namesrv": server.restart_namesrv,
    }
    number = 1
    while child.running and time.monotonic() < deadline:
        request = control / f"request-{number}.json"
        if request.exists():
            actions[json.loads(request.read_text())["do"]]()
            (control / f"done-{number}").touch()
            number += 1
        time.sleep(0.05)


def _outcome(out: Path, name: str, run: str, child: Child) -> Outcome:
    file = out / f"{name}.json"
    if not file.exists():
        return Outcome(
            name,
            run,
            None,
            f"the driver wrote nothing; its log ends with\n{child.output()[-3000:]}",
        )
    content = json.loads(file.read_text())
    return Outcome(name, run, content["outcome"], content["error"])
