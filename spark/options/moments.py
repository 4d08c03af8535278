"""Times and durations in options: `2026-01-31T12:00:00Z`, milliseconds since 1970, `15m`."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from trimq.spark.errors import WrongOption

TIME: Final = "a time like 2026-01-31T12:00:00Z or milliseconds since 1970"
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(rf"(\d{{1,9}}) ?({'|'.join(_SECONDS)})", re.ASCII)


def parse_time(option: str, text: str) -> int | None:
    """Milliseconds since 1970, or None if this is not a time. WrongOption for one without a time zone."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        raise WrongOption(
            f"option {option!r} is {text!r}: say the time zone, such as {moment.isoformat()}Z"
        )
    return int(moment.timestamp() * 1000)


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
