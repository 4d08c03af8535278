"""docs/proxy.md: its commands, one after the other in an empty folder, give a proxy that a client can ask."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.processes import HOST, free_port
from tests.patience import until
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError


def commands() -> list[str]:
    text = (ROOT / "docs" / "proxy.md").read_text()
    (block,) = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def test_five_commands(tmp_path: Path) -> None:
    ports = {number: str(free_port()) for number in ("10911", "9876", "8081", "8080")}
    script = "set -e\n" + "\n".join(commands()[:4]) + "\nwait\n"
    for number, port in ports.items():
        script = script.replace(number, port)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    log = tmp_path / "commands.log"
    with log.open("wb") as sink:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until(lambda: b"startup successfully" in log.read_bytes(), "the proxy is ready", 300)
        last = commands()[4].replace("9876", ports["9876"])
        subprocess.run(last, shell=True, check=True, cwd=tmp_path, env={**os.environ, "PATH": path})
        remoting = f"{HOST}:{ports['8080']}"
        until(lambda: knows(remoting, "Orders"), "the proxy knows the topic")
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def knows(addr: str, topic: str) -> bool:
    """At the remoting port, where it answers as a NameServer."""
    try:
        with BlockingClient(addr) as client:
            asked = GetRouteInfoRequestHeader(topic=topic)
            answer = client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, asked)
    except TransportError:
        return False
    return answer.code == ResponseCode.SUCCESS
