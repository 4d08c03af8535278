"""`mqshutdown broker|namesrv|proxy`: ask the servers of this machine to end, in order. It does not wait for that."""

import os
import signal
from collections.abc import Iterable
from typing import Final

from trimq.commands.original.launch import NotLaunched
from trimq.commands.original.processes import Running

_KINDS: Final = {"broker": "server", "namesrv": "namesrv", "proxy": "proxy"}
# Of which none ever runs.
_ABSENT: Final = ("brokerContainer", "controller")
# A server starts the one that it has beside it again.
_BESIDE: Final = "--supervised"
# As RocketMQ's own script ends.
_NONE: Final = 255


def shut_down(what: str, servers: Iterable[Running]) -> list[str]:
    """Send SIGTERM to each; returns a line for each. NotLaunched when there is none."""
    if what not in (*_KINDS, *_ABSENT):
        raise NotLaunched(f"mqshutdown: {what or 'nothing'} is not one of broker, namesrv, proxy")
    kind = _KINDS.get(what)
    found = [one for one in servers if one.kind == kind and _BESIDE not in one.words]
    if not found:
        raise NotLaunched(f"mqshutdown: no {what} of TriMQ's runs here", _NONE)
    for one in found:
        os.kill(one.pid, signal.SIGTERM)
    return [f"{what} asked to stop: pid={one.pid}" for one in found]
