"""What a mutant is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A mistake, how it gets in, and what must turn red by it: scenarios of the Java driver, unit tests.

    Servers that a unit test starts make the mistake too (tests/trimq/replication/pair.py).
    """

    name: str
    mistake: str
    patch: Callable[[], None]
    red: tuple[str, ...] = ()
    # Only a kill at the right moment would show it to a client.
    tests: tuple[str, ...] = ()


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    setattr(owner, name, make(getattr(owner, name)))
