"""One line for a message, as `tail` prints it: our own layout, a format string, or JSON."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import click

from trimq.admin.messages.message import Message
from trimq.codec.java.moments import local_time
from trimq.codec.records import property_keys
from trimq.mqadmin.text.messages import message_value

BODIES: Final = ("text", "json", "hex", "none")
"""How bodies are shown: as UTF-8, as JSON on one line, as hexadecimal digits, not at all."""

LETTERS: Final[dict[str, str]] = {
    "%b": "body",
    "%t": "topic",
    "%g": "tag",
    "%k": "keys",
    "%B": "broker",
    "%q": "queue",
    "%o": "offset",
    "%i": "message id",
    "%I": "offset id",
    "%s": "when it was stored",
    "%S": "the same in milliseconds",
    "%c": "when it was created",
    "%C": "the same in milliseconds",
    "%h": "producer's address",
    "%p": "properties",
    "%{NAME}": "one property",
    "%l": "length of the body in bytes",
    "%r": "how often it was consumed again",
    "%%": "%",
}
"""What a format string can ask for."""

_ESCAPES: Final = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}
# Written by the client that reads, about the queue.
_OF_THE_QUEUE: Final = (property_keys.MIN_OFFSET, property_keys.MAX_OFFSET)

_Part = Callable[[Message], str]


@dataclass(frozen=True, slots=True)
class Lines:
    """How to show a message: a way to show bodies, a format (None: our own layout), properties or not."""

    body: str = "text"
    parts: tuple[_Part, ...] | None = None
    with_properties: bool = False

    def line(self, message: Message) -> str:
        """The message as text, with its line end unless a format ends with \\c."""
        if self.parts is not None:
            return "".join(part(message) for part in self.parts)
        pieces = [
            local_millis(message.store_timestamp),
            f"{message.broker_name}/{message.queue_id}@{message.queue_offset}",
        ]
        if message.tags:
            pieces.append(f"tag={message.tags}")
        if message.keys:
            pieces.append(f"keys={message.keys}")
        if self.with_properties:
            pieces.append(f"{{{properties_text(message)}}}")
        pieces.append(body_text(message.body, self.body))
        return "  ".join(pieces) + "\n"

    def value(self, message: Message) -> dict[str, Any]:
        """The message for JSON; `bodyEncoding` says what `body` is."""
        value = message_value(message)
        value["properties"] = _properties(message)
        value["body"], value["bodyEncoding"] = _body_value(message.body, self.body)
        return value


def body_text(body: bytes, kind: str) -> str:
    """A body in one of the ways of BODIES. What is not JSON becomes a JSON string."""
    if kind == "none":
        return ""
    if kind == "hex":
        return body.hex()
    text = body.decode("utf-8", "replace")
    if kind == "text":
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)


def _body_value(body: bytes, kind: str) -> tuple[Any, str]:
    if kind == "none":
        return None, "none"
    if kind == "hex":
        return body.hex(), "hex"
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), "base64"
    if kind == "json":
        try:
            return json.loads(text), "json"
        except (ValueError, RecursionError):
            pass
    return text, "text"


def properties_text(message: Message) -> str:
    """`a=1, b=2`, by name."""
    return ", ".join(f"{name}={value}" for name, value in sorted(_properties(message).items()))


def _properties(message: Message) -> dict[str, str]:
    return {key: text for key, text in message.properties.items() if key not in _OF_THE_QUEUE}


def local_millis(millis: int) -> str:
    """`2026-01-31 23:59:59.999` in local time."""
    return local_time(millis, point=".")


def read_format(text: str, body: str) -> tuple[_Part, ...]:
    """The parts of a format string; a usage error names an unknown part.

    A line end is added, unless the string ends with `\\c`.
    """
    parts: list[_Part] = []
    ends_line = not text.endswith("\\c")
    text = text.removesuffix("\\c")
    at = 0
    while at < len(text):
        part, at = _part_at(text, at, body)
        parts.append(part)
    if ends_line:
        parts.append(_constant("\n"))
    return tuple(parts)


def _part_at(text: str, at: int, body: str) -> tuple[_Part, int]:
    """The part that begins at a position, and where the next one does."""
    letter = text[at + 1 : at + 2]
    if text[at] == "\\" and letter in _ESCAPES:
        return _constant(_ESCAPES[letter]), at + 2
    if text[at] != "%":
        return _constant(text[at]), at + 1
    if letter == "{":
        end = text.find("}", at)
        if end > at + 2:
            return _property(text[at + 2 : end]), end + 1
    elif letter in _FIELDS or letter in ("b", "%"):
        return _field(letter, body), at + 2
    known = ", ".join(f"{code} {meaning}" for code, meaning in LETTERS.items())
    raise click.UsageError(f"--format: {text[at : at + 2]!r} is not one of {known}")


def _constant(text: str) -> _Part:
    return lambda message: text


def _property(name: str) -> _Part:
    return lambda message: message.properties.get(name, "")


def _field(letter: str, body: str) -> _Part:
    if letter == "%":
        return _constant("%")
    if letter == "b":
        return lambda message: body_text(message.body, body)
    return _FIELDS[letter]


_FIELDS: Final[dict[str, _Part]] = {
    "t": lambda message: message.topic,
    "g": lambda message: message.tags or "",
    "k": lambda message: message.keys or "",
    "B": lambda message: message.broker_name or "",
    "q": lambda message: str(message.queue_id),
    "o": lambda message: str(message.queue_offset),
    "i": lambda message: message.message_id,
    "I": lambda message: message.offset_id,
    "s": lambda message: local_millis(message.store_timestamp),
    "S": lambda message: str(message.store_timestamp),
    "c": lambda message: local_millis(message.born_timestamp),
    "C": lambda message: str(message.born_timestamp),
    "h": lambda message: message.born_host,
    "p": properties_text,
    "l": lambda message: str(len(message.body)),
    "r": lambda message: str(message.reconsume_times),
}
