"""The tools that parts of the tests need besides Python, whether they are here, and the command that gets each.

What lacks one is not played, and the table at the end says so. TRIMQ_REQUIRE names tools whose absence is an error,
or says `all`.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from compat_tests.servers import artifacts
from docs import site
from tests.run.part import ROOT

VARIABLE: Final = "TRIMQ_REQUIRE"
JAVA: Final = 17


@dataclass(frozen=True)
class Tool:
    """What it is called, whether it is here, and how to get it."""

    name: str
    is_here: Callable[[], bool]
    get: str


def _java() -> bool:
    """A JDK, not only a JVM, and new enough for RocketMQ's classes."""
    javac = shutil.which("javac")
    if javac is None or shutil.which("java") is None:
        return False
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    words = (said.stdout + said.stderr).split()
    major = words[1].split(".")[0] if len(words) > 1 else ""
    return said.returncode == 0 and major.isdigit() and int(major) >= JAVA


def _rocketmq() -> bool:
    """Its jars, or Maven, which fetches them."""
    return artifacts.are_here() or bool(shutil.which("mvn"))


def _compiler() -> bool:
    """With Python's headers, as `make serve` looks for them. Its module is of the folder that builds, not a package."""
    in_the_way: Callable[[], str] = runpy.run_path(str(ROOT / "building/lacking.py"))["in_the_way"]
    return not in_the_way()


def _spark() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("pyspark", "pyarrow"))


def _has(*programs: str) -> Callable[[], bool]:
    return lambda: all(map(shutil.which, programs))


TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool("JDK 17", _java, "apt-get install openjdk-17-jdk-headless"),
        Tool("Maven", _rocketmq, "apt-get install maven"),
        Tool("Go", _has("go"), "apt-get install golang-go"),
        Tool("C compiler", _compiler, "apt-get install gcc python3-dev"),
        Tool("Spark", _spark, ".venv/bin/pip install -r requirements/spark.txt (450 MB)"),
        Tool("site", site.is_here, "make site"),
        Tool("root", lambda: os.geteuid() == 0, "run it as root, in a container perhaps"),
        Tool("debootstrap", _has("debootstrap"), "apt-get install debootstrap"),
        Tool("networks", _has("ip", "tc", "nft"), "apt-get install iproute2 nftables"),
    )
}


def missing(names: Iterable[str]) -> list[Tool]:
    """Those of these tools that are not here."""
    return [TOOLS[name] for name in names if not TOOLS[name].is_here()]


def required() -> set[str]:
    """By TRIMQ_REQUIRE, whose absence is an error. SystemExit for a name that is none."""
    told = [word.strip() for word in os.environ.get(VARIABLE, "").split(",") if word.strip()]
    if told == ["all"]:
        return set(TOOLS)
    if unknown := set(told) - set(TOOLS):
        raise SystemExit(
            f"{VARIABLE}={','.join(sorted(unknown))}: it is 'all', or of {', '.join(TOOLS)}"
        )
    return set(told)


def refuse_missing() -> None:
    """SystemExit, with what gets it, when a tool that has to be here is not. Some tests skip themselves without one."""
    lacking = missing(name for name in TOOLS if name in required())
    if lacking:
        lines = [f"{tool.name} is missing: {tool.get}" for tool in lacking]
        print(f"{VARIABLE} says that these must be here:", *lines, sep="\n", file=sys.stderr)
        raise SystemExit(2)
