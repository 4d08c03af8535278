"""Milliseconds since 1970 as local time, for every number that a Java `long` may be (UtilAll, SimpleDateFormat).

`datetime` ends with the year 9999; a broker that is told, or tells, a later one is no reason to fail.
"""

import time
from typing import Final

_LONG: Final = 2**63


def _local(millis: int) -> tuple[time.struct_time, int, int]:
    """Local time, its year as Java counts it (before the year 1 from there), and the milliseconds."""
    if not -_LONG <= millis < _LONG:
        millis = -_LONG if millis < 0 else _LONG - 1
    seconds, rest = divmod(millis, 1000)
    moment = time.localtime(seconds)
    year = moment.tm_year
    return moment, year if year > 0 else 1 - year, rest


def local_seconds(millis: int, between: str = " ") -> str:
    """`2026-01-31 23:59:59`; `between` stands between day and time."""
    return local_time(millis, between, "")[:-3]


def local_time(millis: int, between: str = " ", point: str = ",") -> str:
    """`2026-01-31 23:59:59,999` (UtilAll.timeMillisToHumanString2)."""
    moment, year, rest = _local(millis)
    return (
        f"{year:04d}-{moment.tm_mon:02d}-{moment.tm_mday:02d}{between}"
        f"{moment.tm_hour:02d}:{moment.tm_min:02d}:{moment.tm_sec:02d}{point}{rest:03d}"
    )


def compact_time(millis: int) -> str:
    """`20260131235959999` (UtilAll.timeMillisToHumanString)."""
    return "".join(filter(str.isdigit, local_time(millis)))


def duration(millis: float) -> str:
    """How long: `0`, `12.3s`, `4m05s`, `2h01m`, `3d04h`."""
    seconds = int(millis // 1000)
    if seconds < 60:
        return f"{millis / 1000:.1f}s" if millis else "0"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 60:
        return f"{minutes}m{seconds % 60:02d}s"
    if hours < 24:
        return f"{hours}h{minutes % 60:02d}m"
    return f"{days}d{hours % 24:02d}h"
