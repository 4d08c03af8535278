"""What is played today although it could be left out: names by their hash, and the day."""

from __future__ import annotations

import datetime
import zlib
from typing import Final

PARTS: Final = 10


def is_of_the_day(name: str, today: datetime.date | None = None) -> bool:
    """Another tenth of all names every day."""
    day = (today or datetime.date.today()).toordinal()
    return (zlib.crc32(name.encode()) + day) % PARTS == 0


def is_for_the_plain_build(name: str, today: datetime.date | None = None) -> bool:
    """Where a compiled build plays everything, the plain one of the same sources plays these: a tenth that is
    always the same, and that of the day.
    """
    return zlib.crc32(name.encode()) % PARTS == 1 or is_of_the_day(name, today)
