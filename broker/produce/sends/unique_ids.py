"""Message ids for producers that send none; codec/records/unique_id.py says what is in them.

Hot: compiled by mypyc when a compiler is there.
"""

import os
import secrets
import time

from trimq.codec.records.unique_id import LOADER_SIZE, id_end, id_start


class UniqueIds:
    """Generates ids that no other broker or producer generates. `address` is ours, packed."""

    def __init__(self, address: bytes) -> None:
        self._start = id_start(address, os.getpid(), secrets.token_bytes(LOADER_SIZE))
        self._count = 0
        self._month_begins = 0
        self._month_ends = 0

    def next(self, now_millis: int) -> str:
        if not self._month_begins <= now_millis < self._month_ends:
            self._month_begins, self._month_ends = _month_around(now_millis)
        count = self._count
        self._count = (count + 1) & 0xFFFF
        return self._start + id_end(now_millis - self._month_begins, count)


def _month_around(now_millis: int) -> tuple[int, int]:
    """First millisecond of this month and of the next."""
    date = time.localtime(now_millis / 1000)
    begins = time.mktime((date.tm_year, date.tm_mon, 1, 0, 0, 0, 0, 0, -1))
    ends = time.mktime((date.tm_year, date.tm_mon + 1, 1, 0, 0, 0, 0, 0, -1))
    return int(begins * 1000), int(ends * 1000)
