"""The server's time from a Python test."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from trimq.hand.client import HandClient
from trimq.hand.operation import HandError


@dataclass(frozen=True, slots=True)
class NextDue:
    """What happens next by the server's clock."""

    what: str
    time: datetime
    in_seconds: float


class ServerTime:
    """Moves the clock of a server; clients have their own, which nobody moves."""

    def __init__(self, client: HandClient) -> None:
        self._client = client

    def now(self) -> datetime:
        return _moment(self._client.call("time/now")["millis"])

    def millis(self) -> int:
        """For times that a message carries, in ms since 1970."""
        return int(self._client.call("time/now")["millis"])

    def advance(self, by: str | float | timedelta) -> datetime:
        """By "2h", "1m30s", "500ms" or so many seconds. What is due up to then has been stored when it returns."""
        if isinstance(by, timedelta):
            by = by.total_seconds()
        return _moment(self._client.call("time/advance", by=by)["millis"])

    def to(self, when: str | datetime) -> datetime:
        """To a time that has a time zone. HandError for one that is over."""
        said = when if isinstance(when, str) else when.isoformat()
        return _moment(self._client.call("time/to", time=said)["millis"])

    def step(self) -> datetime:
        """To the next thing that is due. HandError if there is none."""
        return _moment(self._client.call("time/step")["millis"])

    def advance_until(
        self, condition: Callable[[], Any], timeout: float = 10.0, pause: float = 0.002
    ) -> Any:
        """From one thing that is due to the next, until the condition is true: what it returned.

        Clients have real time in between, for what they do. HandError after `timeout` seconds of real time.
        """
        ends = time.monotonic() + timeout
        while not (found := condition()):
            if time.monotonic() > ends:
                raise HandError(f"not so after {timeout:g} s, it is {self.now()} at the server")
            if (due := self.next()) is not None:
                self.advance(max(due.in_seconds, 0))
            time.sleep(pause)
        return found

    def next(self) -> NextDue | None:
        """None: nothing within a year."""
        found = self._client.call("time/next")
        if found is None:
            return None
        return NextDue(found["what"], _moment(found["millis"]), found["in_seconds"])

    def freeze(self) -> datetime:
        return _moment(self._client.call("time/freeze")["millis"])

    def resume(self) -> datetime:
        return _moment(self._client.call("time/resume")["millis"])

    def speed(self, times: float) -> datetime:
        """So many times as fast as real time."""
        return _moment(self._client.call("time/speed", times=times)["millis"])


def _moment(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)
