"""A broker that is still starting when its supervisor is killed."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import pytest

from trimq.serving.orphans import ORPHAN_SECONDS

TRIES = 4
STARTING = """
import contextlib, time, trio
from trimq.supervising import supervised

@contextlib.asynccontextmanager
async def open_server(options):
    print("starting", flush=True)
    {wait}
    yield

supervised.open_server = open_server
trio.run(supervised.run_supervised, None)
"""


@pytest.mark.parametrize("wait", ["await trio.sleep(60)", "time.sleep(60)"])
def test_a_starting_broker_does_not_outlive_it(wait: str) -> None:
    took: list[float] = []
    # On a machine that has much else to do, not every time.
    while len(took) < TRIES and min(took, default=math.inf) >= ORPHAN_SECONDS + 2:
        took.append(seconds_alone(wait))
    assert min(took) < ORPHAN_SECONDS + 2, took


def seconds_alone(wait: str) -> float:
    """For how long it lives without its supervisor."""
    command = [sys.executable, "-c", STARTING.format(wait=wait)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == b"starting\n"
            began = time.monotonic()
            process.stdin.close()
            process.wait(50)
            return time.monotonic() - began
        finally:
            process.kill()
