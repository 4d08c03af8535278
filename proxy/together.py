"""Many who want the same at the same time ask for it once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, Never, TypeVar

import trio

V = TypeVar("V")


@dataclass(slots=True)
class _Asking(Generic[V]):
    """`found`: what came of it, if whoever asked was not cancelled."""

    over: trio.Event = field(default_factory=trio.Event)
    found: Callable[[], V] | None = None


class Together(Generic[V]):
    """`ask` gets a name; what it raises is raised to all who wait for that name."""

    def __init__(self, ask: Callable[[str], Awaitable[V]]) -> None:
        self._ask = ask
        self._asking: dict[str, _Asking[V]] = {}

    def is_asking(self, name: str) -> bool:
        return name in self._asking

    async def get(self, name: str) -> V:
        """Asked now, or by somebody who has begun already."""
        while (asking := self._asking.get(name)) is not None:
            await asking.over.wait()
            if asking.found is not None:
                return asking.found()
        asking = self._asking[name] = _Asking()
        try:
            value = await self._ask(name)
        except Exception as error:
            asking.found = _raises(error)
            raise
        else:
            asking.found = lambda: value
            return value
        finally:
            del self._asking[name]
            asking.over.set()


def _raises(error: Exception) -> Callable[[], Never]:
    def found() -> Never:
        raise error

    return found
