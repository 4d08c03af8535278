"""What options say, as typed values: a connection, what is read, how it is pulled, and what is written."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Final

from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.connecting.signing import AccessKeys
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.tls.contexts import ClientTls, TlsFilesError
from trimq.spark.errors import SparkSourceError
from trimq.spark.options.positions import Position, QueueKey

# Seconds that an outage may last, and while a read is planned.
OUTAGE: Final = 300.0
OUTAGE_OF_PLANNING: Final = 30.0


@dataclass(frozen=True, slots=True)
class Connection:
    """How servers are asked. Time in seconds; `outage` is None if it was not given."""

    name_servers: str
    timeout: float
    retries: int
    keys: AccessKeys | None
    tls: ClientTls | None = None
    outage: float | None = None

    @property
    def patience(self) -> float:
        """How long to wait for servers that are away."""
        return OUTAGE if self.outage is None else self.outage

    @property
    def patience_of_planning(self) -> float:
        """The same while a read is planned, when somebody may be waiting at the screen."""
        return OUTAGE_OF_PLANNING if self.outage is None else self.outage

    def client(self, addr: str) -> BlockingClient:
        """A connection of its own to one server; the files of TLS are read where this runs."""
        return BlockingClient(addr, tls=self._context(), timeout=self.timeout)

    def admin(self) -> BlockingAdminClient:
        """All operations on all servers."""
        return BlockingAdminClient(
            self.name_servers, timeout=self.timeout, tls=self._context(), keys=self.keys
        )

    def _context(self) -> ssl.SSLContext | None:
        if self.tls is None:
            return None
        try:
            return self.tls.context()
        except TlsFilesError as error:
            raise SparkSourceError(str(error)) from None


@dataclass(frozen=True, slots=True)
class Expression:
    """What a subscription wants: tags like `A || B`, or a condition in SQL92."""

    text: str
    kind: str

    @property
    def selects(self) -> bool:
        """Whether it leaves anything out."""
        return self.kind != "TAG" or self.text != "*"

    @property
    def tags(self) -> frozenset[str]:
        """The tags that are wanted; empty when any is."""
        if self.kind != "TAG":
            return frozenset()
        found = {tag.strip() for tag in self.text.split("||")} - {""}
        return frozenset() if "*" in found else frozenset(found)


@dataclass(frozen=True, slots=True)
class Pulls:
    """How messages are pulled."""

    expression: Expression
    group: str
    batch_size: int
    in_flight: int
    fail_on_data_loss: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read: topics by name, or those whose names match; all their queues, or only these."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    queues: frozenset[QueueKey] | None = None


@dataclass(frozen=True, slots=True)
class Triggers:
    """How a stream's batches are cut. Nothing is read while fewer than `least` messages are there,
    unless the last batch was `delay` seconds ago; `most` is the limit of a batch.
    """

    most: int | None = None
    least: int | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything that reading needs. `triggers` and `commit_group` are for streams."""

    connection: Connection
    wanted: Wanted
    pulls: Pulls
    starting: Position
    ending: Position
    most_per_partition: int | None
    least_partitions: int | None
    triggers: Triggers
    commit_group: str | None

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are named; none if there is a pattern."""
        return self.wanted.topics

    @property
    def pattern(self) -> str | None:
        return self.wanted.pattern

    @property
    def queues(self) -> frozenset[QueueKey] | None:
        """The only queues that are read, or None: all of the topics."""
        return self.wanted.queues

    @property
    def limit(self) -> int | None:
        """Messages in a batch of a stream."""
        return self.triggers.most


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Everything that writing needs."""

    connection: Connection
    topic: str | None
    group: str
    batch_size: int
    batch_bytes: int
    skip_bad_rows: bool = False
