"""How long sends take: what the commands that measure it have in common."""

import time
from dataclasses import dataclass, field

from trimq.admin.messages.pulling import Place
from trimq.admin.messages.sending import NewMessage, Sent
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run


@dataclass(slots=True)
class RoundTrips:
    """Sends one by one. Times are whole milliseconds; the first one, which connects, is left out of the mean."""

    run: Run
    succeeded: int = 0
    failed: int = 0
    times: list[int] = field(default_factory=list)
    last_failure: Exception | None = None

    def send(self, message: NewMessage, place: Place) -> Sent | None:
        """Send and note how long it took; None when it failed."""
        begin = time.monotonic()
        sent: Sent | None = None
        try:
            sent = self.run.admin.send_to(message, place)
            self.succeeded += 1
        except FAILURES as error:
            self.failed += 1
            self.last_failure = error
        self.times.append(int((time.monotonic() - begin) * 1000))
        return sent

    @property
    def mean(self) -> float | None:
        """Milliseconds; None for fewer than two sends."""
        rest = self.times[1:]
        return sum(rest) / len(rest) if rest else None

    def complain(self) -> None:
        """Say how many failed and why the last one did."""
        if self.last_failure is not None:
            total = self.succeeded + self.failed
            self.run.problem(f"{self.failed} of {total} sends failed: {self.last_failure}")


def mean_text(mean: float | None) -> str:
    """Two decimals, or NaN, as in Java, for nothing divided by nothing."""
    return "NaN" if mean is None else f"{mean:.2f}"
