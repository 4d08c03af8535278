"""What looks answer, as JSON and as Python's values. It knows no broker, so that clients load none of it.

Times are milliseconds since 1970. A body is base64 in JSON; `text` is the same when it is UTF-8.
"""

from __future__ import annotations

import msgspec


class SeenMessage(msgspec.Struct, kw_only=True, frozen=True):
    """One stored message. `keys` are separated by blanks; `position` is its offset in the commit log."""

    topic: str
    queue_id: int
    offset: int
    position: int
    id: str
    tags: str | None
    keys: str | None
    properties: dict[str, str]
    body: bytes
    text: str | None
    store_millis: int
    born_millis: int
    reconsume_times: int


class Sent(msgspec.Struct, kw_only=True, frozen=True):
    """`count`: how many there are, `messages`: the last of them, in the order in which they were stored."""

    topic: str
    count: int
    messages: list[SeenMessage]


class QueueProgress(msgspec.Struct, kw_only=True, frozen=True):
    """How far a group has read a queue; `committed` is -1 before its first commit."""

    topic: str
    queue_id: int
    committed: int
    end: int


class Popped(msgspec.Struct, kw_only=True, frozen=True):
    """So many messages of a topic are popped and not acknowledged; a retry topic counts by itself."""

    topic: str
    count: int


class Progress(msgspec.Struct, kw_only=True, frozen=True):
    """Where a group is in every queue that has a message, and what it has popped."""

    group: str
    queues: list[QueueProgress]
    in_flight: list[Popped]


class PendingTimer(msgspec.Struct, kw_only=True, frozen=True):
    """A message that waits for its time. `level` is that of a delay level, None for a timer message.

    `topic` is where it goes when it is due; a retry waits here too, and goes to the retry topic of its group.
    """

    topic: str
    due_millis: int
    id: str
    level: int | None
    keys: str | None


class HalfMessage(msgspec.Struct, kw_only=True, frozen=True):
    """A half message whose transaction is open. `checks`: how often its producers were asked about it."""

    topic: str
    id: str
    born_millis: int
    checks: int
    keys: str | None
    text: str | None


class Renewed(msgspec.Struct, kw_only=True, frozen=True):
    """The broker runs on other files. `name`: of the snapshot. `took_millis`: from its closing to its being ready."""

    name: str
    took_millis: float
