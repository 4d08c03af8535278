"""SIGINT and SIGTERM end a process whatever it is doing: it waits, it starts, its loop hangs."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import sys, time, trio
from trimq.process.stop_signals import stop_signals

async def main():
    with stop_signals(patience=0.3) as stop:
        print("go", flush=True)
        {body}
    print("ended", stop.number, flush=True)

trio.run(main)
"""

WAITS = "await stop.wait(); print('in order', flush=True)"
STARTS = "await trio.sleep_forever()"
HANGS = "\n        while True: pass"
BLOCKED = "time.sleep(60)"
STOPS_FOR_EVER = """
        await stop.wait()
        with trio.CancelScope(shield=True): await trio.sleep_forever()"""
THREAD = "await trio.to_thread.run_sync(time.sleep, 60)"


def _ended_by(body: str, number: signal.Signals, times: int = 1) -> tuple[int, list[str]]:
    """The exit code, and what it has printed after its first line."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        for _ in range(times):
            process.send_signal(number)
        said, _ = process.communicate(timeout=30)
        return process.returncode, said.splitlines()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_that_serves_ends_in_order(number: signal.Signals) -> None:
    assert _ended_by(WAITS, number, times=2) == (0, ["in order", f"ended {number:d}"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_that_still_starts_ends_in_order(number: signal.Signals) -> None:
    assert _ended_by(STARTS, number) == (0, [f"ended {number:d}"])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(HANGS, id="the loop hangs"),
        pytest.param(BLOCKED, id="the loop is blocked"),
        pytest.param(STOPS_FOR_EVER, id="the stop does not end"),
        pytest.param(THREAD, id="a start waits for a thread"),
    ],
)
def test_one_that_cannot_end_is_cut_off(body: str) -> None:
    assert _ended_by(body, signal.SIGTERM) == (-signal.SIGALRM, [])
