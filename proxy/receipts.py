"""Receipts that are renewed while their clients work, by the newest handle of each (DefaultReceiptHandleManager)."""

from __future__ import annotations

from dataclasses import dataclass

from trimq.proxy.incoming import Popped


@dataclass(slots=True)
class Held:
    """`first`, `newest`: the handle that the client has, and the one that the broker knows."""

    group: str
    topic: str
    message_id: str
    first: str
    newest: str
    since: int
    renewed: int = 0
    failures: int = 0


class Receipts:
    """By client and message."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Held]] = {}

    def add(self, client_id: str, group: str, topic: str, popped: Popped) -> None:
        """The client has it, and works on it."""
        held = Held(group, topic, popped.message_id, popped.handle, popped.handle, 0)
        self._held.setdefault(client_id, {})[popped.handle] = held

    def take(self, client_id: str, handle: str) -> str:
        """The newest handle of that message, which is renewed no more."""
        held = self._held.get(client_id, {}).pop(handle, None)
        return handle if held is None else held.newest
