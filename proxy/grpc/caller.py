"""Who calls, by what comes beside the messages.

Hot: compiled by mypyc when a compiler is there.
"""

import re
from dataclasses import dataclass
from math import inf
from typing import Final

import trio

_UNITS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_TIMEOUT: Final = re.compile(r"^(\d{1,8})([HMSmun])$")


@dataclass(frozen=True, slots=True)
class Caller:
    """`fields`: by their names in lower case. `deadline`: in Trio's time. `called`: HOST:PORT that it asked for.

    `remote_addr`, `local_addr`: HOST:PORT of the connection's two ends.
    """

    fields: dict[str, str]
    deadline: float
    remote_addr: str
    local_addr: str
    called: str

    def field(self, name: str) -> str:
        """Empty when it is not there."""
        return self.fields.get(name, "")

    @property
    def client_id(self) -> str:
        return self.field("x-mq-client-id")

    def remaining_millis(self) -> float:
        """Until the deadline; inf without one."""
        return inf if self.deadline == inf else (self.deadline - trio.current_time()) * 1000


class BadTimeout(ValueError):
    """A grpc-timeout that is none."""


def caller_of(fields: dict[bytes, bytes], remote_addr: str, local_addr: str, now: float) -> Caller:
    """By the head of a request that came `now` in Trio's time; BadTimeout."""
    texts = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in fields.items()
        if not name.startswith(b":")
    }
    timeout = texts.get("grpc-timeout")
    deadline = inf if timeout is None else now + timeout_of(timeout)
    called = fields.get(b":authority", b"").decode("latin-1") or texts.get("host", "")
    return Caller(texts, deadline, remote_addr, local_addr, called)


def timeout_of(text: str) -> float:
    """Seconds; BadTimeout."""
    found = _TIMEOUT.match(text)
    if found is None:
        raise BadTimeout(text)
    return int(found[1]) * _UNITS[found[2]]
