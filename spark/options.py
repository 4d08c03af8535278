"""Options of the data sources: read once, in the driver, to typed values.

Spark hands options over as text and without regard to case.
"""

from __future__ import annotations

import difflib
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from trimq.admin.addresses import name_server_list
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.errors import Invalid
from trimq.admin.pulling import TOOLS_GROUP
from trimq.admin.signing import AccessKeys
from trimq.remoting.blocking import BlockingClient
from trimq.remoting.tls import ClientTls, TlsFilesError
from trimq.spark.errors import SparkSourceError, WrongOption
from trimq.spark.positions import Position, parse_position

# Seconds that an outage may last, and while a read is planned.
OUTAGE: Final = 300.0
OUTAGE_OF_PLANNING: Final = 30.0

TRUE: Final = {"true": True, "false": False}
# Options that Spark itself may put among ours.
SPARKS_OWN: Final = frozenset({"path", "checkpointlocation", "__datasource_schema__", "queryname"})

TLS: Final = (
    "tls",
    "tlsTrustCertPath",
    "tlsAnyName",
    "tlsCertPath",
    "tlsKeyPath",
    "tlsKeyPassword",
)
CONNECTION: Final = (
    "namesrv",
    "accessKey",
    "secretKey",
    "timeoutMs",
    "retries",
    "outageTimeoutMs",
    *TLS,
)
READ: Final = (
    *CONNECTION,
    "topic",
    "topics",
    "topicPattern",
    "columns",
    "startingOffsets",
    "endingOffsets",
    "tags",
    "sql",
    "consumerGroup",
    "pullBatchSize",
    "pullsInFlight",
    "maxMessagesPerPartition",
    "failOnDataLoss",
    "maxOffsetsPerTrigger",
    "commitGroup",
)
WRITE: Final = (*CONNECTION, "topic", "producerGroup", "batchSize", "batchBytes")


