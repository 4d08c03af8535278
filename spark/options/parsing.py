"""Options of the data sources: read once, in the driver, to typed values.

Spark passes options as text and ignores the case of their names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from trimq.admin.connecting.addresses import name_server_list
from trimq.admin.connecting.signing import AccessKeys
from trimq.admin.errors import Invalid
from trimq.codec.names import TOOLS_CONSUMER_GROUP
from trimq.remoting.tls.contexts import ClientTls, TlsFilesError
from trimq.spark.errors import WrongOption
from trimq.spark.options.moments import parse_duration, required_time
from trimq.spark.options.positions import (
    EARLIEST,
    LATEST,
    Position,
    parse_position,
    parse_queues,
    parse_times,
)
from trimq.spark.options.texts import Options
from trimq.spark.options.values import (
    Connection,
    Expression,
    Pulls,
    ReadOptions,
    Triggers,
    Wanted,
    WriteOptions,
)

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
# Only one of each may be given: offsets or times, one time for all queues, times of topics and
# queues.
STARTING: Final = (
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
)
ENDING: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
# Those that only mean something for one kind of reading.
FOR_STREAMS: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "commitGroup",
)
READ: Final = (
    *CONNECTION,
    "topic",
    "topics",
    "topicPattern",
    "assign",
    "columns",
    *STARTING,
    *ENDING,
    "tags",
    "sql",
    "consumerGroup",
    "groupIdPrefix",
    "pullBatchSize",
    "pullsInFlight",
    "maxMessagesPerPartition",
    "minPartitions",
    "failOnDataLoss",
    *FOR_STREAMS,
)
_GROUP: Final = re.compile("[%|a-zA-Z0-9_-]{1,100}", re.ASCII)
_EXAMPLE: Final = "namesrv '127.0.0.1:9876', topic 'T'"
WRITE: Final = (*CONNECTION, "topic", "producerGroup", "batchSize", "batchBytes", "badRows")


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """The options of a read; WrongOption when one is impossible."""
    options = Options(given, READ)
    options.demand_some(_EXAMPLE)
    wanted = _wanted(options)
    pulls = Pulls(
        expression=_expression(options),
        group=_group(options, wanted),
        batch_size=options.number("pullBatchSize", 32, most=1024),
        in_flight=options.number("pullsInFlight", 8, most=256),
        fail_on_data_loss=options.flag("failOnDataLoss", True),
    )
    starting, ending = _starting(options), _position(options, "ending")
    _check_order(options, starting, ending)
    return ReadOptions(
        connection=connection_of(options),
        wanted=wanted,
        pulls=pulls,
        starting=starting,
        ending=ending,
        most_per_partition=options.optional_number("maxMessagesPerPartition"),
        least_partitions=options.optional_number("minPartitions", most=1_000_000),
        triggers=_triggers(options),
        commit_group=options.text("commitGroup"),
    )


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """The options of a write; WrongOption when one is impossible."""
    options = Options(given, WRITE)
    options.demand_some(_EXAMPLE)
    return WriteOptions(
        connection=connection_of(options),
        topic=options.text("topic"),
        group=options.text("producerGroup") or "trimq-spark",
        batch_size=options.number("batchSize", 256, most=4096),
        batch_bytes=options.number("batchBytes", 1 << 20, least=1 << 10, most=1 << 22),
        skip_bad_rows=options.choice("badRows", "fail", "skip") == "skip",
    )


def connection_of(options: Options) -> Connection:
    """How servers are asked; WrongOption when an option is impossible."""
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
    """The files must exist on every executor, too."""
    texts = {name: options.text(name) or "" for name in TLS}
    if not options.flag("tls", any(texts.values())):
        if any(texts[name] for name in TLS if name != "tls"):
            raise WrongOption("option 'tls' is 'false', but other TLS options are given")
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
        raise WrongOption(f"TLS options: {error}") from None
    return tls


def _wanted(options: Options) -> Wanted:
    names = ("topic", "topics", "topicPattern", "assign")
    given = options.only(*names)
    if given is None:
        raise WrongOption(
            "give either option 'topic' (one, or several separated by commas) or option "
            "'topicPattern', or"
            " chosen queues with option 'assign'"
        )
    name, text = given
    if name == "assign":
        queues = parse_queues(name, text)
        return Wanted(tuple(sorted({topic for topic, _, _ in queues})), queues=queues)
    if name == "topicPattern":
        try:
            re.compile(text)
        except re.error as error:
            raise WrongOption(f"option 'topicPattern' {text!r}: {error}") from None
        return Wanted(pattern=text)
    topics = tuple(dict.fromkeys(one.strip() for one in text.split(",")))
    if "" in topics:
        raise WrongOption(f"option 'topic' {text!r} has an empty name in it")
    return Wanted(topics)


def _position(options: Options, side: str) -> Position:
    """`side` is starting or ending."""
    word, time, by_queue = f"{side}Offsets", f"{side}Timestamp", f"{side}OffsetsByTimestamp"
    name, text = options.only(word, time, by_queue) or (word, None)
    if text is None or name == word:
        return parse_position(name, text)
    if name == time:
        return Position("time", required_time(name, text))
    return parse_times(name, text)


def _starting(options: Options) -> Position:
    """startingOffsets is lenient by default, as always; its sisters are strict, like Kafka's."""
    found = _position(options, "starting")
    strategy = options.choice("startingOffsetsByTimestampStrategy", "error", "latest")
    if found.word not in ("time", "times"):
        if strategy is not None:
            raise WrongOption(
                "option 'startingOffsetsByTimestampStrategy' needs a time to start at: give option"
                " 'startingTimestamp' or 'startingOffsetsByTimestamp'"
            )
        return found
    strict = options.text("startingOffsets") is None if strategy is None else strategy == "error"
    return replace(found, strict=strict)


