"""Moments as users write them."""

from datetime import datetime
from typing import Any, Final

import click

MOMENT: Final = "MILLIS|yyyy-MM-dd#HH:mm:ss:SSS"


def moment(value: Any) -> int:
    """Milliseconds since 1970, or `yyyy-MM-dd#HH:mm:ss:SSS` in local time."""
    text = str(value).strip()
    if text.lstrip("-").isdecimal():
        return int(text)
    try:
        seconds, millis = text.rsplit(":", 1)
        read = datetime.strptime(seconds, "%Y-%m-%d#%H:%M:%S")
        return int(read.timestamp()) * 1000 + int(millis)
    except ValueError:
        problem = f"{value!r} is neither milliseconds nor yyyy-MM-dd#HH:mm:ss:SSS"
        raise click.BadParameter(problem) from None
