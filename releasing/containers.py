"""How an image is tried: loaded from its file, its container sends, receives, is killed, starts, and reads again."""

from __future__ import annotations

import json
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

from releasing.targets import MACHINES
from releasing.trying import MESSAGES, READY, Failed, Trial, memory_of, run, there_and_back

STORE: Final = "/home/rocketmq/store"
# Where the image's own Python finds what sends and reads.
_MESSAGES: Final = "/srv/messages.py"
# Of the NameServer, in the container.
_NAMESRV: Final = "127.0.0.1:9876"
# An emulated one starts slowly.
_READY_SECONDS: Final = 300.0
_STOP_SECONDS: Final = 60


def loaded_by_docker(archive: Path, folder: Path, version: str, machine: str) -> Trial:
    """Its store is in a volume, which goes at the end with the image. It has to say `compiled`. Failed."""
    tag = tag_of(version, machine)
    # What has the name is what the file brings.
    _remove("image", "rm", "--force", tag)
    began = time.monotonic()
    run(["docker", "load", "--quiet", "--input", archive], folder)
    seconds = time.monotonic() - began
    try:
        words = ["docker", "run", "--rm", *_platform(machine), tag, "trimq", "--version"]
        says = run(words, folder).strip()
        if version not in says.split() or "compiled" not in says:
            raise Failed(f"trimq --version says {says!r}, not {version} (compiled)")
        start, memory = _played(tag, folder, machine)
    finally:
        _remove("image", "rm", "--force", tag)
    return Trial(says, seconds, start, memory)


def tag_of(version: str, machine: str) -> str:
    """The name of the image in a release."""
    return f"trimq:{version}-{MACHINES[machine]}"


def _played(tag: str, folder: Path, machine: str) -> tuple[float, int]:
    """Seconds to start, and bytes of memory, which are the emulator's, too, where there is one."""
    name = folder.name
    messages = ["docker", "exec", name, "python3", "-P", _MESSAGES]
    run(["docker", "volume", "create", name], folder)
    try:
        return there_and_back(partial(Container, tag, name, folder, machine), messages, folder)
    finally:
        _remove("volume", "rm", "--force", name)


class Container:
    """The image without a command, over the volume that has its name."""

    def __init__(self, tag: str, name: str, folder: Path, machine: str) -> None:
        """It is ready. Failed."""
        self.namesrv = _NAMESRV
        self._name = name
        self._folder = folder
        mounts = ("-v", f"{name}:{STORE}", "-v", f"{MESSAGES}:{_MESSAGES}:ro")
        began = time.monotonic()
        run(["docker", "run", "-d", "--name", name, *_platform(machine), *mounts, tag], folder)
        while not self._is_ready():
            if time.monotonic() - began > _READY_SECONDS or not self._state()["Running"]:
                self._keep_log()
                self.kill()
                raise Failed(f"the container was not ready: {folder / 'server.log'} says why")
            time.sleep(0.05)
        self.seconds = time.monotonic() - began

    def _is_ready(self) -> bool:
        done = subprocess.run(
            ["docker", "logs", self._name],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return any(READY.fullmatch(line) for line in done.stdout.splitlines(keepends=True))

    def _state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            run(["docker", "inspect", "--format={{json .State}}", self._name], self._folder)
        )
        return found

    def memory(self) -> int:
        """Resident, in bytes; 0 where nobody says."""
        return memory_of(self._state()["Pid"])

    def stop(self) -> None:
        """SIGTERM. Failed."""
        run(["docker", "stop", "--time", _STOP_SECONDS, self._name], self._folder)
        if code := self._state()["ExitCode"]:
            raise Failed(f"the container ended with {code} after SIGTERM")

    def kill(self) -> None:
        """With signal 9, and it is removed; also of one that is gone."""
        _remove("rm", "--force", self._name)

    def _keep_log(self) -> None:
        with (self._folder / "server.log").open("ab") as log:
            subprocess.run(
                ["docker", "logs", self._name], stdout=log, stderr=subprocess.STDOUT, check=False
            )


def _platform(machine: str) -> tuple[str, ...]:
    return ("--platform", f"linux/{MACHINES[machine]}")


def _remove(*words: str) -> None:
    """Whether it was there or not."""
    subprocess.run(["docker", *words], capture_output=True, check=False)
