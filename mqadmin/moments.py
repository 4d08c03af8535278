"""Moments as users write them."""

from datetime import datetime
from typing import Any, Final

import click

MOMENT: Final = "MILLIS|yyyy-MM-dd#HH:mm:ss:SSS"


def moment(value: Any, option: str | None = None) -> int:
    """Milliseconds since 1970, or `yyyy-MM-dd#HH:mm:ss:SSS` in local time.

    `option` is what a failure names, where click does not know it.
    """
    text = str(value).strip()
    try:
        if text.removeprefix("-").isdecimal():
            return _of_a_long(int(text))
        seconds, millis = text.rsplit(":", 1)
        read = datetime.strptime(seconds, "%Y-%m-%d#%H:%M:%S")
        return int(read.timestamp()) * 1000 + int(millis)
    except (ValueError, OverflowError):
        problem = f"{value!r} is neither milliseconds nor yyyy-MM-dd#HH:mm:ss:SSS"
        raise click.BadParameter(problem, param_hint=option) from None


def _of_a_long(millis: int) -> int:
    """Java's and the protocol's times are 64-bit numbers."""
    if not -(1 << 63) <= millis < 1 << 63:
        raise ValueError(millis)
    return millis
