"""Compiles and runs the stories in Java and in Go, each language in one process, and reads what became of each."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from compat_tests.scenarios import go_driver
from compat_tests.servers import artifacts
from compat_tests.servers.kept import kept

FOLDER: Final = Path(__file__).parent
HELPERS: Final = artifacts.ROOT / "deploy" / "hand"
JUNIT: Final = "junit-1.10.2"
_JVM: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
# A consumer that starts looks for its queues again after a second, unless somebody tells it.
_CLIENT: Final = "-Drocketmq.client.rebalance.minInterval=50"
_SECONDS: Final = 300
_STORY: Final = re.compile(r"^STORY (\w+) (\d+) ms$", re.MULTILINE)
_GO: Final = re.compile(r"^ +--- (PASS|FAIL): TestStories/(\w+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Played:
    """`failures`: why, by the name of each story that was played; None: it went well. `millis`: how long it took."""

    failures: dict[str, str | None]
    millis: dict[str, int]
    output: str


def java_path(name: str, sources: list[Path]) -> str:
    """The class path of these, the extension and the official client."""
    path = f"{artifacts.classpath(artifacts.jars(JUNIT))}:{artifacts.classpath(artifacts.jars(artifacts.CLIENT_5))}"
    return compiled(name, [*sources, HELPERS / "java" / "TriMQExtension.java"], path)


def compiled(name: str, sources: list[Path], path: str) -> str:
    """Once for each content of the sources."""
    folder = artifacts.cache_root() / "compat-classes" / f"{name}-{_digest(sources)}"
    classes = kept(folder, lambda made: artifacts.compile_java(sources, path, made))
    return f"{classes}:{path}"


def play_java(folder: Path) -> Played:
    """All classes of stories, in one JVM; `folder` gets the reports."""
    path = java_path("hand", sorted((FOLDER / "java").glob("*.java")))
    command = ["java", *_JVM, _CLIENT, f"-Duser.home={folder}", "-cp", path]
    command += ["org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner"]
    command += ["--disable-ansi-colors", "--include-classname=.*", f"--reports-dir={folder}"]
    for file in sorted((FOLDER / "java").glob("*Stories.java")):
        command += ["--select-class", file.stem]
    output = run(command, folder)
    failures = {}
    for report in folder.glob("TEST-*.xml"):
        for case in ElementTree.parse(report).iter("testcase"):
            problem = next((one for one in case if one.tag in ("failure", "error")), None)
            name = case.attrib["name"].removesuffix("()")
            failures[name] = None if problem is None else problem.text or "failed"
    return Played(failures, _millis(output), output)


def play_go(folder: Path) -> Played:
    output = run([str(_go_program()), "-test.v"], folder)
    failures = {
        name: None if result == "PASS" else _of_go(output, name)
        for result, name in _GO.findall(output)
    }
    return Played(failures, _millis(output), output)


def _of_go(output: str, name: str) -> str:
    begin = output.find(f"=== RUN   TestStories/{name}\n")
    end = output.find("=== RUN", begin + 1)
    return output[begin : end if end > 0 else None]


def _go_program() -> Path:
    """Built once for each content of the sources."""
    stories = sorted((FOLDER / "go").glob("*.go"))
    helper = HELPERS / "go" / "hand.go"
    versions = [go_driver.SOURCES / "go.mod", go_driver.SOURCES / "go.sum"]
    folder = artifacts.cache_root() / "compat-go" / f"hand-{_digest([*stories, helper, *versions])}"
    return kept(folder, lambda made: _build_go(made, [*stories, *versions], helper)) / "stories"


def _build_go(made: Path, files: list[Path], helper: Path) -> None:
    (made / "hand").mkdir()
    shutil.copy(helper, made / "hand")
    for file in files:
        shutil.copy(file, made)
    command = ["go", "test", "-c", "-o", "stories", "."]
    done = subprocess.run(command, cwd=made, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"go could not build the stories:\n{done.stdout}{done.stderr[-4000:]}")


def run(command: list[str], folder: Path) -> str:
    """What it prints, to the end; with the `trimq` of this Python on its path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(artifacts.ROOT)}
    for name in ("NAMESRV_ADDR", "TRIMQ_HAND"):
        environment.pop(name, None)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return done.stdout


def _millis(output: str) -> dict[str, int]:
    return {name: int(millis) for name, millis in _STORY.findall(output)}


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
