"""A proxy beside its server: is told whom it is before, says where it is, and ends with its standard input."""

import dataclasses
import json
import os
import signal
import sys
from typing import Any

import trio

from trimq.process.stop_signals import stop_signals
from trimq.serving.failures import EXPLAINED, explained, explained_plainly, is_usage
from trimq.serving.orphans import end_with_supervisor
from trimq.serving.proxy import collecting, open_proxy
from trimq.settings.proxy import ProxyFlags, proxy_plan


async def run_supervised_proxy(flags: ProxyFlags) -> None:
    """Until SIGTERM, or until the server is gone. SIGINT is for the server.

    When it cannot start, the server is told why, and says it: SystemExit.
    """
    is_ready = False
    with stop_signals(ignored=(signal.SIGINT,)) as stop:
        end_with_supervisor("server")
        told = json.loads(await _first_line())
        try:
            async with explained_plainly():
                plan = proxy_plan(
                    dataclasses.replace(
                        flags,
                        namesrv=told["namesrv"],
                        settings={**told["settings"], **flags.settings},
                    )
                )
                async with open_proxy(plan, "--grpc") as bound, collecting():
                    is_ready = True
                    _say({"grpc": str(bound)})
                    await stop.wait()
        except EXPLAINED as error:
            if is_ready:
                raise
            failure = ExceptionGroup("", [error])
            _say({"failed": "; ".join(explained(failure) or [])})
            raise SystemExit(2 if is_usage(failure) else 1) from None


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def _first_line() -> bytes:
    """What the server says; it waits no longer than the server lives (orphans.py)."""
    line = b""
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as pipe:
        while not line.endswith(b"\n"):
            line += await pipe.receive_some(1)
    return line
