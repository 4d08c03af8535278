"""The projects of deploy/hand/examples, tested in a fresh copy by the commands of docs/hand.md, one after the other.

What each run cost is printed. Then the service is broken in three places, and none of its tests may pass.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from compat_tests.hand import playing
from compat_tests.hand.test_stories import needs_go, needs_java
from compat_tests.servers.artifacts import ROOT
from releasing import sources
from tests.docs.pages import blocks

PAGE: Final = "hand.md"
PROMPT: Final = "$ "
TESTS: Final = 5
_GO: Final = re.compile(r"^--- (PASS|FAIL): ", re.MULTILINE)


@dataclass(frozen=True)
class Project:
    """`folder`: beside the clone; `edits`: what is broken, in a file, and how."""

    folder: str
    file: str
    edits: tuple[tuple[str, str], ...]


JAVA: Final = Project(
    "orders-java",
    "src/main/java/orders/Orders.java",
    (
        ("SECONDS_TO_CANCEL = 2 *", "SECONDS_TO_CANCEL = 1 *"),
        ("MORE_ATTEMPTS = 5", "MORE_ATTEMPTS = 4"),
        ("states.replace(order, State.PLACED, State.CHARGING)", "states.containsKey(order)"),
    ),
)
GO: Final = Project(
    "orders-go",
    "orders.go",
    (
        ("twoHours = 18", "twoHours = 17"),
        ("moreAttempts = 5", "moreAttempts = 4"),
        ("!o.replace(order, Placed, Charging)", 'o.State(order) == ""'),
    ),
)


def typed(project: Project) -> list[str]:
    """What the page says to type for it."""
    shown = [block.text for block in blocks(f"docs/{PAGE}") if block.info == "console"]
    (block,) = (text for text in shown if project.folder in text)
    return [line.removeprefix(PROMPT) for line in block.splitlines()]


def played(script: str, folder: Path) -> str:
    """What it prints, up to a command that fails."""
    return playing.run(["bash", "-ec", script], folder)


def passed(project: Project, folder: Path, said: str) -> list[bool]:
    """Whether it did, of each test that was run."""
    if project is GO:
        return [result == "PASS" for result in _GO.findall(said)]
    reports = folder.glob("target/surefire-reports/TEST-*.xml")
    cases = [case for report in reports for case in ElementTree.parse(report).iter("testcase")]
    return [case.find("failure") is None and case.find("error") is None for case in cases]


def play(project: Project, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clone = folder / "clone"
    sources.copy(ROOT, clone)
    made = folder / project.folder
    commands = typed(project)
    began = time.monotonic()
    said = played("\n".join(commands), clone)
    tested = time.monotonic()
    assert passed(project, made, said) == [True] * TESTS, said
    break_it(made / project.file, project)
    said = played(commands[-1], made)
    with capsys.disabled():
        whole = time.monotonic() - tested
        print(f"\nPROJECT {project.folder}: {tested - began:.0f} s; broken: {whole:.0f} s")
    assert passed(project, made, said) == [False] * TESTS, said


def break_it(file: Path, project: Project) -> None:
    text = file.read_text()
    for before, after in project.edits:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    file.write_text(text)


@needs_java
def test_java(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(JAVA, tmp_path, capsys)


@needs_go
def test_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(GO, tmp_path, capsys)
