"""Message ids for producers that send none (MessageClientIDSetter.createUniqID).

Upper-case hex of: address (4 or 16 bytes), process id (2), a number of this start (4, there the
class loader's hash), milliseconds since the month began in local time (4), a counter (2).
"""

import os
import secrets
import struct
import time

_CHANGING = struct.Struct(">IH")


class UniqueIds:
    """Gives out ids that no other broker or producer gives out. `address` is ours, packed."""

    def __init__(self, address: bytes) -> None:
        start = struct.pack(">H4s", os.getpid() & 0xFFFF, secrets.token_bytes(4))
        self._prefix = (address + start).hex().upper()
        self._count = 0
        self._month_begins = 0
        self._month_ends = 0

    def next(self, now_millis: int) -> str:
        if not self._month_begins <= now_millis < self._month_ends:
            self._month_begins, self._month_ends = _month_around(now_millis)
        count = self._count
        self._count = (count + 1) & 0xFFFF
        elapsed = (now_millis - self._month_begins) & 0xFFFFFFFF
        return self._prefix + _CHANGING.pack(elapsed, count).hex().upper()


def _month_around(now_millis: int) -> tuple[int, int]:
    """First millisecond of this month and of the next."""
    date = time.localtime(now_millis / 1000)
    begins = time.mktime((date.tm_year, date.tm_mon, 1, 0, 0, 0, 0, 0, -1))
    ends = time.mktime((date.tm_year, date.tm_mon + 1, 1, 0, 0, 0, 0, 0, -1))
    return int(begins * 1000), int(ends * 1000)