@dataclass(frozen=True, slots=True)
class Connection:
    """How servers are asked. Time in seconds; `outage` is None where nobody said how long."""

    name_servers: str
    timeout: float
    retries: int
    keys: AccessKeys | None
    tls: ClientTls | None = None
    outage: float | None = None

    @property
    def patience(self) -> float:
        """How long servers that are away are waited for."""
        return OUTAGE if self.outage is None else self.outage

    @property
    def patience_of_planning(self) -> float:
        """The same while a read is planned, when somebody sits before it."""
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
class ReadOptions:
    """Everything that reading needs. `limit` and `commit_group` are for streams."""

    connection: Connection
    topics: tuple[str, ...]
    pattern: str | None
    pulls: Pulls
    starting: Position
    ending: Position
    most_per_partition: int | None
    limit: int | None
    commit_group: str | None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Everything that writing needs."""

    connection: Connection
    topic: str | None
    group: str
    batch_size: int
    batch_bytes: int


class Options:
    """The text of each option, with errors that name it."""

    def __init__(self, given: Mapping[str, str], known: Iterable[str]) -> None:
        names = {name.lower(): name for name in known}
        self._values: dict[str, str] = {}
        for key, value in given.items():
            name = names.get(key.lower())
            if name is not None:
                self._values[name] = value
            elif key.lower() not in SPARKS_OWN:
                raise WrongOption(_unknown(key, names))

    def text(self, name: str, default: str | None = None) -> str | None:
        value = self._values.get(name, "").strip()
        return value or default

    def required(self, name: str, example: str) -> str:
        value = self.text(name)
        if value is None:
            raise WrongOption(f"option {name!r} is missing: .option({name!r}, {example!r})")
        return value

    def number(self, name: str, default: int, least: int = 1, most: int = 1 << 31) -> int:
        found = self.optional_number(name, least, most)
        return default if found is None else found

    def optional_number(self, name: str, least: int = 1, most: int = 1 << 62) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if not value.isdecimal() or not least <= int(value) <= most:
            raise WrongOption(f"option {name!r} is {value!r}, not a number from {least} to {most}")
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in TRUE:
            raise WrongOption(f"option {name!r} is {value!r}, neither 'true' nor 'false'")
        return TRUE[value.lower()]


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """The options of a read; WrongOption when one cannot be meant."""
    options = Options(given, READ)
    topics, pattern = _topics(options)
    pulls = Pulls(
        expression=_expression(options),
        group=options.text("consumerGroup") or TOOLS_GROUP,
        batch_size=options.number("pullBatchSize", 32, most=1024),
        in_flight=options.number("pullsInFlight", 8, most=256),
        fail_on_data_loss=options.flag("failOnDataLoss", True),
    )
    return ReadOptions(
        connection=_connection(options),
        topics=topics,
        pattern=pattern,
        pulls=pulls,
        starting=parse_position("startingOffsets", options.text("startingOffsets")),
        ending=parse_position("endingOffsets", options.text("endingOffsets")),
        most_per_partition=options.optional_number("maxMessagesPerPartition"),
        limit=options.optional_number("maxOffsetsPerTrigger"),
        commit_group=options.text("commitGroup"),
    )


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """The options of a write; WrongOption when one cannot be meant."""
    options = Options(given, WRITE)
    return WriteOptions(
        connection=_connection(options),
        topic=options.text("topic"),
        group=options.text("producerGroup") or "trimq-spark",
        batch_size=options.number("batchSize", 256, most=4096),
        batch_bytes=options.number("batchBytes", 1 << 20, least=1 << 10, most=1 << 22),
    )


def _connection(options: Options) -> Connection:
    name_servers = options.required("namesrv", "127.0.0.1:9876")
    try:
        name_server_list(name_servers)
    except Invalid as error:
        raise WrongOption(f"option 'namesrv': {error}") from None
    access, secret = options.text("accessKey"), options.text("secretKey")
    if (access is None) != (secret is None):
        raise WrongOption("options 'accessKey' and 'secretKey' belong together")
    outage = options.optional_number("outageTimeoutMs", least=0, most=1 << 31)
    keys = AccessKeys(access, secret) if access is not None and secret is not None else None
    return Connection(
        name_servers=name_servers,
        timeout=options.number("timeoutMs", 10_000) / 1000,
        retries=options.number("retries", 3, least=0, most=1000),
        keys=keys,
        tls=_tls(options),
        outage=None if outage is None else outage / 1000,
    )


def _tls(options: Options) -> ClientTls | None:
    """The files must be there on every executor, too."""
    texts = {name: options.text(name) or "" for name in TLS}
    if not options.flag("tls", any(texts.values())):
        if any(texts[name] for name in TLS if name != "tls"):
            raise WrongOption("option 'tls' is 'false', but other options of TLS are given")
        return None
    tls = ClientTls(
        authorities=texts["tlsTrustCertPath"],
        named=not options.flag("tlsAnyName", False),
        certificate=texts["tlsCertPath"],
        key=texts["tlsKeyPath"],
        password=texts["tlsKeyPassword"],
    )
    try:
        tls.context()
    except TlsFilesError as error:
        raise WrongOption(f"options of TLS: {error}") from None
    return tls


def _topics(options: Options) -> tuple[tuple[str, ...], str | None]:
    listed = options.text("topic") or options.text("topics")
    pattern = options.text("topicPattern")
    if options.text("topic") and options.text("topics"):
        raise WrongOption("give option 'topic' or 'topics', not both")
    if (listed is None) == (pattern is None):
        raise WrongOption(
            "give either option 'topic' (one or several with commas) or option 'topicPattern'"
        )
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise WrongOption(f"option 'topicPattern' {pattern!r}: {error}") from None
        return (), pattern
    names = tuple(dict.fromkeys(name.strip() for name in (listed or "").split(",")))
    if "" in names:
        raise WrongOption(f"option 'topic' {listed!r} has an empty name in it")
    return names, None


def _expression(options: Options) -> Expression:
    tags, sql = options.text("tags"), options.text("sql")
    if tags is not None and sql is not None:
        raise WrongOption("give option 'tags' or option 'sql', not both")
    if sql is not None:
        return Expression(sql, "SQL92")
    return Expression(tags or "*", "TAG")


def _unknown(key: str, names: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(key.lower(), names, 1)
    if near:
        return f"there is no option {key!r}; did you mean {names[near[0]]!r}?"
    return f"there is no option {key!r}; there are: {', '.join(names.values())}"
