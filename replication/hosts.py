"""When something was last said of a host: as many as fit, for anybody may come from anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

MOST: Final = 1000


class Hosts:
    """The newest of them, by host."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def at(self, host: str) -> float:
        return self._times.get(host, -math.inf)

    def note(self, host: str, at: float) -> None:
        self._times.pop(host, None)
        self._times[host] = at
        while len(self._times) > MOST:
            del self._times[next(iter(self._times))]

    def forget(self, host: str) -> None:
        self._times.pop(host, None)

    def since(self, at: float) -> Iterator[str]:
        return (host for host, noted in self._times.items() if noted > at)

    def __len__(self) -> int:
        return len(self._times)
