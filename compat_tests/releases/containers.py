"""The containers of the chart under Docker: the image, and for each pod what Kubernetes would ask of the engine."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from compat_tests.images.engine import TAG, docker
from compat_tests.releases.charts import Pod, one_of
from compat_tests.releases.probes import passes
from tests.patience import until

_UNITS: Final = {"Ki": "k", "Mi": "m", "Gi": "g"}
_NUMBERS: Final = itertools.count(1)


def obstacle() -> str:
    """Why no container can be started; empty: they can."""
    if shutil.which("docker") is None or docker("info", check=False).returncode:
        return "no Docker engine answers"
    if docker("image", "inspect", TAG, check=False).returncode:
        return f"there is no image {TAG}: make image"
    if os.geteuid() != 0:
        return "folders of the image's user are made by root only"
    return ""


class ContainerPod:
    """One pod. Its volumes are folders of this machine."""

    def __init__(self, pod: Pod, folder: Path, network: str, objects: list[dict[str, Any]]) -> None:
        self.pod = pod
        self.name = f"{network}-{next(_NUMBERS)}"
        self._network = network
        self._volumes: list[str] = []
        wanted = pod.spec["securityContext"]
        volumes = {one["name"]: one for one in pod.spec["volumes"]}
        for path, mount in pod.mounts.items():
            volume = volumes.get(mount["name"], {})
            if volume.get("emptyDir", {}).get("medium") == "Memory":
                size = volume["emptyDir"]["sizeLimit"]
                self._volumes += ["--tmpfs", f"{path}:mode=1777,size={_size(size)}"]
                continue
            place = folder / pod.name / mount["name"]
            place.mkdir(parents=True)
            os.chown(place, 0, wanted["fsGroup"])
            # As a new volume is, with what fsGroup does to it; ext4 has this folder.
            place.chmod(0o2775)
            if volume == {}:
                (place / "lost+found").mkdir(mode=0o700)
            if "configMap" in volume:
                files = one_of(objects, "ConfigMap", volume["configMap"]["name"])["data"]
                for name, text in files.items():
                    (place / name).write_text(text)
            mode = ":ro" if mount.get("readOnly") else ""
            self._volumes += ["-v", f"{place}:{path}{mode}"]

    def start(self) -> None:
        docker("rm", "-f", self.name, check=False)
        pod, container = self.pod, self.pod.container
        user = pod.spec["securityContext"]
        may = container["securityContext"]
        assert may["readOnlyRootFilesystem"]
        assert not may["allowPrivilegeEscalation"]
        words: list[object] = ["run", "-d", "--name", self.name, "--network", self._network]
        words += ["--network-alias", pod.host, "--hostname", pod.name, "--read-only"]
        words += ["--user", f"{user['runAsUser']}:{user['runAsGroup']}"]
        words += ["--group-add", user["fsGroup"], "--security-opt", "no-new-privileges"]
        words += [word for one in may["capabilities"]["drop"] for word in ("--cap-drop", one)]
        limit = _size(container["resources"]["limits"]["memory"])
        words += ["--memory", limit, "--memory-swap", limit]
        for name, text in pod.environment.items():
            words += ["-e", f"{name}={text}"]
        first, *rest = pod.command
        docker(*words, *self._volumes, "--entrypoint", first, TAG, *rest)

    @property
    def state(self) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(docker("inspect", self.name).stdout)[0]
        return found

    @property
    def address(self) -> str:
        networks = self.state["NetworkSettings"]["Networks"]
        return str(networks[self._network]["IPAddress"])

    @property
    def log(self) -> str:
        done = docker("logs", self.name, check=False)
        return done.stdout + done.stderr

    def execute(
        self, *command: str, more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """As `kubectl exec` does."""
        flags = [word for name, text in (more or {}).items() for word in ("-e", f"{name}={text}")]
        return docker("exec", *flags, self.name, *command, check=False)

    def passes(self, probe: str) -> bool:
        """One probe as the kubelet does it."""
        assert self.state["State"]["Running"], self.log
        return passes(self.pod, self.address, probe)

    def wait_until_ready(self) -> None:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            if probe in self.pod.container:
                until(lambda probe=probe: self.passes(probe), lambda: self.log)

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        docker("stop", "--time", self.pod.spec["terminationGracePeriodSeconds"], self.name)
        state = self.state["State"]
        assert not state["OOMKilled"]
        return int(state["ExitCode"])

    def remove(self) -> None:
        docker("rm", "-f", "-v", self.name, check=False)


def _size(text: str) -> str:
    """Of Kubernetes, as Docker writes it."""
    return f"{text[:-2]}{_UNITS[text[-2:]]}"


@contextmanager
def running(folder: Path, objects: list[dict[str, Any]]) -> Iterator[dict[str, ContainerPod]]:
    """All pods by their names, ready."""
    network = f"trimq-chart-{os.getpid()}"
    docker("network", "create", network)
    pods = {}
    for one in objects:
        if one["kind"] == "StatefulSet":
            for number in range(one["spec"]["replicas"]):
                pod = Pod(one, number)
                pods[pod.name] = ContainerPod(pod, folder, network, objects)
    try:
        for started in pods.values():
            started.start()
        for started in pods.values():
            started.wait_until_ready()
        yield pods
    finally:
        for started in pods.values():
            started.remove()
        docker("network", "rm", network, check=False)
