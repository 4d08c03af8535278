"""What becomes of a send: its message is staged, or it is refused.

Values that each protocol can express to its client in its own way. One of them per message,
so plain classes with `__slots__`.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Protocol


class Sender(Protocol):
    """Who sends: its address as text (`host:port`) and packed, as records keep it."""

    @property
    def remote_addr(self) -> str: ...

    @property
    def packed_host(self) -> bytes: ...


class Sent:
    """The message is staged; it is stored when the write at the end of the receive succeeds.

    `message_id`: its place as 32 or 56 hex digits, for a batch those of all records, joined by
    commas. `queue_id` and `queue_offset` are what the producer is told. `unique` is the UNIQ_KEY,
    `batch_unique` that of a batch that stays in one record. `durable_at`: the producer waits until
    the commit log is durable up to this offset; -1: it does not. `recall_handle`: what a producer
    needs to take a timer message back.
    """

    __slots__ = (
        "batch_unique",
        "durable_at",
        "message_id",
        "queue_id",
        "queue_offset",
        "recall_handle",
        "unique",
    )

    def __init__(
        self,
        message_id: str,
        queue_id: int,
        queue_offset: int,
        unique: str | None,
        durable_at: int,
        batch_unique: str | None = None,
        recall_handle: str | None = None,
    ) -> None:
        self.message_id = message_id
        self.queue_id = queue_id
        self.queue_offset = queue_offset
        self.unique = unique
        self.durable_at = durable_at
        self.batch_unique = batch_unique
        self.recall_handle = recall_handle


class Refused:
    """Nothing is stored; `code` (a ResponseCode) and `remark` are the real broker's.

    `bare`: the real broker fails on such a request, and answers without the fields that every
    other answer to a producer has. `batch_unique` as in `Sent`.
    """

    __slots__ = ("bare", "batch_unique", "code", "remark")

    def __init__(
        self, code: int, remark: str, bare: bool = False, batch_unique: str | None = None
    ) -> None:
        self.code = code
        self.remark = remark
        self.bare = bare
        self.batch_unique = batch_unique
