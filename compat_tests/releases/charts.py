"""deploy/helm/trimq as Helm renders it: objects, containers, and the words that Kubernetes would start them with.

Helm is the one of the path, or is built once with Go (a minute or two) and kept in the cache folder.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compat_tests.servers.artifacts import ROOT, cache_root

VERSION: Final = "v3.16.4"
CHART: Final = ROOT / "deploy" / "helm" / "trimq"
EXAMPLES: Final = ROOT / "deploy" / "helm" / "examples"
RELEASE: Final = "my"
NAMESPACE: Final = "queues"
# Without a cluster Helm believes what it was told here; by itself it believes in 1.20.
_KUBERNETES: Final = {"k8sVersionMajor": 1, "k8sVersionMinor": 31}
_LINKED: Final = "-s " + " ".join(
    f"-X helm.sh/helm/v3/pkg/{package}.{name}={number}"
    for package in ("chartutil", "lint/rules")
    for name, number in _KUBERNETES.items()
)
# $(NAME), unless another $ stands before it.
_REFERENCE: Final = re.compile(r"\$(\$)?\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
# A chart that says what it is given as JSON: Helm is the parser of its own output.
_PARSER: Final = """{{- range $path, $_ := .Files.Glob "given/*" }}
---
{{ $.Files.Get $path | fromYaml | toJson }}
{{- end }}
"""


class NoHelm(Exception):
    """Why it is not here, and how to get it."""


class Refused(Exception):
    """What Helm has written."""


@functools.cache
def helm() -> str:
    """The program; NoHelm."""
    found = shutil.which("helm")
    if found is not None:
        return found
    kept = cache_root() / f"helm-{VERSION}" / "helm"
    if not kept.exists():
        _build(kept.parent)
    return str(kept)


def _build(folder: Path) -> None:
    if shutil.which("go") is None:
        raise NoHelm("neither Helm nor Go is here: apt-get install golang-go")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
        done = subprocess.run(
            [
                "go",
                "install",
                "-trimpath",
                f"-ldflags={_LINKED}",
                f"helm.sh/helm/v3/cmd/helm@{VERSION}",
            ],
            env={**os.environ, "GOBIN": partial, "GOFLAGS": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NoHelm(f"Go could not build Helm {VERSION}: {done.stderr[-500:]}")
        folder.mkdir(exist_ok=True)
        Path(partial, "helm").replace(folder / "helm")


def run_helm(*words: object) -> str:
    """Standard output; Refused."""
    done = subprocess.run([helm(), *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stdout + done.stderr)
    return done.stdout


def rendered(*words: object, chart: Path = CHART) -> list[dict[str, Any]]:
    """The objects of `helm template`; `words` are more of its flags. Refused."""
    text = run_helm("template", RELEASE, chart, "--namespace", NAMESPACE, *words)
    return [one for one in parsed(text) if one]


def parsed(text: str) -> list[dict[str, Any]]:
    """Documents of YAML, each an object."""
    documents = [one for one in re.split(r"^---\s*$", text, flags=re.MULTILINE) if one.strip()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Chart.yaml").write_text("apiVersion: v2\nname: parser\nversion: 0.1.0\n")
        (folder / "templates").mkdir()
        (folder / "templates" / "all.yaml").write_text(_PARSER)
        (folder / "given").mkdir()
        for number, document in enumerate(documents):
            (folder / "given" / f"{number:03}.yaml").write_text(document)
        said = run_helm("template", "parser", folder)
    lines = [line for line in said.splitlines() if line.startswith("{")]
    assert len(lines) == len(documents), said
    return [json.loads(line) for line in lines]


def notes(*words: object) -> str:
    """What NOTES.txt says; without a cluster `helm` shows it to nobody."""
    with tempfile.TemporaryDirectory() as name:
        chart = Path(shutil.copytree(CHART, Path(name) / "trimq"))
        text = (chart / "templates" / "NOTES.txt").read_text()
        (chart / "templates" / "_said.tpl").write_text(
            f'{{{{ define "said" }}}}{text}{{{{ end }}}}'
        )
        shown = chart / "templates" / "said.yaml"
        shown.write_text('said: {{ include "said" . | toJson }}\n')
        flags = ("--namespace", NAMESPACE, "--show-only", "templates/said.yaml")
        (line,) = run_helm("template", RELEASE, chart, *flags, *words).splitlines()[2:]
    said: str = json.loads(line.removeprefix("said: "))
    return said


def one_of(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = (one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


@dataclass(frozen=True)
class Pod:
    """The one with a number of a StatefulSet, and its only container."""

    statefulset: Mapping[str, Any]
    number: int
    address: str = "127.0.0.1"
    container: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        (container,) = self.spec["containers"]
        object.__setattr__(self, "container", container)

    @property
    def spec(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.statefulset["spec"]["template"]["spec"]
        return found

    @property
    def name(self) -> str:
        return f"{self.statefulset['metadata']['name']}-{self.number}"

    @property
    def host(self) -> str:
        """Its name in the cluster's DNS, which Kubernetes also writes into the pod's own /etc/hosts."""
        return (
            f"{self.name}.{self.statefulset['spec']['serviceName']}.{NAMESPACE}.svc.cluster.local"
        )

    @property
    def environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in self.container.get("env", ()):
            found[one["name"]] = self._value(one, found)
        return found

    def _value(self, one: Mapping[str, Any], before: Mapping[str, str]) -> str:
        if "value" in one:
            return expanded(one["value"], before)
        fields = {"metadata.name": self.name, "status.podIP": self.address}
        return fields[one["valueFrom"]["fieldRef"]["fieldPath"]]

    @property
    def command(self) -> list[str]:
        """What the container runs, with its variables in place."""
        words = [*self.container["command"], *self.container["args"]]
        return [expanded(word, self.environment) for word in words]

    @property
    def settings(self) -> dict[str, str]:
        """Of its --set words."""
        words = self.command
        pairs = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
        return dict(pair.split("=", 1) for pair in pairs)

    def option(self, name: str) -> str:
        """The word behind a flag."""
        words = self.command
        return words[words.index(name) + 1]

    @property
    def mounts(self) -> dict[str, Mapping[str, Any]]:
        """By their paths."""
        return {one["mountPath"]: one for one in self.container["volumeMounts"]}

    def ports(self) -> Iterator[tuple[str, int]]:
        for one in self.container["ports"]:
            yield one["name"], one["containerPort"]


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """As Kubernetes does: $(NAME) is the variable, $$(NAME) is that text, an unknown one stays."""

    def replacement(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        return variables.get(found[2], found[0])

    return _REFERENCE.sub(replacement, text)
