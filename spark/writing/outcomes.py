"""What became of rows that were to be written: counted in tasks, judged once in the driver.

A row that can never be sent must not fail its task: Spark would run the task again, up to four times,
and send its good rows each time. So tasks report such rows in their commit message.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from pyspark.sql.datasource import WriterCommitMessage

from trimq.spark.errors import SparkSourceError

log: Final = logging.getLogger("trimq.spark")

# Reasons that are reported; rows with other reasons are only counted.
_TOLD: Final = 3
_KEPT: Final = 20
# Characters of a row's keys and of a reason that are reported.
_KEYS: Final = 40
_REASON: Final = 160


class Tally:
    """Rows that were not stored: how many, for which reasons, and the first row of each reason."""

    def __init__(self) -> None:
        self.count = 0
        self._reasons: dict[str, tuple[str, int]] = {}

    def add(self, reason: str, row: int, keys: str | None) -> None:
        """One more; `row` is its number in its partition, from 1 on."""
        named = f" (keys {_short(keys, _KEYS)!r})" if keys else ""
        self.count += 1
        self._put(_short(reason, _REASON), f"row {row}{named}", 1)

    def put(self, other: Tally, where: str = "") -> None:
        """Everything from another one; `where` is put in front of its rows."""
        self.count += other.count
        for reason, (first, count) in other._reasons.items():
            self._put(reason, f"{where}{first}", count)

    def _put(self, reason: str, first: str, count: int) -> None:
        known = self._reasons.get(reason)
        if known is not None:
            self._reasons[reason] = known[0], known[1] + count
        elif len(self._reasons) < _KEPT:
            self._reasons[reason] = first, count

    def __str__(self) -> str:
        told = [
            f"{first}: {reason}" + (f" (and {count - 1} more)" if count > 1 else "")
            for reason, (first, count) in list(self._reasons.items())[:_TOLD]
        ]
        return "; ".join(told)


class Written(WriterCommitMessage):
    """What became of a task's rows: `stored`, not a valid message (`bad`), or `refused`."""

    def __init__(self, stored: int, bad: Tally, refused: Tally) -> None:
        self.stored = stored
        self.bad = bad
        self.refused = refused


def conclude(messages: Iterable[WriterCommitMessage | None], skip_bad_rows: bool) -> None:
    """Returns if all rows are stored, else raises SparkSourceError.

    `skip_bad_rows`: rows that are not messages cause a warning. What a broker refuses for other
    reasons fails all the same.
    """
    stored, bad, failed = 0, Tally(), Tally()
    for partition, message in enumerate(messages):
        if isinstance(message, Written):
            stored += message.stored
            bad.put(message.bad, f"partition {partition}, ")
            failed.put(message.refused, f"partition {partition}, ")
    if not skip_bad_rows:
        failed.put(bad)
    elif bad.count:
        log.warning("%s", _sentence(bad, stored, "were skipped"))
    if failed.count:
        raise SparkSourceError(_sentence(failed, stored, "could not be sent"))


def _sentence(tally: Tally, stored: int, what: str) -> str:
    return f"{tally.count} rows {what} and {stored} were stored: {tally}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
