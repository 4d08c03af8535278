"""The containers of the chart as processes of this machine, with TriMQ of this checkout.

Each pod has a loopback address of its own, so ports stay as they are. What a cluster would do is done to the words:
names of its DNS become addresses, mounted folders lie below a temporary one. Nothing else of a command is changed.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from compat_tests.releases.charts import Pod, one_of
from compat_tests.releases.probes import passes
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.processes import Child
from tests.patience import until

# What a container's command is in a checkout.
PROGRAMS: Final = {
    "trimq": (sys.executable, "-P", "-m", "trimq"),
    "mqadmin": (sys.executable, "-P", "-m", "trimq.mqadmin"),
    "python3": (sys.executable,),
}
_EVERYWHERE: Final = "0.0.0.0"
# Of the first process of a container: what is written there stands in its log. Here that is `RunningPod.said`.
_STREAM: Final = "/proc/1/fd/2"
# Other tests, and other runs of these, have addresses of their own.
_NET: Final = f"127.{random.randrange(64, 250)}.{random.randrange(1, 250)}"
_HOSTS: Final = itertools.count(2)


class RunningPod:
    """Started by `start`; its folders stay when it is stopped, as claims do."""

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self.pod = pod
        self._cluster = cluster
        self.folder = cluster.folder / pod.name
        self.said = self.folder / "said"
        self._process: Child | None = None
        for path, mount in pod.mounts.items():
            place = self.place(path)
            place.mkdir(parents=True, exist_ok=True)
            for name, text in cluster.files_of(pod, mount["name"]).items():
                (place / name).write_text(text)

    def place(self, path: str) -> Path:
        """Where a folder of the container lies."""
        return self.folder / path.lstrip("/")

    def here(self, word: str) -> str:
        """A word of the container's on this machine."""
        known = {**self._cluster.addresses, _EVERYWHERE: self.pod.address}
        known |= {path: str(self.place(path)) for path in self.pod.mounts}
        known[_STREAM] = str(self.said)
        # In one pass: a temporary folder's own path is no mount.
        pattern = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        return re.sub(pattern, lambda found: known[found[0]], word)

    def words(self, command: Sequence[str]) -> list[str]:
        return [*PROGRAMS[command[0]], *map(self.here, command[1:])]

    @property
    def environment(self) -> dict[str, str]:
        """Little but what the container has."""
        kept = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
        own = {name: self.here(text) for name, text in self.pod.environment.items()}
        return {
            **kept,
            "PATH": os.defpath,
            "PYTHONPATH": str(ROOT),
            "HOME": "/nowhere",
            "TMPDIR": str(self.place("/tmp")),
            **own,
        }

    def start(self) -> None:
        self._process = Child(self.words(self.pod.command), self.folder / "log", self.environment)

    def kill(self) -> None:
        """SIGKILL, if it runs."""
        self.process.kill()

    @property
    def process(self) -> Child:
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def execute(
        self, *command: str, also: Sequence[str] = (), more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """As `kubectl exec` does. `also` are words and `more` variables of this machine."""
        return subprocess.run(
            [*self.words(command), *also],
            env={**self.environment, **(more or {})},
            capture_output=True,
            text=True,
            check=False,
        )

    def passes(self, probe: str) -> bool:
        """One probe as the kubelet does it."""
        assert self.process.running, self.log
        return passes(self.pod, self.pod.address, probe)

    def wait_until_ready(self) -> None:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            if probe in self.pod.container:
                until(lambda probe=probe: self.passes(probe), lambda: self.log)


class Cluster:
    """The pods of both StatefulSets. `secret`: what the Secret of TLS holds."""

    def __init__(
        self, folder: Path, objects: list[dict[str, Any]], secret: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self._objects = objects
        self._secret = secret or {}
        made = [
            Pod(one, number, f"{_NET}.{next(_HOSTS)}")
            for one in objects
            if one["kind"] == "StatefulSet"
            for number in range(one["spec"]["replicas"])
        ]
        self.addresses = {pod.host: pod.address for pod in made}
        pods = [RunningPod(pod, self) for pod in made]
        self.brokers = [one for one in pods if "-broker-" in one.pod.name]
        self.name_servers = [one for one in pods if "-namesrv-" in one.pod.name]

    @property
    def pods(self) -> Iterator[RunningPod]:
        # Kubernetes promises no order.
        yield from self.brokers
        yield from self.name_servers

    def files_of(self, pod: Pod, name: str) -> Mapping[str, str]:
        """What a volume holds at the beginning."""
        volumes = {one["name"]: one for one in pod.spec["volumes"]}
        volume = volumes.get(name, {})
        if "secret" in volume:
            return self._secret
        if "configMap" in volume:
            files: Mapping[str, str] = one_of(
                self._objects, "ConfigMap", volume["configMap"]["name"]
            )["data"]
            return files
        return {}


@contextmanager
def running(
    folder: Path, objects: list[dict[str, Any]], secret: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """All pods, ready."""
    cluster = Cluster(folder, objects, secret)
    with ExitStack() as stack:
        for one in cluster.pods:
            one.start()
            stack.callback(one.kill)
        for one in cluster.pods:
            one.wait_until_ready()
        yield cluster
