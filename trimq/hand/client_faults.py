"""The faults of a server from a Python test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack

from trimq.hand.client import HandClient

Side = Literal["broker", "namesrv"]


class Which(TypedDict, total=False):
    """Which of the requests: those of a topic, of a group, of a client; each with this probability.

    Names may have `*` for anything. A client is an address, a host or a client id. The same seed draws the same ones.
    Those for routes go to the NameServer of the same process, others to the broker, unless the side is named.
    """

    topic: str
    group: str
    client: str
    side: Side
    probability: float
    seed: int


class Counted(Which, total=False):
    """How many of which family."""

    sends: int
    pulls: int
    pops: int
    acks: int
    heartbeats: int
    routes: int


@dataclass(frozen=True, slots=True)
class Fault:
    """What a test has asked for, and how often it has hit. `left`: None for all until it is taken away."""

    number: int
    does: str
    requests: str
    hits: int
    left: int | None
    topic: str | None
    group: str | None
    client: str | None
    side: Side
    probability: float
    seed: int
    code: str | None
    remark: str | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong now. `away`: who is; `split_from`: NameServers not reached; `disk`: full, read_only or None."""

    away: tuple[Side, ...]
    split_from: tuple[str, ...]
    disk: str | None
    faults: tuple[Fault, ...]


Requests = str | Sequence[str]
"""A family (sends, pulls, pops, acks, heartbeats, routes), `all`, the name of a request code, or several of them."""


class Faults:
    """Every method raises HandError with the server's words for what it cannot do."""

    def __init__(self, client: HandClient) -> None:
        self._client = client

    # --- requests

    def fail_next(
        self,
        *,
        code: str | int,
        next: int | None = None,
        requests: Requests = "all",
        remark: str | None = None,
        **which: Unpack[Counted],
    ) -> tuple[Fault, ...]:
        """`fail_next(sends=3, code="SYSTEM_BUSY")`: they are answered so, with the real broker's remark or this one.

        They are not done; sends with FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT and SLAVE_NOT_AVAILABLE are, as there.
        `next` counts what `requests` names.
        """
        found = self._client.call(
            "faults/fail_next",
            code=code,
            next=next,
            requests=_names(requests),
            remark=remark,
            **which,
        )
        return _faults(found)

    def fail(
        self,
        requests: Requests,
        code: str | int,
        *,
        next: int | None = None,
        remark: str | None = None,
        **which: Unpack[Which],
    ) -> Fault:
        """The same until it is taken away, or for the next so many."""
        words = {"code": code, "next": next, "requests": _names(requests), "remark": remark}
        return Fault(**self._client.call("faults/fail", **words, **which))

    def slow(
        self,
        requests: Requests,
        by: str | float,
        *,
        next: int | None = None,
        **which: Unpack[Which],
    ) -> Fault:
        """They are done at once, and their answers come so much later, in real time: "500ms" or so many seconds."""
        words = {"by": by, "next": next, "requests": _names(requests)}
        return Fault(**self._client.call("faults/slow", **words, **which))

    def lose_answer(
        self,
        next: int = 1,
        requests: Requests = "sends",
        **which: Unpack[Which],
    ) -> Fault:
        """They are done, and nobody hears of it."""
        words = {"next": next, "requests": _names(requests)}
        return Fault(**self._client.call("faults/lose_answer", **words, **which))

    def list(self) -> tuple[Fault, ...]:
        """In the order in which they were asked for; those that are used up, too."""
        return _faults(self._client.call("faults/list"))

    def remove(self, fault: Fault | int) -> None:
        number = fault.number if isinstance(fault, Fault) else fault
        self._client.call("faults/remove", number=number)

    # --- ways

    def drop_connections(self, client: str | None = None, side: Side = "broker") -> int:
        """Close those of a client (an address, a host or a client id), or all; how many."""
        return int(self._client.call("faults/drop_connections", client=client, side=side))

    def away(
        self,
        during: str | float | None = None,
        until: str | datetime | None = None,
        side: Side = "broker",
    ) -> None:
        """The ports of the broker, or its own NameServer, refuse connections; those that are open are closed.

        `during`: so much real time. `until`: it is that time on the server's clock. Without both, until `back`.
        """
        said = until.isoformat() if isinstance(until, datetime) else until
        self._client.call("faults/away", during=during, until=said, side=side)

    def back(self, side: Side = "broker") -> None:
        """Clients can connect when it returns."""
        self._client.call("faults/back", side=side)

    def split(self, broker: str | None = None, namesrv: str | None = None) -> tuple[str, ...]:
        """This broker does not reach its NameServers, or the one of that address; which."""
        return tuple(self._client.call("faults/split", broker=broker, namesrv=namesrv))

    def heal(self) -> None:
        """It is registered again when it returns."""
        self._client.call("faults/heal")

    # --- the disk

    def full_disk(self, room: int = 0) -> None:
        """So many bytes can still be written, and then nothing."""
        self._client.call("faults/full_disk", room=room)

    def read_only(self) -> None:
        """Nothing of the store can be changed."""
        self._client.call("faults/read_only")

    def mend_disk(self) -> None:
        """There is room, and all can be changed."""
        self._client.call("faults/mend_disk")

    # --- all

    def state(self) -> Wrong:
        found = self._client.call("faults/state")
        return Wrong(
            tuple(found["away"]),
            tuple(found["split_from"]),
            found["disk"],
            _faults(found["faults"]),
        )

    def clear(self) -> None:
        """Nothing is wrong any more when it returns."""
        self._client.call("faults/clear")


def _names(requests: Requests) -> Any:
    return requests if isinstance(requests, str) else [*requests]


def _faults(found: Sequence[dict[str, Any]]) -> tuple[Fault, ...]:
    return tuple(Fault(**one) for one in found)
