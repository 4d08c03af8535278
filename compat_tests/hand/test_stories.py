"""Ten stories in Java (JUnit 5, the official client) and in Go, by the helpers that users copy from deploy/hand.

How long each took, from the moment when its clients were there, is printed.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from compat_tests.hand import playing
from compat_tests.hand.playing import Played
from compat_tests.hand.stories import NAMES

needs_java = pytest.mark.skipif(
    shutil.which("javac") is None or shutil.which("mvn") is None,
    reason="javac or Maven is not installed",
)
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
# The Go client has no requests of POP.
IN_GO: Final = tuple(name for name in NAMES if name != "popRenewedForAnHour")
LONGEST_HELPER: Final = 150


@pytest.fixture(scope="module")
def in_java(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return playing.play_java(tmp_path_factory.mktemp("hand-java"))


@pytest.fixture(scope="module")
def in_go(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return playing.play_go(tmp_path_factory.mktemp("hand-go"))


@needs_java
@pytest.mark.parametrize("name", NAMES)
def test_java(in_java: Played, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _check(in_java, "java", name, capsys)


@needs_go
@pytest.mark.parametrize("name", IN_GO)
def test_go(in_go: Played, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _check(in_go, "go", name, capsys)


def _check(played: Played, language: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert name in played.failures, played.output[-6000:]
    with capsys.disabled():
        print(f"\nSTORY {language} {name} {played.millis.get(name)} ms")
    assert played.failures[name] is None, played.failures[name]


def test_no_other_story_is_played() -> None:
    """One that is not named here would fail unseen."""
    java = "".join(file.read_text() for file in (playing.FOLDER / "java").glob("*Stories.java"))
    assert java.count("@Test\n") == len(NAMES)
    go = "".join(file.read_text() for file in (playing.FOLDER / "go").glob("*.go"))
    assert go.count('\tstories["') == len(IN_GO)


@pytest.mark.parametrize("file", ["java/TriMQExtension.java", "go/hand.go"])
def test_a_helper_is_short(file: str) -> None:
    assert len(Path(playing.HELPERS / file).read_text().splitlines()) < LONGEST_HELPER
