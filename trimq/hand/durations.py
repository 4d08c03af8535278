"""How a test says how long, and when."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from trimq.hand.operation import HandError

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_MOST: Final = 100 * 366 * 86400.0


def seconds(text: str | float) -> float:
    """`"2h"`, `"1m30s"`, `"500ms"`, or a number of seconds. HandError for anything else, and beyond a century."""
    if isinstance(text, str):
        pieces = _PIECE.findall(text)
        if not pieces or "".join(number + unit for number, unit in pieces) != text.replace(" ", ""):
            raise HandError(
                f"{text!r} does not say how long: write 500ms, 30s, 5m, 2h, 3d, some of them"
                " together (1m30s), or a number of seconds"
            )
        found = sum(float(number) * _UNITS[unit] for number, unit in pieces)
    else:
        found = float(text)
    if not 0 <= found <= _MOST:
        raise HandError(f"{text!r} is too long or below zero: at most 36600 days")
    return found


def moment(text: str) -> int:
    """`"2027-01-01T00:00Z"`: in milliseconds since 1970. HandError without a time zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise HandError(f"{text!r} is not a time: write it like 2027-01-01T00:00Z") from None
    if found.tzinfo is None:
        raise HandError(f"{text!r} does not say its time zone: write it like 2027-01-01T00:00Z")
    return round(found.timestamp() * 1000)
