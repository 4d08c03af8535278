"""A broker under a supervisor: says where it is in one line of JSON, and ends with its standard input.

Then, if the supervisor asks for it by ``WATCHDOG_USEC``, it says that its loop turns.
"""

import json
import os
import signal
import sys
from typing import Final

import trio

from trimq.process.service_manager import pause_of, watchdog_seconds
from trimq.process.stop_signals import stop_signals
from trimq.serving.orphans import end_with_supervisor, show_life
from trimq.serving.server import RunningServer, open_server
from trimq.settings.options import ServerOptions

_LINE: Final = 1 << 20


async def run_supervised(options: ServerOptions) -> None:
    """Until SIGTERM, or until the supervisor is gone. SIGINT is for the supervisor."""
    pause = pause_of(watchdog_seconds(os.environ))
    with stop_signals(ignored=(signal.SIGINT,)) as stop:
        end_with_supervisor()
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
                    nursery.start_soon(show_life, sys.stdout.fileno(), pause)
                await stop.wait()
                nursery.cancel_scope.cancel()


async def _listen(running: RunningServer) -> None:
    """What the supervisor says, until it is gone."""
    pending = b""
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as pipe:
        while data := await pipe.receive_some(_LINE):
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                if running.siblings is not None:
                    running.siblings.tell(json.loads(line)["siblings"])
