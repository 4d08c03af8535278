"""What a log record says, taken apart: a sentence and its fields.

Calls look like ``log.info("consumer joined: group=%s client=%s", group, client)``. Each ``name=%s`` is a
field, unless its value is None; the other words are the sentence. Formatters write them as text or
as JSON.
"""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final

_CONVERSION: Final = r"%[-#0 +]*\d*(?:\.\d+)?[a-zA-Z%]"
_PIECE: Final = re.compile(rf"(?:(?P<name>[A-Za-z_][\w.]*)=)?(?P<how>{_CONVERSION})")
# Texts of peers are cut here: they may be as long as a frame.
_LONGEST_VALUE: Final = 256
_LONGEST_SENTENCE: Final = 1024
_LONGEST_TRACEBACK_LINE: Final = 2000
_MOST_ITEMS: Final = 50
# What needs no quotes in a text line.
_PLAIN: Final = re.compile(r"[^\s\"=]+")


@dataclass(slots=True)
class Line:
    """A record's sentence and its fields, in the order in which they were written."""

    sentence: str
    fields: dict[str, Any] = field(default_factory=dict)


def line_of(record: logging.LogRecord) -> Line:
    """Take a record apart. A record that does not fit its template is kept as it is; nothing is raised."""
    if not isinstance(record.msg, str) or not record.args:
        return Line(printable(short(str(record.msg), _LONGEST_SENTENCE)))
    # The standard library takes a lone mapping out of its tuple.
    args = list(record.args) if isinstance(record.args, tuple) else [record.args]
    line = Line("")

    def take(piece: "re.Match[str]") -> str:
        how, name = piece["how"], piece["name"]
        if how == "%%":
            return piece[0].replace("%%", "%")
        value = args.pop(0) if args else "?"
        if name is not None:
            # None is for a field that this event does not have.
            if value is not None:
                line.fields[name] = value if how in {"%s", "%d"} else how % (value,)
            return ""
        return short(str(how % (value,)), _LONGEST_VALUE)

    sentence = _PIECE.sub(take, record.msg)
    line.sentence = printable(" ".join(sentence.split()).rstrip(":, "))
    return line


def short(text: str, most: int) -> str:
    """The beginning of a long text, and how long it is."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def traceback_of(text: str, indent: str = "") -> str:
    """A traceback whose lines cannot be mistaken for anything else, whatever the error's text is."""
    lines = (printable(short(line, _LONGEST_TRACEBACK_LINE)) for line in text.split("\n"))
    return "\n".join(indent + line for line in lines)


def printable(text: str) -> str:
    """The text on one line of visible characters; others are written as escapes."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def time_of(record: logging.LogRecord) -> str:
    """RFC 3339 in milliseconds, with the machine's zone: ``2026-01-31T12:00:00.123+01:00``."""
    moment = datetime.fromtimestamp(record.created).astimezone()
    return moment.isoformat(timespec="milliseconds")


def text_of(value: Any) -> str:
    """A field's value in a text line: as people write it, in quotes if it contains blanks."""
    value = plain(value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = printable(value)
    return text if _PLAIN.fullmatch(text) else '"' + text.replace('"', '\\"') + '"'


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON does not know becomes its text."""
    if isinstance(value, str):
        return short(value, _LONGEST_VALUE)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        some = islice(value.items(), _MOST_ITEMS)
        said = {short(str(key), _LONGEST_VALUE): plain(one) for key, one in some}
        return said if len(value) <= _MOST_ITEMS else {**said, "...": len(value)}
    if isinstance(value, list | tuple | set | frozenset):
        items = [plain(one) for one in islice(value, _MOST_ITEMS)]
        return items if len(value) <= _MOST_ITEMS else [*items, f"... ({len(value)})"]
    return short(str(value), _LONGEST_VALUE)
