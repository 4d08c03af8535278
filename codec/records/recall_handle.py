"""The handle by which a timer message can be recalled (RecallMessageHandle).

`v1 TOPIC BROKER TIME UNIQ_KEY` as UTF-8 in URL-safe base64 with padding. TIME is the message's TIMER_OUT_MS
plus one: rounded down to a slot again, it is the message's own.
"""

import base64
import re
from dataclasses import dataclass
from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.java.numbers import parse_long

_VERSION: Final = "v1"
_FIELDS: Final = 5
# Base64.getUrlDecoder: padding may be left out, nothing else may be in it.
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?")


class BadHandle(Exception):
    """The text is no handle (DecoderException)."""


@dataclass(frozen=True, slots=True)
class RecallHandle:
    """`time_text` as it stands in the handle; `unique` is the target's UNIQ_KEY."""

    topic: str
    broker: str
    time_text: str
    unique: str


def build_recall_handle(topic: str, broker: str, out_ms_text: str, unique: str) -> str:
    """The handle of a message with this TIMER_OUT_MS; CodecError when that is no number."""
    out_ms = parse_long(out_ms_text)
    if out_ms is None:
        raise CodecError(f"TIMER_OUT_MS is not a whole number: {out_ms_text[:40]!r}")
    text = f"{_VERSION} {topic} {broker} {out_ms + 1} {unique}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def parse_recall_handle(handle: str) -> RecallHandle:
    """BadHandle: it cannot be one. CodecError: the real broker fails on it."""
    if not handle or _BASE64.fullmatch(handle) is None:
        raise BadHandle
    padded = handle.rstrip("=") + "=" * (-len(handle.rstrip("=")) % 4)
    text = base64.urlsafe_b64decode(padded).decode(errors="replace")
    # String.split drops what is empty at the end.
    items = text.rstrip(" ").split(" ")
    if text and items == [""]:
        raise CodecError("the recall handle has nothing but blanks")
    if items[0] != _VERSION or len(items) < _FIELDS:
        raise BadHandle
    return RecallHandle(*items[1:_FIELDS])


def delete_key(topic: str, unique: str, with_topic: bool) -> str:
    """How a recall names its message (TimerMessageStore.buildDeleteKey)."""
    return f"{topic}+{unique}" if with_topic else unique
