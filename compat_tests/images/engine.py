"""Containers of TriMQ's image, by the `docker` command as users call it."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compat_tests.servers.artifacts import ROOT
from releasing import image
from tests.patience import PATIENCE, until

# One that is there already is not built anew.
_GIVEN: Final = os.environ.get("TRIMQ_IMAGE")
TAG: Final = _GIVEN or "trimq:tested"
VERSION: Final = "5.5.1"
HOME: Final = "/home/rocketmq"
# The user of the image, as of RocketMQ's official one.
USER: Final = 3000
_NUMBERS: Final = itertools.count(1)


def docker(*words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    """AssertionError with what it wrote if it fails."""
    done = subprocess.run(
        ["docker", *map(str, words)], capture_output=True, text=True, errors="replace", check=False
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def build_image(tag: str = TAG, *how: object, given: bool = bool(_GIVEN)) -> str:
    """What `make image` says about it; one that is given is only measured. RuntimeError."""
    words = ["--measure"] if given else [str(word) for word in how]
    done = subprocess.run(
        [sys.executable, "-m", image.__name__, "--tag", tag, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


@dataclass(frozen=True)
class Container:
    """One that was started. `name` is also its host name in the network."""

    name: str

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(docker("inspect", self.name).stdout)[0]["State"]
        return found

    @property
    def address(self) -> str:
        return str(self._network["IPAddress"])

    @property
    def gateway(self) -> str:
        """From where this machine comes to it through a mapped port."""
        return str(self._network["Gateway"])

    @property
    def _network(self) -> dict[str, Any]:
        networks = json.loads(docker("inspect", self.name).stdout)[0]["NetworkSettings"]["Networks"]
        found: dict[str, Any] = next(iter(networks.values()))
        return found

    @property
    def log(self) -> str:
        done = docker("logs", self.name)
        return done.stdout + done.stderr

    def port(self, inner: int) -> int:
        """That of this machine that leads to one of the container's."""
        return int(docker("port", self.name, f"{inner}/tcp").stdout.split()[0].rpartition(":")[2])

    def execute(self, *words: object) -> subprocess.CompletedProcess[str]:
        return docker("exec", self.name, *words, check=False)

    def ended(self, seconds: float = PATIENCE) -> int:
        """Its exit code, when it has one."""
        until(lambda: self.state["Status"] == "exited", lambda: self.log, seconds)
        return int(self.state["ExitCode"])

    def kill(self) -> None:
        """With signal 9."""
        docker("kill", self.name)

    def start(self) -> None:
        """Once more, over what it has left; its address may be another one then."""
        docker("start", self.name)

    def stop(self, seconds: int = 30) -> int:
        """By SIGTERM, and after so many seconds by SIGKILL; its exit code."""
        docker("stop", "--time", seconds, self.name)
        return int(self.state["ExitCode"])

    def wait_until_well(self) -> None:
        """By what the image's HEALTHCHECK runs."""
        until(self.is_well, lambda: self.log, excused=(AssertionError,))

    def is_well(self) -> bool:
        assert self.state["Running"], self.log
        return self.execute("sh", f"{HOME}/current/bin/container-health").returncode == 0


class Engine:
    """Starts containers in a network of their own, and removes them."""

    def __init__(self, tag: str = TAG) -> None:
        self._tag = tag
        self._network = f"trimq-images-{os.getpid()}-{next(_NUMBERS)}"
        docker("network", "create", self._network)
        self._made: list[str] = []
        atexit.register(self.close)

    def run(self, name: str, *options: object, command: Sequence[object] = ()) -> Container:
        """By `docker run -d`; `name` is what others in the network call it."""
        own = f"{self._network}-{next(_NUMBERS)}"
        self._made.append(own)
        words = ("--name", own, "--network", self._network, "--network-alias", name, *options)
        docker("run", "-d", *words, self._tag, *command)
        return Container(own)

    def remove(self) -> None:
        """All that were started."""
        made, self._made = self._made, []
        if made:
            docker("rm", "-f", "-v", *made, check=False)

    def close(self) -> None:
        self.remove()
        docker("network", "rm", self._network, check=False)
        atexit.unregister(self.close)


def folder(path: Path, mode: int = 0o777, user: int | None = None) -> Path:
    """One to mount; whose user runs the container does not matter unless it is given."""
    path.mkdir(parents=True, exist_ok=True)
    if user is not None:
        os.chown(path, user, user)
    path.chmod(mode)
    return path


@contextmanager
def removed(engine: Engine) -> Iterator[Engine]:
    """With nothing left behind."""
    try:
        yield engine
    finally:
        engine.remove()
