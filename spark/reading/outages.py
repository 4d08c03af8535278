"""What is an outage, what is a loss, and what is final: decided here and nowhere else.

- An outage passes: a server that does not answer, or that is busy. Reading waits for it to pass,
  with growing pauses up to a limit, and logs it twice: when it begins and when it has passed.
- A loss does not: messages that were there when a job was planned are gone. It fails the job, or with
  failOnDataLoss=false causes a warning that counts them.
- Everything else that a server says is final: asking again would not help.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from trimq.admin.errors import AdminError, Refused
from trimq.codec.codes import ResponseCode
from trimq.remoting.errors import TransportError
from trimq.spark.errors import DataLost, SparkSourceError
from trimq.spark.queues import Range

log: Final = logging.getLogger("trimq.spark")

R = TypeVar("R")

# Seconds before the second question, and the longest pause between two.
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0

# What the real broker says to pulls while it shuts down, with the code for any failure.
_LEAVING: Final = "store getMessage return null"
_PASSING: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE})


class Away(TransportError):
    """The server that should answer is not registered with the NameServer: that passes."""


def is_outage(error: Exception) -> bool:
    """Whether asking again later may help."""
    if isinstance(error, Refused):
        return error.code in _PASSING or _LEAVING in error.remark
    return isinstance(error, TransportError)


class Patience:
    """How much longer to wait for one thing that is away. Never sleeps itself.

    `limit` is in seconds, from the first failure on. 0: an outage fails at once.
    """

    def __init__(self, what: str, limit: float, now: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._limit = limit
        self._now = now
        self._since: float | None = None
        self._pause = _FIRST_PAUSE

    def failed(self, error: Exception) -> float:
        """Seconds to wait before the next try; SparkSourceError when the limit is reached."""
        now = self._now()
        if self._since is None:
            self._since = now
            self._pause = _FIRST_PAUSE
            if self._limit > 0:
                log.warning("%s: %s; waiting up to %g s", self._what, error, self._limit)
        left = self._since + self._limit - now
        if left <= 0:
            waited = f"; waited {now - self._since:.0f} s (option outageTimeoutMs)"
            raise SparkSourceError(f"{self._what}: {error}{waited if self._limit else ''}")
        pause = min(self._pause, left)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return pause

    def fine(self) -> None:
        """It has answered."""
        if self._since is not None:
            log.warning("%s: continues after %.1f s", self._what, self._now() - self._since)
            self._since = None


def patiently(what: str, limit: float, ask: Callable[[], R]) -> R:
    """What `ask` returns; it is called again while that fails by an outage.

    `what` begins the sentence of a failure. SparkSourceError when the outage lasts longer than
    `limit` seconds; anything that is not an outage is raised as it is.
    """
    patience = Patience(what, limit)
    while True:
        try:
            found = ask()
        except (AdminError, TransportError) as error:
            if not is_outage(error):
                raise
            time.sleep(patience.failed(error))
        else:
            patience.fine()
            return found


def lost(gone: Range, why: str, fail: bool, count: int | None = None) -> None:
    """DataLost if that is wanted, else a warning that says how many messages were lost.

    `count` is given if not all of the range is lost.
    """
    if fail:
        raise DataLost(f"{gone}: {why}. Option failOnDataLoss=false goes on with what is there")
    number = gone.count if count is None else count
    log.warning("%s: %s; %d messages lost, going on with what is there", gone, why, number)


def deleted(what: str, fail: bool) -> None:
    """DataLost if that is wanted, else a warning: queues are gone, with messages that nobody can count."""
    if fail:
        raise DataLost(f"{what}. Option failOnDataLoss=false goes on with what is there")
    log.warning("%s; going on with what is there", what)
