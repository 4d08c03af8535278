"""Where reading begins and ends: what options say, and offsets of queues as JSON.

The JSON is {"TOPIC": {"BROKER": {"QUEUE": OFFSET}}}, in options, in Spark's checkpoint and in what
a running query reports. In options -2 stands for the earliest offset and -1 for the latest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from trimq.spark.errors import WrongOption

EARLIEST: Final = -2
LATEST: Final = -1

# (topic, broker name, queue id)
QueueKey = tuple[str, str, int]
Offsets = dict[QueueKey, int]


@dataclass(frozen=True, slots=True)
class Position:
    """`word` is `earliest`, `latest`, `time` (then `millis`), `offsets`, or empty: not given."""

    word: str = ""
    millis: int = 0
    offsets: Offsets = field(default_factory=dict)


def parse_position(option: str, text: str | None) -> Position:
    """What startingOffsets or endingOffsets says; WrongOption when that is nothing."""
    if text is None:
        return Position()
    if text.lower() in ("earliest", "latest"):
        return Position(text.lower())
    if text.isdecimal():
        return Position("time", int(text))
    if text.startswith("{"):
        try:
            return Position("offsets", offsets=read_offsets(json.loads(text)))
        except ValueError as error:
            raise WrongOption(f"option {option!r}: {error}") from None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongOption(
            f"option {option!r} is {text!r}: write earliest, latest, a time like"
            " 2026-01-31T12:00:00Z, milliseconds since 1970, or JSON like"
            ' {"TOPIC": {"BROKER": {"0": 17}}}'
        ) from None
    if moment.tzinfo is None:
        raise WrongOption(f"option {option!r} is {text!r}: say the time zone, such as {text}Z")
    return Position("time", int(moment.timestamp() * 1000))


def read_offsets(value: Any) -> Offsets:
    """Offsets from their JSON's value; ValueError says what is wrong in it."""
    found: Offsets = {}
    for topic, brokers in _items(value, "the whole"):
        for broker, queues in _items(brokers, f"topic {topic!r}"):
            for queue, offset in _items(queues, f"broker {broker!r} of topic {topic!r}"):
                if not queue.isdecimal():
                    raise ValueError(f"{queue!r} of topic {topic!r} is no queue number")
                if type(offset) is not int or offset < EARLIEST:
                    raise ValueError(f"queue {queue} of topic {topic!r}: {offset!r} is no offset")
                found[topic, broker, int(queue)] = offset
    return found


def write_offsets(offsets: Offsets) -> dict[str, dict[str, dict[str, int]]]:
    """The value of the JSON, always in the same order."""
    tree: dict[str, dict[str, dict[str, int]]] = {}
    for (topic, broker, queue), offset in sorted(offsets.items()):
        tree.setdefault(topic, {}).setdefault(broker, {})[str(queue)] = offset
    return tree


def _items(value: Any, what: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object")
    return list(value.items())
