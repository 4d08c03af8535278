"""The server's process from a Python test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from trimq.hand.client import HandAway, HandClient
from trimq.hand.operation import HandError

_PATIENCE_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.005


class ServerProcess:
    """Kills it and starts it again."""

    def __init__(self, client: HandClient) -> None:
        self._client = client

    def kill(self, away: str | float | None = None) -> None:
        """As kill -9 does, done when it returns. It starts again after `away`, or by `restart`."""
        run = self._state()["run"]
        self._client.call("server/kill", away=away)
        self._until(lambda state: bool(state["run"] != run), "killed")

    def restart(self) -> None:
        """Over the same store, on the same ports: after a kill, or else a clean stop. It serves when this returns."""
        run = self._state()["run"]
        self._client.call("server/restart")
        self._until(lambda state: bool(state["serves"] and state["run"] != run), "started")

    def seed(self, number: int) -> None:
        """From now on the server draws from this seed: with a frozen clock, the same requests have the same outcome."""
        self._client.call("server/seed", seed=number)

    def wait_until_it_serves(self) -> None:
        """After a kill with a time to be away."""
        self._until(lambda state: bool(state["serves"]), "started")

    def _state(self) -> dict[str, Any]:
        found: dict[str, Any] = self._client.call("server/state")
        return found

    def _until(self, is_so: Callable[[dict[str, Any]], bool], what: str) -> None:
        ends = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < ends:
            try:
                if is_so(self._state()):
                    return
            except HandAway:
                # Between two programs nobody listens.
                pass
            time.sleep(_PAUSE_SECONDS)
        raise HandError(f"the server was not {what} within {_PATIENCE_SECONDS:g} s; see its log")
