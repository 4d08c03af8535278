"""`make shake`: the order is that of the seed, busy processes end, and what fails is named with its seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import until
from tests.run import shake
from tests.run.part import ROOT

# The second one fails if it comes first.
FILE = """
seen = []

def test_one():
    seen.append(1)

def test_two():
    assert seen

def test_three():
    pass
"""


def test_busy_processes_end_with_the_block() -> None:
    with shake.busy(2) as found:
        assert [one.poll() for one in found] == [None, None]
    assert [one.returncode for one in found] == [-9, -9]


def test_they_end_with_whoever_has_started_them() -> None:
    words = (
        "import os, subprocess, sys; command = [sys.executable, '-c', sys.argv[1], str(os.getpid())];"
        "print(subprocess.Popen(command, stdout=subprocess.DEVNULL).pid)"
    )
    started = subprocess.run(
        [sys.executable, "-c", words, shake.COMPUTES],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    pid = int(started.stdout)
    until(lambda: not is_there(pid), "it ends")


def is_there(pid: int) -> bool:
    """And not only waiting for somebody to ask what became of it."""
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize(("seed", "fails"), [(1, True), (5, False)])
def test_what_depends_on_the_order_fails_in_some(tmp_path: Path, seed: int, fails: bool) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_order.py").write_text(FILE)
    words = ("-p", "tests.run.shuffled", "--order", str(seed), "-p", "no:cacheprovider", "-q")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "test_two" in done.stdout) == (int(fails), fails), done.stdout


def test_failures_are_named_with_their_seeds() -> None:
    said = shake.text({"tests/b.py::test_b": [7], "tests/a.py::test_a": [7, 8]}, 2, 7)
    assert said.splitlines()[1:] == [
        "2 rounds, seeds from 7 on, failed: 2",
        "    tests/a.py::test_a: seeds 7, 8",
        "    tests/b.py::test_b: seeds 7",
    ]
