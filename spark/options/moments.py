"""Times and durations in options: `2026-01-31T12:00:00Z`, milliseconds since 1970, `15m`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from trimq.spark.errors import WrongOption

TIME: Final = "a time like 2026-01-31T12:00:00Z or milliseconds since 1970"
# From 1973 to 5138 in another unit: no milliseconds that anybody means.
_OTHER_UNITS: Final = (
    ("seconds", 1000, 10**8, 10**11),
    ("microseconds", 0.001, 10**14, 10**17),
    ("nanoseconds", 0.000_001, 10**17, 10**20),
)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(rf"(\d{{1,9}}) ?({'|'.join(_SECONDS)})", re.ASCII)


def parse_time(option: str, text: str) -> int | None:
    """Milliseconds since 1970, or None if this is not a time. WrongOption for one without a time zone."""
    if text.isdecimal():
        return checked_millis(option, int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        raise WrongOption(
            f"option {option!r} is {text!r}: say the time zone, such as {moment.isoformat()}Z"
        )
    return int(moment.timestamp() * 1000)


def checked_millis(option: str, millis: int) -> int:
    """The same. WrongOption for what can only be seconds, or microseconds, since 1970."""
    for unit, factor, low, high in _OTHER_UNITS:
        if low <= millis < high:
            meant = int(millis * factor)
            moment = datetime.fromtimestamp(meant / 1000, UTC).isoformat().replace("+00:00", "Z")
            raise WrongOption(
                f"option {option!r} is {str(millis)!r}: times are milliseconds since 1970, and these look like {unit};"
                f" {meant} would be {moment}"
            )
    return millis


def required_time(option: str, text: str) -> int:
    """Milliseconds since 1970. WrongOption when it is not a time."""
    millis = parse_time(option, text)
    if millis is None:
        raise WrongOption(f"option {option!r} is {text!r}: write {TIME}")
    return millis


def parse_duration(option: str, text: str) -> float:
    """Seconds. WrongOption when it is not a duration."""
    found = _DURATION.fullmatch(text.lower())
    if found is None:
        raise WrongOption(
            f"option {option!r} is {text!r}: write a duration like 500ms, 30s, 15m or 1h"
        )
    return int(found[1]) * _SECONDS[found[2]]
