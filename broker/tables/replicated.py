"""How a slave's table follows its master's (SlaveSynchronize): what of an answer is taken over.

| version of the master's table | what is taken over                                            |
|-------------------------------|---------------------------------------------------------------|
| as this table's               | nothing: they are the same                                    |
| newer, or other               | every entry                                                   |
| older                         | entries that are missing here: its file is an older one again |

An entry that the master does not have stays in any case: it may be the master that has lost it, and then this is
the last copy. (RocketMQ's slaves become what the master has.)
"""

from __future__ import annotations

import logging
from enum import Enum
from typing import Final

import msgspec

from trimq.broker.tables.data_version import is_older
from trimq.codec.bodies.topics import DataVersion

log: Final = logging.getLogger("trimq.broker")


class Take(Enum):
    NOTHING = "nothing"
    MISSING = "missing"
    ALL = "all"


class Replicated:
    """Of one table; says once of each older version that it is one."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._told: DataVersion | None = None

    def take(self, master: DataVersion, own: DataVersion) -> Take:
        if master == own:
            return Take.NOTHING
        if not is_older(master, own):
            return Take.ALL
        if master != self._told:
            self._told = msgspec.structs.replace(master)
            log.warning(
                f"the master's {self._what} are older than this slave's: what is missing here is taken over, the rest"
                " stays: changes=%d here=%d",
                master.counter,
                own.counter,
            )
        return Take.MISSING
