"""Reads a socket that is no connection of a server's: by the poller where there is one, else in the task that asks."""

from collections.abc import Callable

import trio

from trimq.remoting.wire.poller import Poller
from trimq.remoting.wire.streams import SocketWire


async def while_readable(
    wire: SocketWire, poller: Poller | None, ready: Callable[[], bool], answers: bool = False
) -> None:
    """Call `ready` whenever there is something to read, until it returns False; what it raises comes out here.

    It may be called although nothing is there. `answers` as in Poller.add.
    """
    if poller is None:
        await _in_this_task(wire, ready)
        return
    ended = trio.Event()
    failed: list[Exception] = []
    fd = wire.fileno()

    def call() -> None:
        try:
            if ready():
                return
        except Exception as error:
            failed.append(error)
        # Not once more before the task has woken.
        poller.pause(fd)
        ended.set()

    poller.add(fd, call, answers)
    try:
        await ended.wait()
    finally:
        poller.remove(fd)
    if failed:
        raise failed[0]


async def _in_this_task(wire: SocketWire, ready: Callable[[], bool]) -> None:
    goes_on = True
    while goes_on:
        await wire.readable()
        goes_on = ready()
