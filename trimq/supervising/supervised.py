"""A broker under a supervisor: says where it is in one line of JSON, and ends with its standard input."""

import json
import logging
import os
import signal
import sys
from typing import Final

import trio

from trimq.serving.server import RunningServer, open_server
from trimq.settings.options import ServerOptions

log = logging.getLogger("trimq.supervisor")

# Without its supervisor nobody waits for a clean stop; a store needs none.
ORPHAN_SECONDS: Final = 1.5
_LINE: Final = 1 << 20


async def run_supervised(options: ServerOptions) -> None:
    """Until SIGTERM, or until the supervisor is gone. SIGINT is for the supervisor."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
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
                async for number in signals:
                    if number == signal.SIGTERM:
                        break
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
    log.error("the supervisor is gone, stopping")
    signal.setitimer(signal.ITIMER_REAL, ORPHAN_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
