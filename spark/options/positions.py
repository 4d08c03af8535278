"""Where reading begins and ends: what options say, and offsets of queues as JSON.

The JSON is {"TOPIC": {"BROKER": {"QUEUE": OFFSET}}}, in options, in Spark's checkpoint and in what
a running query reports. In options -2 stands for the earliest offset and -1 for the latest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from trimq.spark.errors import WrongOption
from trimq.spark.options.moments import TIME, checked_millis, parse_time, required_time

EARLIEST: Final = -2
LATEST: Final = -1

# (topic, broker name, queue id)
QueueKey = tuple[str, str, int]
Offsets = dict[QueueKey, int]
# Milliseconds since 1970 by (topic,), (topic, broker name) or (topic, broker name, queue id).
Times = dict[tuple[str, ...] | QueueKey, int]


@dataclass(frozen=True, slots=True)
class Position:
    """`word` is `earliest`, `latest`, `time` (then `millis`), `times`, `offsets`, or empty: not given.

    `strict`: it is an error when a queue has no message of its time or later.
    """

    word: str = ""
    millis: int = 0
    offsets: Offsets = field(default_factory=dict)
    times: Times = field(default_factory=dict)
    strict: bool = False

    def time_of(self, key: QueueKey) -> int | None:
        """The time of a queue, or None if it has none: then it begins where it would without a position."""
        if self.word == "time":
            return self.millis
        topic, broker, _ = key
        places: tuple[tuple[str, ...] | QueueKey, ...] = (key, (topic, broker), (topic,))
        return next((self.times[place] for place in places if place in self.times), None)


def parse_position(option: str, text: str | None) -> Position:
    """What startingOffsets or endingOffsets says; WrongOption when it cannot be read."""
    if text is None:
        return Position()
    if text.lower() in ("earliest", "latest"):
        return Position(text.lower())
    if text.startswith("{"):
        try:
            return Position("offsets", offsets=read_offsets(json.loads(text)))
        except ValueError as error:
            raise WrongOption(f"option {option!r}: {error}") from None
    millis = parse_time(option, text)
    if millis is None:
        raise WrongOption(
            f"option {option!r} is {text!r}: write earliest, latest, {TIME}, or JSON like"
            ' {"TOPIC": {"BROKER": {"0": 17}}}'
        )
    return Position("time", millis)


def parse_times(option: str, text: str) -> Position:
    """What startingOffsetsByTimestamp or its sister says; WrongOption when it cannot be read."""
    times: Times = {}
    try:
        for topic, brokers in _items(_json(text), "the whole"):
            for name, queues in _nested(brokers, (topic,), times, option):
                for queue, value in _nested(queues, (topic, name), times, option):
                    times[topic, name, _queue_id(queue, topic)] = _time(option, value)
    except ValueError as error:
        raise WrongOption(
            f"option {option!r}: {error}; write JSON of times like"
            ' {"TOPIC": {"BROKER": {"0": 1769860800000}}} or {"TOPIC": "2026-01-31T12:00:00Z"}'
        ) from None
    return Position("times", times=times)


def parse_queues(option: str, text: str) -> frozenset[QueueKey]:
    """What assign says; WrongOption when it cannot be read, or names no queue."""
    found: set[QueueKey] = set()
    try:
        for topic, brokers in _items(_json(text), "the whole"):
            for broker, ids in _items(brokers, f"topic {topic!r}"):
                if not isinstance(ids, list):
                    raise ValueError(f"broker {broker!r} of topic {topic!r} has no list of queues")
                found |= {(topic, broker, _queue_id(str(one), topic)) for one in ids}
        if not found:
            raise ValueError("there is no queue in it")
    except ValueError as error:
        raise WrongOption(
            f'option {option!r}: {error}; write JSON like {{"TOPIC": {{"BROKER": [0, 1]}}}}'
        ) from None
    return frozenset(found)


def read_offsets(value: Any) -> Offsets:
    """Offsets from their JSON's value; ValueError says what is wrong in it."""
    found: Offsets = {}
    for topic, brokers in _items(value, "the whole"):
        for broker, queues in _items(brokers, f"topic {topic!r}"):
            for queue, offset in _items(queues, f"broker {broker!r} of topic {topic!r}"):
                number = _queue_id(queue, topic)
                if type(offset) is not int or offset < EARLIEST:
                    raise ValueError(
                        f"queue {queue} of topic {topic!r}: {offset!r} is not an offset"
                    )
                found[topic, broker, number] = offset
    return found


def write_offsets(offsets: Offsets) -> dict[str, dict[str, dict[str, int]]]:
    """The value of the JSON, always in the same order."""
    tree: dict[str, dict[str, dict[str, int]]] = {}
    for (topic, broker, queue), offset in sorted(offsets.items()):
        tree.setdefault(topic, {}).setdefault(broker, {})[str(queue)] = offset
    return tree


def _items(value: Any, what: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")
    return list(value.items())


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"this is not JSON ({error})") from None


def _nested(value: Any, place: tuple[str, ...], times: Times, option: str) -> list[tuple[str, Any]]:
    """What is one level below; nothing if a time stands for everything there."""
    if isinstance(value, dict):
        return list(value.items())
    times[place] = _time(option, value)
    return []


def _time(option: str, value: Any) -> int:
    if type(value) is int and value >= 0:
        return checked_millis(option, value)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a time")
    return required_time(option, value)


def _queue_id(text: str, topic: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} of topic {topic!r} is not a queue number")
    return int(text)
