"""docs/clients5.md: its commands give a server, and its programs send and receive, each within a minute."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.proxy.python_client import python_client
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.processes import HOST, free_port
from tests.patience import until

PAGE: Final = (ROOT / "docs" / "clients5.md").read_text()
PROGRAMS: Final = {"java": "Orders.java", "go": "orders.go", "python": "orders.py"}
# What has to be there, beside the client itself.
TOOLS: Final = {"java": ("java", "mvn"), "go": ("go",), "python": ()}
MINUTE: Final = 60.0


def commands(section: str) -> list[str]:
    """What is typed in the first block of a section."""
    text = PAGE.partition(f"\n## {section}\n")[2] if section else PAGE
    (block, *_) = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [line.removeprefix("$ ") for line in block.splitlines()]


def program(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the server that the page starts."""
    home = tmp_path_factory.mktemp("page")
    ports = {number: str(free_port()) for number in ("9876", "8081")}
    _, start, topic = commands("")
    start = start.replace(" &", f" --namesrv-listen {HOST}:9876 --listen {HOST}:0")
    for number, port in ports.items():
        start, topic = start.replace(number, port), topic.replace(number, port)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    log = home / "server.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(
            ["bash", "-c", f"exec {start}"],
            cwd=home,
            env=environment,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        ready = f" grpc={HOST}:{ports['8081']} in "
        until(lambda: ready in log.read_text(), log.read_text)
        subprocess.run(["bash", "-c", topic], check=True, cwd=home, env=environment)
        yield f"{HOST}:{ports['8081']}"
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0


@pytest.mark.parametrize("language", PROGRAMS)
def test_from_nothing_to_a_message(language: str, endpoint: str, tmp_path: Path) -> None:
    missing = [tool for tool in TOOLS[language] if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    typed = commands(language.capitalize())
    path = os.environ["PATH"]
    if language == "python":
        # Installed once for all runs: what the first command does.
        path = f"{python_client() / 'bin'}:{path}"
        typed = typed[1:]
    (tmp_path / PROGRAMS[language]).write_text(program(language).replace(f"{HOST}:8081", endpoint))
    environment = {**os.environ, "PATH": path, "GOFLAGS": "-mod=mod"}
    environment.pop("PYTHONPATH", None)
    began = time.monotonic()
    said = ""
    for line in typed:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=5 * MINUTE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said += done.stdout
    assert "received hello\n" in said
    assert time.monotonic() - began < MINUTE
