"""The `java` of the compatibility tests: this machine's own, with options for a short life."""

import os
import subprocess
from pathlib import Path

import pytest

from compat_tests.servers.jvm import SHORT_LIVED, prefer_short_lived


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Whose java prints its words, and which has nothing else on its path."""
    java = tmp_path / "a machine" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho "$@"\n')
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(java.parent))
    monkeypatch.setenv("TRIMQ_CACHE", str(tmp_path / "cache"))
    for name in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
        monkeypatch.delenv(name, raising=False)
    return java


def printed() -> list[str]:
    done = subprocess.run(["java", "-cp", "x y"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_java_gets_the_options_once(machine: Path) -> None:
    assert printed() == ["-cp", "x", "y"]
    for _ in range(2):
        prefer_short_lived()
        assert printed() == [*SHORT_LIVED, "-cp", "x", "y"]
    assert os.environ["SPARK_SUBMIT_OPTS"] == " ".join(SHORT_LIVED)


def test_a_machine_without_java_stays_without(machine: Path) -> None:
    machine.unlink()
    before = dict(os.environ)
    prefer_short_lived()
    assert dict(os.environ) == before
