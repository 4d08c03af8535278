"""A process that was started by another one of TriMQ's ends with it, and shows it that its loop turns."""

import logging
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from typing import Final

import trio

log = logging.getLogger("trimq.supervisor")

# Without its supervisor nobody waits for a clean stop; a store needs none.
ORPHAN_SECONDS: Final = 1.5


def end_with_supervisor(kind: str = "supervisor") -> None:
    """From now on; standard input is its pipe. Before anything is opened, which may take long.

    `kind`: what the log calls it.
    """
    threading.Thread(target=_watch, args=(sys.stdin.fileno(), kind), daemon=True).start()


def _watch(pipe: int, kind: str) -> None:
    """Blocks until the supervisor is gone. In a thread: a loop that is busy with its files would not see it."""
    poll = select.poll()
    # It is told of the end, whatever it asks for; what comes is for the loop.
    poll.register(pipe, 0)
    poll.poll()
    log.error("the %s is gone, stopping", kind)
    signal.setitimer(signal.ITIMER_REAL, ORPHAN_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


async def show_life(pipe: int, pause: float) -> None:
    """An empty line for each pause, by the loop itself; until cancelled."""
    os.set_blocking(pipe, False)
    while True:
        # A supervisor that reads nothing has enough of them.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(pipe, b"\n")
        await trio.sleep(pause)
