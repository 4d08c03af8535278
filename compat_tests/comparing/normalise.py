"""What differs between any two runs, even of the same server, and is therefore replaced before comparing.

This is the one place where the comparison looks away. Response codes, remarks, queue ids, offsets, properties and
flags are never dropped: values that are random by nature are replaced by a placeholder of their kind, so that a
missing or misshapen one still shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from compat_tests.scenarios.driver import Outcome
from compat_tests.servers.server import Server

Json = Any


@dataclass(frozen=True)
class Rule:
    """A pattern, what takes its place, and why it may."""

    pattern: re.Pattern[str]
    placeholder: str
    reason: str


# Applied in this order to every text. {run}, {broker}, {broker_hex} and {namesrv} are the run's own values.
TEXT_RULES: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"{run}",
        "<run>",
        "topics, groups and client ids carry the run's id, so that runs are independent",
    ),
    (
        r"{broker_hex}[0-9A-F]{{16}}",
        "<offset-id>",
        "message id of broker address and position in the log",
    ),
    (r"{broker}", "<broker>", "the broker listens on a free port"),
    (r"{broker_vip}", "<broker-vip>", "the broker's second port is its first minus two"),
    (r"{namesrv}", "<namesrv>", "the NameServer listens on a free port"),
    (r"{second}", "<second-broker>", "the other broker of a cluster of two"),
    (r"127\.0\.0\.1:\d{{4,5}}", "<peer>", "the client's end of a connection has a random port"),
    (
        r"\b[0-9A-Fa-f]{{32}}(?:[0-9A-F]{{24}})?\b",
        "<unique-id>",
        "address, process, time, counter of the client; long with IPv6",
    ),
    (r"\b1[6-9]\d{{11}}\b", "<millis>", "wall-clock time of the run"),
    (
        r"\bposition \d+\b",
        "position <n>",
        "a record's place in the log depends on all other traffic (wire cases)",
    ),
    (r"cost \[\d+\]ms", "cost [<n>]ms", "the client tells how long it tried"),
    (r"\b\d+(?=ms\b)", "<n>", "the client tells how long it waited"),
    (r"#\d+ms", "#<n>ms", "as above, in time-outs"),
)
# Numbers are only replaced when they are wall-clock milliseconds.
MILLIS: Final = range(1_600_000_000_000, 2_000_000_000_000)


def _rules(run: str, server: Server) -> list[Rule]:
    host, port = server.broker_addr.rsplit(":", 1)
    values = {
        "run": re.escape(run),
        "broker": re.escape(server.broker_addr) + r"\b",
        "broker_vip": re.escape(f"{host}:{int(port) - 2}") + r"\b",
        "broker_hex": "".join(f"{int(part):02X}" for part in host.split(".")) + f"{int(port):08X}",
        "namesrv": re.escape(server.namesrv_addr) + r"\b",
        "second": re.escape(getattr(server, "second_addr", "no second")) + r"\b",
    }
    return [
        Rule(re.compile(p.format(**values)), placeholder, why) for p, placeholder, why in TEXT_RULES
    ]


def normalise(outcome: Outcome, server: Server) -> Json:
    """The outcome with everything replaced that is different in every run."""
    rules = _rules(outcome.run, server)

    def text(value: str) -> str:
        for rule in rules:
            value = rule.pattern.sub(rule.placeholder, value)
        return value

    def walk(value: Json) -> Json:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            return {text(key): walk(item) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool) and value in MILLIS:
            return "<millis>"
        return value

    return walk(outcome.outcome)


def differences(real: Json, ours: Json, path: str = "") -> Iterator[str]:
    """One line per place where two normalised outcomes differ."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted(real.keys() | ours.keys()):
            where = f"{path}.{key}" if path else key
            if key not in real:
                yield f"{where}: real has no such entry, ours has {_short(ours[key])}"
            elif key not in ours:
                yield f"{where}: real has {_short(real[key])}, ours has no such entry"
            else:
                yield from differences(real[key], ours[key], where)
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for index, pair in enumerate(zip(real, ours, strict=True)):
            yield from differences(*pair, path=f"{path}[{index}]")
    elif real != ours or type(real) is not type(ours):
        yield f"{path}: real {_short(real)}, ours {_short(ours)}"


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]}... ({len(text)} characters)"
