"""Drivers of one subject: the Java and the Go driver with scenarios of their own beside theirs.

A subject's sources lie in ``subjects/NAME/java/driver`` and ``subjects/NAME/go``. Records know a driver by all of its
sources, so those of a subject have a record of their own and those of all others stay as they are. Java: the class
``NameScenarios`` registers them, as classes of the driver do. Go: files of package main, which register in ``init``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.scenarios import go_driver
from compat_tests.scenarios.driver import JavaDriver
from compat_tests.scenarios.go_driver import GoDriver
from compat_tests.servers import artifacts
from compat_tests.servers.server import Tls

FOLDER: Final = artifacts.TESTS / "scenarios" / "subjects"
_MAIN: Final = "driver.Driver"


@dataclass(frozen=True)
class JavaSubject(JavaDriver):
    """java/src with the classes of a subject, against one line of the official Java client."""

    subject: str = ""
    # System properties that its scenarios read: names and values.
    properties: tuple[tuple[str, str], ...] = ()

    # Folders of jars that its classes know, and that come before the driver's.
    jars: tuple[str, ...] = ()

    def own_sources(self) -> Sequence[Path]:
        """What is compiled beside the driver's classes."""
        folders = (FOLDER / "shared" / "java", FOLDER / self.subject / "java")
        return [file for folder in folders for file in sorted(folder.rglob("*.java"))]

    def sources(self) -> Sequence[Path]:
        return [*super().sources(), *self.own_sources()]

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        words = list(super().command(folder, tls))
        path = words.index("-cp") + 1
        own = self.own_sources()
        words[path] = artifacts.beside_driver(self.client, self.subject, own, *self.jars)
        main = words.index(_MAIN)
        words[main : main + 1] = ["driver.Subject", f"{self.subject.title()}Scenarios"]
        options = [f"-D{name}={value}" for name, value in self.properties]
        return [words[0], *options, *words[1:]]


@dataclass(frozen=True)
class GoSubject(GoDriver):
    """go/ with the files of a subject."""

    subject: str = ""

    def sources(self) -> Sequence[Path]:
        return [*go_driver.sources(), *sorted((FOLDER / self.subject / "go").glob("*.go"))]
