"""A broker under a supervisor: says where it is in one line of JSON, and ends with its standard input.

Then, if the supervisor asks for it by ``WATCHDOG_USEC``, it says that its loop turns.
"""

import json
import logging
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from typing import Final

import trio

from trimq.process.service_manager import pause_of, watchdog_seconds
from trimq.process.stop_signals import stop_signals
from trimq.serving.server import RunningServer, open_server
from trimq.settings.options import ServerOptions

log = logging.getLogger("trimq.supervisor")

# Without its supervisor nobody waits for a clean stop; a store needs none.
ORPHAN_SECONDS: Final = 1.5
_LINE: Final = 1 << 20


async def run_supervised(options: ServerOptions) -> None:
    """Until SIGTERM, or until the supervisor is gone. SIGINT is for the supervisor."""
    pause = pause_of(watchdog_seconds(os.environ))
    with stop_signals(ignored=(signal.SIGINT,)) as stop:
        # Before anything is opened, which may take long.
        threading.Thread(target=_watch, args=(sys.stdin.fileno(),), daemon=True).start()
        async with open_server(options) as running:
            told = {
                "broker": running.broker_addr,
                "port": running.port,
                "metrics": running.metrics_addr,
            }
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_listen, running)
                if pause:
                    nursery.start_soon(_show_life, sys.stdout.fileno(), pause)
                await stop.wait()
                nursery.cancel_scope.cancel()


def _watch(pipe: int) -> None:
    """Blocks until the supervisor is gone. In a thread: a loop that is busy with its files would not see it."""
    poll = select.poll()
    # It is told of the end, whatever it asks for; what comes is for `_listen`.
    poll.register(pipe, 0)
    poll.poll()
    log.error("the supervisor is gone, stopping")
    signal.setitimer(signal.ITIMER_REAL, ORPHAN_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


async def _show_life(pipe: int, pause: float) -> None:
    """An empty line for each pause, by the loop itself; until cancelled."""
    os.set_blocking(pipe, False)
    while True:
        # A supervisor that reads nothing has enough of them.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(pipe, b"\n")
        await trio.sleep(pause)


async def _listen(running: RunningServer) -> None:
    """What the supervisor says, until it is gone."""
    pending = b""
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as pipe:
        while data := await pipe.receive_some(_LINE):
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                if running.siblings is not None:
                    running.siblings.tell(json.loads(line)["siblings"])