def _check_order(options: Options, starting: Position, ending: Position) -> None:
    """WrongOption when nothing can lie between the two."""
    if ending.word == "earliest":
        raise WrongOption(
            "option 'endingOffsets' is 'earliest': nothing lies before that; leave it out to read up to what is there"
            " now, or give the offsets or the time to stop at"
        )
    if (starting.word, ending.word) == ("time", "time") and starting.millis >= ending.millis:
        first, last = (options.only(*names) or ("", "") for names in (STARTING[:2], ENDING[:2]))
        raise WrongOption(
            f"options {first[0]!r} {first[1]!r} and {last[0]!r} {last[1]!r}: the read would end before it begins"
        )
    for key in sorted(starting.offsets.keys() & ending.offsets.keys()):
        low, high = starting.offsets[key], ending.offsets[key]
        if 0 <= high < low or (low, high) == (LATEST, EARLIEST):
            topic, broker, queue = key
            raise WrongOption(
                f"options 'startingOffsets' and 'endingOffsets': queue {queue} of topic {topic!r} on broker {broker!r}"
                f" would end at {high}, before it begins at {low}"
            )


def _triggers(options: Options) -> Triggers:
    most = options.optional_number("maxOffsetsPerTrigger")
    least = options.optional_number("minOffsetsPerTrigger")
    delay = options.text("maxTriggerDelay")
    if delay is not None and least is None:
        raise WrongOption("option 'maxTriggerDelay' needs option 'minOffsetsPerTrigger'")
    if least is not None and most is not None and least > most:
        raise WrongOption(
            f"option 'minOffsetsPerTrigger' is {least}, more than 'maxOffsetsPerTrigger' {most}"
        )
    return Triggers(most, least, parse_duration("maxTriggerDelay", delay or "15m"))


def _group(options: Options, wanted: Wanted) -> str:
    """The group to pull as. With a prefix, the same read always gets the same name: brokers keep groups."""
    name, text = options.only("consumerGroup", "groupIdPrefix") or ("", TOOLS_CONSUMER_GROUP)
    if name != "groupIdPrefix":
        return text
    if not _GROUP.fullmatch(text):
        raise WrongOption(
            f"option 'groupIdPrefix' is {text!r}: group names consist of letters, digits and %|-_, "
            f"at most 100 of them before the job's own part"
        )
    queues = sorted(wanted.queues) if wanted.queues is not None else None
    what = repr((wanted.topics, wanted.pattern, queues))
    return f"{text}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"


def _expression(options: Options) -> Expression:
    tags, sql = options.text("tags"), options.text("sql")
    if tags is not None and sql is not None:
        raise WrongOption("give option 'tags' or option 'sql', not both")
    if sql is not None:
        return Expression(sql, "SQL92")
    return Expression(tags or "*", "TAG")
