"""What counts as waiting by the clock, and what does not; and what pytest says of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.clock import Clocks, watch
from tests.patience import until
from tests.run.part import ROOT

# What the tests here sleep, and how much of that the rest may hide or add.
WHILE, LITTLE = 0.06, 0.03
CONFTEST = """
from tests.clock import Clocks
from tests.run.meter import Meter

# Whatever else the machine does.
Clocks.haste = 1.0

def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true")

def pytest_configure(config):
    config.pluginmanager.register(Meter())
"""
FILE = """
import time

def test_quick():
    pass

def test_slow():
    time.sleep(0.25)

def test_very_slow():
    time.sleep(1.1)
"""


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clocks]:
    found = Clocks()
    with monkeypatch.context() as patch:
        watch(found, patch)
        yield found


def in_thread(act: object, *arguments: object) -> None:
    assert callable(act)
    thread = threading.Thread(target=act, args=arguments)
    thread.start()
    thread.join()


def test_sleeps_count_as_long_as_was_asked(clocks: Clocks) -> None:
    time.sleep(WHILE)
    assert clocks.seconds == pytest.approx(WHILE, abs=0.001)
    assert not threading.Event().wait(WHILE)
    assert clocks.seconds == pytest.approx(2 * WHILE, abs=0.001)
    clocks.clear()
    assert clocks.seconds == 0


def test_what_is_computed_does_not_count(clocks: Clocks) -> None:
    began = time.thread_time()
    while time.thread_time() < began + WHILE:
        pass
    assert clocks.seconds == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say what a thread did")
def test_a_test_that_waits_for_a_processor_has_more_time(
    clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 < clocks.haste <= 1
    monkeypatch.setattr(clocks, "_own_times", lambda: (5_000, 8_000))
    clocks._began = (3_000, 2_000)
    assert clocks.haste == 0.25


def test_asking_whether_something_holds_does_not_count(clocks: Clocks) -> None:
    began = time.monotonic()
    until(lambda: time.monotonic() > began + WHILE)
    assert clocks.seconds == 0


def test_a_loop_that_sleeps_counts(clocks: Clocks) -> None:
    trio.run(trio.sleep, WHILE)
    assert clocks.seconds == pytest.approx(WHILE, abs=0.001)
    trio.run(trio.sleep, 100, clock=trio.testing.MockClock(autojump_threshold=0))
    assert clocks.seconds == pytest.approx(WHILE, abs=0.001)


def test_a_loop_that_a_thread_works_for_does_not_count(clocks: Clocks) -> None:
    async def play() -> None:
        with trio.move_on_after(WHILE):
            await trio.to_thread.run_sync(event.wait, abandon_on_cancel=True)

    event = threading.Event()
    trio.run(play)
    event.set()
    assert clocks.seconds == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say what a thread did")
def test_others_count_while_the_test_waits_for_them(clocks: Clocks) -> None:
    in_thread(trio.run, trio.sleep, WHILE)
    assert clocks.seconds == pytest.approx(WHILE, abs=LITTLE)
    clocks.clear()
    # Beside what is computed it costs nothing.
    thread = threading.Thread(target=time.sleep, args=(WHILE,))
    thread.start()
    while thread.is_alive():
        pass
    assert clocks.seconds < WHILE / 2


def test_a_child_is_not_the_clock(clocks: Clocks) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    in_thread(time.sleep, WHILE)
    in_thread(trio.run, trio.sleep, WHILE)
    assert clocks.seconds == 0
    # That is a sleep whatever lives.
    time.sleep(WHILE)
    assert clocks.seconds == pytest.approx(WHILE, abs=0.001)
    process.communicate(b"\n")


def test_several_at_a_time_count_once(clocks: Clocks) -> None:
    threads = [threading.Thread(target=time.sleep, args=(WHILE,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(WHILE)
    for thread in threads:
        thread.join()
    assert clocks.seconds < 2 * WHILE


def test_a_unit_test_that_waits_fails_and_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_file.py").write_text(FILE)

    def play(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
        )

    done = play()
    assert done.returncode == 1
    assert "tests/test_file.py::test_very_slow waited for 1.10 s by the clock: use" in done.stdout
    assert "3 passed, 1 error" in done.stdout
    assert "  0.25 s  tests/test_file.py::test_slow: NO REASON" in done.stdout
    # Which looks further, and may take hours.
    assert play("--soak").returncode == 0
