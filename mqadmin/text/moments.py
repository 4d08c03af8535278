"""Moments as users write them: in every form in which mqadmin prints them, ISO 8601, or before now."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from trimq.codec.java.moments import local_seconds
from trimq.mqadmin.output import complain

MOMENT: Final = "TIME"
FORMS: Final = "now, -1h30m, 2026-01-31T12:00:00Z, '2026-01-31 12:00:00', 2026-01-31#12:00:00:000, milliseconds"
"""What a TIME can be; without a zone it is local."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = {
    "w": "weeks",
    "d": "days",
    "h": "hours",
    "m": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
}
_PART: Final = r"(\d{1,9})(ms|[wdhms])"
_FROM_NOW: Final = re.compile(rf"[+-](?:{_PART})+", re.IGNORECASE)
# As in consumerStatus: 20260131235959999.
_COMPACT_DIGITS: Final = 17
_CLOCKS_DIFFER: Final = 1000


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def moment(value: Any, option: str | None = None) -> int:
    """Milliseconds since 1970 of a text in one of FORMS.

    `option` is what a failure names, where click does not know it.
    """
    text = str(value).strip()
    try:
        return _millis(text)
    except (ValueError, OverflowError):
        problem = f"{value!r} is not a time: {FORMS}"
        raise click.BadParameter(problem, param_hint=option) from None


def start_moment(value: Any) -> int:
    """A moment from which on something is looked for; says so when it lies in the future."""
    millis = moment(value)
    say_if_future(millis, "nothing has been stored since then")
    return millis


def say_if_future(millis: int, consequence: str) -> None:
    """A sentence on standard error when a moment is later than now."""
    if millis > now() + _CLOCKS_DIFFER:
        complain(f"{_shown(millis)} lies in the future: {consequence}", "yellow")


def _shown(millis: int) -> str:
    try:
        return local_seconds(millis)
    except (ValueError, OverflowError, OSError):
        return str(millis)


def _millis(text: str) -> int:
    if text.lower() == "now":
        return now()
    if text.removeprefix("-").isdecimal():
        return _of_a_long(_of_digits(text))
    if _FROM_NOW.fullmatch(text):
        return _from_now(text)
    if "#" in text:
        seconds, millis = text.rsplit(":", 1)
        read = datetime.strptime(seconds, "%Y-%m-%d#%H:%M:%S")
        return int(read.timestamp()) * 1000 + int(millis)
    return _since_epoch(datetime.fromisoformat(text.upper()))


def _of_digits(text: str) -> int:
    if len(text) == _COMPACT_DIGITS and text.startswith(("19", "20")):
        read = datetime.strptime(text[:14], "%Y%m%d%H%M%S")
        return _since_epoch(read) + int(text[14:])
    return int(text)


def _from_now(text: str) -> int:
    parts = re.findall(_PART, text, re.IGNORECASE)
    span = sum(
        (timedelta(**{_UNITS[unit.lower()]: int(count)}) for count, unit in parts), timedelta()
    )
    millis = span // timedelta(milliseconds=1)
    return now() + (millis if text.startswith("+") else -millis)


def _since_epoch(read: datetime) -> int:
    return (read.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)


def _of_a_long(millis: int) -> int:
    """Java's and the protocol's times are 64-bit numbers."""
    if not -(1 << 63) <= millis < 1 << 63:
        raise ValueError(millis)
    return millis
