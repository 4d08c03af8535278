"""The source jars of one version, fetched once with plain ``mvn``, as texts by their paths."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compat_tests.servers import artifacts
from compat_tests.servers.versions import GROUP

# What others hear, see or read comes from these.
MODULES: Final = (
    "acl",
    "auth",
    "broker",
    "client",
    "common",
    "controller",
    "namesrv",
    "proxy",
    "remoting",
    "store",
    "tools",
)


class CannotFetch(Exception):
    """The text says what is missing."""


def jar_of(module: str, version: str) -> Path | None:
    """None: it is not published, at least not where Maven looks."""
    folder = artifacts.cache_root() / "sources"
    file = folder / f"rocketmq-{module}-{version}-sources.jar"
    if file.exists():
        return file
    if shutil.which("mvn") is None:
        raise CannotFetch("mvn is needed to fetch RocketMQ's sources: apt-get install maven")
    folder.mkdir(parents=True, exist_ok=True)
    artifact = f"{GROUP}:rocketmq-{module}:{version}:jar:sources"
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}"]
    command += [f"-DoutputDirectory={folder}"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return file if file.exists() else None


def jars_of(version: str) -> dict[str, Path]:
    """By module, those that can be had. CannotFetch if there is none."""
    print(f"sources of {version}: ", end="", file=sys.stderr, flush=True)
    found = {}
    for module in MODULES:
        jar = jar_of(module, version)
        if jar is not None:
            found[module] = jar
            print(module, end=" ", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if not found:
        raise CannotFetch(f"Maven finds no sources of RocketMQ {version}")
    return found


def texts(jar: Path) -> Iterator[tuple[str, bytes]]:
    """(path, source) of each Java file."""
    with zipfile.ZipFile(jar) as packed:
        for name in sorted(packed.namelist()):
            if name.endswith(".java"):
                yield name, packed.read(name)
