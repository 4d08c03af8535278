"""How long writes to the log take, per message, minute by minute (StoreStatsService).

What tools are shown is the last whole minute.
"""

from bisect import bisect_left, bisect_right
from typing import Final

# Milliseconds; a message belongs to the first bound that is greater.
_BOUNDS: Final = (1, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)
_NAMES: Final = (
    *("[<=0ms]", "[0~10ms]", "[10~50ms]", "[50~100ms]", "[100~200ms]", "[200~500ms]"),
    *("[500ms~1s]", "[1~2s]", "[2~3s]", "[3~4s]", "[4~5s]", "[5~10s]", "[10s~]"),
)
# Finer, for percentiles: a message belongs to the first step that is not smaller.
_STEPS: Final[tuple[int, ...]] = (
    *range(1, 21),
    *range(22, 51, 2),
    *range(55, 101, 5),
    *range(110, 201, 10),
    *range(250, 501, 50),
    *range(600, 1001, 100),
    *range(2000, 10_001, 1000),
    (1 << 63) - 1,
)


class PutTimes:
    """`longest` is of all since the start, in milliseconds."""

    def __init__(self) -> None:
        self.longest = 0
        self._counts = [0] * len(_NAMES)
        self._fine = [0] * len(_STEPS)
        self._last: list[int] | None = None
        self._last_fine: list[int] = []

    def add(self, millis: int, messages: int) -> None:
        """One write and how many messages it stored."""
        self.longest = max(self.longest, millis)
        self._counts[bisect_right(_BOUNDS, millis)] += messages
        self._fine[bisect_left(_STEPS, millis)] += messages

    def turn(self) -> None:
        """A minute is over."""
        self._last, self._counts = self._counts, [0] * len(_NAMES)
        self._last_fine, self._fine = self._fine, [0] * len(_STEPS)

    def distribution(self) -> str:
        """`[<=0ms]:12 [0~10ms]:3 ... `; `null` in the first minute."""
        if self._last is None:
            return "null"
        counted = zip(_NAMES, self._last, strict=True)
        return "".join(f"{name}:{count} " for name, count in counted)

    def percentile(self, share: float) -> float:
        """Milliseconds within which this share of the messages was stored, between two steps in proportion."""
        wanted = int(sum(self._last_fine) * share)
        passed = 0
        for number, count in enumerate(self._last_fine):
            if wanted <= passed + count:
                below = _STEPS[number - 1] if number else 0
                part = (wanted - passed) / count if count else 0.0
                return below + (_STEPS[number] - below) * part
            passed += count
        return 0.0
