"""The real RocketMQ in containers, through testcontainers, when a Docker engine answers.

The image is made of published packages: Debian's JRE 17 (debootstrap) and the jars of artifacts.py. It is kept
in the engine and, as a file, in the cache folder; so only the first run builds it. Containers use the host's
network and 127.0.0.1, because a broker tells clients its own address; their folders are mounted under the
same path.

Nothing is installed or started on a machine unless TRIMQ_COMPAT_DOCKER=1 asks for it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from compat_tests.servers import artifacts
from compat_tests.servers.jvm import JvmLauncher, Launcher, Running
from compat_tests.servers.processes import STOP_SECONDS, Child, NotReady
from tests.patience import PATIENCE

BASE: Final = "local/jre17:bookworm"
IMAGE: Final = f"trimq-compat/{artifacts.SERVER.replace('-', ':')}"
PACKAGES: Final = ("docker.io", "iptables", "debootstrap")
JARS: Final = "/opt/rocketmq/lib"
# For an answer of the engine, which starts containers on a busy machine.
ENGINE_SECONDS: Final = 300


def launcher() -> Launcher:
    """A container launcher where an engine answers or may be started, else the JVM."""
    return _launcher_or_none() or JvmLauncher()


def _launcher_or_none() -> Launcher | None:
    """None: no engine answers and none was asked for."""
    asked = os.environ.get("TRIMQ_COMPAT_DOCKER", "")
    if asked == "0":
        return None
    if not engine_answers():
        if asked != "1":
            return None
        start_engine()
    _make_image()
    return ContainerLauncher()


def engine_answers() -> bool:
    return shutil.which("docker") is not None and _docker("info", check=False).returncode == 0


def _run(
    *command: str, check: bool = True, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    if check and done.returncode != 0:
        raise NotReady(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def _docker(
    *arguments: str, check: bool = True, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return _run("docker", *arguments, check=check, env=env)


def start_engine() -> None:
    """Needs root. The engine is stopped again when this process ends."""
    if shutil.which("dockerd") is None or shutil.which("debootstrap") is None:
        _run("apt-get", "install", "-y", "--no-install-recommends", *PACKAGES)
    log = artifacts.cache_root() / "dockerd.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    engine = Child(["dockerd"], log)
    atexit.register(engine.stop)
    deadline = time.monotonic() + PATIENCE
    while not engine_answers():
        if not engine.running or time.monotonic() > deadline:
            raise NotReady(f"dockerd does not answer:\n{engine.output()[-3000:]}")
        time.sleep(0.2)


def _has_image(name: str) -> bool:
    return _docker("image", "inspect", name, check=False).returncode == 0


def _make_image() -> None:
    if _has_image(IMAGE):
        return
    saved = artifacts.cache_root() / artifacts.SERVER / "image.tar"
    if saved.exists():
        _docker("load", "-i", str(saved))
        return
    if not _has_image(BASE):
        _make_base()
    jars = artifacts.jars(artifacts.SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Dockerfile"
        file.write_text(f"FROM {BASE}\nCOPY lib {JARS}\nENV LANG=C.UTF-8\n")
        arguments = ["build", "-q", "-t", IMAGE, "-f", str(file), str(jars.parent)]
        _docker(*arguments, env={"DOCKER_BUILDKIT": "0"})
    partial = saved.with_suffix(".partial")
    _docker("save", "-o", str(partial), IMAGE)
    partial.rename(saved)


def _make_base() -> None:
    """A minimal Debian 12 with a JRE, from Debian's own mirror."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        wanted = ["--variant=minbase", "--include=openjdk-17-jre-headless"]
        _run("debootstrap", *wanted, "bookworm", str(root))
        for useless in (
            "var/cache/apt/archives",
            "var/lib/apt/lists",
            "usr/share/doc",
            "usr/share/man",
        ):
            shutil.rmtree(root / useless, ignore_errors=True)
        packed = Path(folder) / "root.tar"
        _run("tar", "-C", str(root), "-cf", str(packed), ".")
        _docker("import", str(packed), BASE)


class ContainerLauncher:
    """Each JVM in a container of its own."""

    description = f"in containers of {IMAGE}"

    def __init__(self, user: int | None = None) -> None:
        """`user`: whom it runs as, and the group of that number; without one who runs the tests."""
        self._user = f"{os.getuid()}:{os.getgid()}" if user is None else f"{user}:{user}"

    def java(self, arguments: Sequence[str], home: Path, log: Path) -> Running:
        # testcontainers would start a second container that removes ours: we stop them ourselves.
        os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
        from testcontainers.core.container import DockerContainer

        command = ["java", "-cp", f"{JARS}/*", *arguments]
        container = (
            DockerContainer(IMAGE, docker_client_kw={"timeout": ENGINE_SECONDS})
            .with_command(command)
            .with_env("ROCKETMQ_HOME", str(home))
            .with_volume_mapping(str(home), str(home), "rw")
            .with_kwargs(network_mode="host", user=self._user)
        )
        return ContainerRun(container.start(), log)


class ContainerRun:
    """One running container: see jvm.Running."""

    def __init__(self, container: Any, log: Path) -> None:
        self._container = container.get_wrapped_container()
        self._log = log
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        self._container.reload()
        return int(self._container.attrs["State"]["Pid"])

    def _output(self) -> str:
        text: bytes = self._container.logs()
        return text.decode(errors="replace")

    def wait_for(self, mark: str, timeout: float = PATIENCE) -> str:
        deadline = time.monotonic() + timeout
        while True:
            output = self._output()
            for line in output.splitlines():
                if mark in line:
                    return line
            self._container.reload()
            if self._container.status == "exited" or time.monotonic() > deadline:
                raise NotReady(f"no {mark!r} from the container:\n{output[-4000:]}")
            time.sleep(0.1)

    def stop(self, timeout: float = STOP_SECONDS) -> int:
        self._container.stop(timeout=int(timeout))
        code = int(self._container.wait()["StatusCode"])
        self._remove()
        return code

    def kill(self) -> None:
        self._container.kill()
        self._container.wait()
        self._remove()

    def _remove(self) -> None:
        with self._log.open("a") as sink:
            sink.write(self._output())
        self._container.remove(force=True)
        atexit.unregister(self.kill)


def main(command: Sequence[str]) -> int:
    """Run a command while an engine answers, if one is asked for: sessions of tests that run side by side share it."""
    launcher()
    return subprocess.call(list(command))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
