"""What operations on faults are told, and what they say."""

from __future__ import annotations

import msgspec

from trimq.hand.faults.disk import DiskFault
from trimq.hand.faults.facts import Side
from trimq.hand.faults.requests import ALL
from trimq.hand.faults.rules import Does
from trimq.hand.operation import Words


class Whose(Words, kw_only=True):
    """Which of the requests. Names may have `*` for anything; a client is an address, a host or a client id.

    `side`: who is asked; nothing is the NameServer for `routes`, and else the broker.
    """

    topic: str | None = None
    group: str | None = None
    client: str | None = None
    side: Side | None = None
    probability: float = 1.0
    seed: int = 0


class FailNext(Whose, kw_only=True):
    """How many of which family; `next` counts those that `requests` names."""

    code: str | int
    sends: int | None = None
    pulls: int | None = None
    pops: int | None = None
    acks: int | None = None
    heartbeats: int | None = None
    routes: int | None = None
    next: int | None = None
    requests: str | list[str] = ALL
    remark: str | None = None


class Fail(Whose, kw_only=True):
    """`next`: so many; without it all until the fault is taken away."""

    code: str | int
    requests: str | list[str] = ALL
    next: int | None = None
    remark: str | None = None


class Slow(Whose, kw_only=True):
    """`by`: how much later the answer comes, in real time."""

    by: str | float
    requests: str | list[str] = ALL
    next: int | None = None


class LoseAnswer(Whose, kw_only=True):
    requests: str | list[str] = "sends"
    next: int | None = 1


class Numbered(Words, kw_only=True):
    number: int


class Shown(msgspec.Struct):
    """One fault. `left`: how often it will still hit; null: until it is taken away."""

    number: int
    does: Does
    requests: str
    hits: int
    left: int | None
    topic: str | None = None
    group: str | None = None
    client: str | None = None
    side: Side = "broker"
    probability: float = 1.0
    seed: int = 0
    code: str | None = None
    remark: str | None = None
    seconds: float | None = None


class Drop(Words, kw_only=True):
    """An address, a host or a client id; nothing for everybody."""

    client: str | None = None
    side: Side = "broker"


class Away(Words, kw_only=True):
    """`during` so much real time, `until` it is that time on the server's clock, or until it is called back."""

    during: str | float | None = None
    until: str | None = None
    side: Side = "broker"


class Back(Words, kw_only=True):
    side: Side = "broker"


class Split(Words, kw_only=True):
    """`broker`: this one. `namesrv`: the address of one, or nothing for all."""

    broker: str | None = None
    namesrv: str | None = None


class FullDisk(Words, kw_only=True):
    """`room`: bytes that can still be written."""

    room: int = 0


class State(msgspec.Struct):
    """What is wrong now. `away`: who is; `split_from`: NameServers that are not reached."""

    away: list[Side]
    split_from: list[str]
    disk: DiskFault | None
    faults: list[Shown]
