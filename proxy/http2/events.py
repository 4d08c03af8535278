"""What happened on a connection, in the order in which it did."""

from dataclasses import dataclass


@dataclass(slots=True)
class Began:
    """A request's head."""

    stream: int
    fields: dict[bytes, bytes]


@dataclass(slots=True)
class Data:
    """A piece of a request's body. `size`: what it counts for flow control, padding included."""

    stream: int
    data: bytes
    size: int


@dataclass(slots=True)
class Ended:
    """Nothing follows on this stream."""

    stream: int


@dataclass(slots=True)
class Reset:
    """The stream has been given up by the peer, or for a fault of its."""

    stream: int


@dataclass(slots=True)
class Room:
    """The peer takes more: on one stream, or on all (0)."""

    stream: int


@dataclass(slots=True)
class Leaving:
    """The peer opens no more streams; those under way go on."""


Event = Began | Data | Ended | Reset | Room | Leaving
