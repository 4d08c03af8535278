"""Which versions of Spark these sources work with.

Python data sources came with 4.0. Before 4.2 a stream was asked where to end without being told
where it is (`latestOffset()` without arguments), so streams need 4.2. 4.0 refuses to register a
source that it has found by itself, so there it finds none. 4.0 to 4.3 are tested.
"""

from __future__ import annotations

import sys
from typing import Final

MAJOR: Final = 4
STREAMS_SINCE: Final = (4, 2)
FOUND_SINCE: Final = (4, 1)
# The process in which Spark asks for filters; in other processes it refuses a reader that takes
# some.
_PUSHDOWN: Final = "pyspark.sql.worker.data_source_pushdown_filters"


def parsed(version: str) -> tuple[int, int]:
    """`4.3.0` or `4.3.0.dev1` to (4, 3)."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def is_supported(version: str) -> bool:
    return parsed(version)[0] == MAJOR


def has_streams(version: str) -> bool:
    return is_supported(version) and parsed(version) >= STREAMS_SINCE


def may_be_found(version: str) -> bool:
    """Whether a source that Spark finds by itself can be registered as well."""
    return is_supported(version) and parsed(version) >= FOUND_SINCE


def asks_for_filters() -> bool:
    """Whether Spark made this process to ask readers which conditions they take."""
    return _PUSHDOWN in sys.modules
