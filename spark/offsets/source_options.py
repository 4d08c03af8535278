"""Options of `format("rocketmq-offsets")`, with the names that the other sources have for the same things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trimq.spark.errors import WrongOption
from trimq.spark.offsets.snapshot.cluster import ClusterSource
from trimq.spark.options.parsing import CONNECTION, connection_of
from trimq.spark.options.texts import Options
from trimq.spark.options.values import Connection

OFFSETS: Final = (
    *CONNECTION,
    "columns",
    "topic",
    "group",
    "rate",
    "exactDelays",
    "askClients",
    "failOnMissingBroker",
    "minIntervalMs",
)


@dataclass(frozen=True, slots=True)
class OffsetsOptions:
    """`least`: milliseconds between two snapshots of a stream, at least."""

    connection: Connection
    source: ClusterSource
    fail_without: bool
    least: int


def offsets_options(given: Mapping[str, str]) -> OffsetsOptions:
    """The options of a snapshot; WrongOption when one is impossible."""
    options = Options(given, OFFSETS)
    options.demand_some("namesrv '127.0.0.1:9876'")
    connection = connection_of(options)
    source = ClusterSource(
        name_servers=connection.name_servers,
        groups=_patterns(options, "group"),
        topics=_patterns(options, "topic"),
        rate=_rate(options),
        timeout=connection.timeout,
        exact=options.number("exactDelays", 500, least=0),
        ask_clients=options.flag("askClients", True),
        keys=connection.keys,
        tls=connection.tls,
    )
    return OffsetsOptions(
        connection=connection,
        source=source,
        fail_without=options.flag("failOnMissingBroker", True),
        least=options.number("minIntervalMs", 1000, least=0),
    )


def _patterns(options: Options, name: str) -> tuple[str, ...]:
    text = options.text(name)
    if text is None:
        return ()
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if "" in found:
        raise WrongOption(f"option {name!r} {text!r} has an empty name in it")
    return found


def _rate(options: Options) -> float:
    text = options.text("rate") or "200"
    try:
        rate = float(text)
    except ValueError:
        rate = 0
    if not 0 < rate < float("inf"):
        raise WrongOption(
            f"option 'rate' is {text!r}, not a number of requests a second above 0, such as 200"
        )
    return rate
