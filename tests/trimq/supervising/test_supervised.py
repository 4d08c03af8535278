"""A broker that is still starting when its supervisor is killed."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from trimq.supervising.supervised import ORPHAN_SECONDS

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
    command = [sys.executable, "-c", STARTING.format(wait=wait)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == b"starting\n"
            began = time.monotonic()
            process.stdin.close()
            process.wait(20)
            assert time.monotonic() - began < ORPHAN_SECONDS + 2
        finally:
            process.kill()
