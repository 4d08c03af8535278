"""Chance in the hand of a test: with the same seed, a frozen clock and the same requests, a server does the same.

It draws which queue a retry goes to, where a pop begins to look, and how much later some looks come. Trio takes tasks
that are ready in an order that it draws; of that, too, the seed decides, as far as Trio lets it.
"""

from __future__ import annotations

import random
from typing import Any

import trio

from trimq.hand.operation import Operation, Words


class Seed(Words):
    seed: int


class Seeding:
    def __init__(self) -> None:
        # What was asked for last.
        self.given: int | None = None

    async def seed(self, words: Seed) -> None:
        self.begin(words.seed)

    def begin(self, seed: int) -> None:
        """From its first draw on."""
        self.given = seed
        random.seed(seed)
        _order_of_tasks(seed)

    @property
    def operations(self) -> list[Operation[Any]]:
        doc = "From now on chance is drawn from this seed: the same requests have the same outcome."
        return [Operation("server/seed", Seed, self.seed, doc)]


def _order_of_tasks(seed: int) -> None:
    """What Trio has for tests of its own, under a name that it may change: without it, the order is chance."""
    run: Any = trio._core._run
    if hasattr(run, "_ALLOW_DETERMINISTIC_SCHEDULING") and hasattr(run, "_r"):
        run._ALLOW_DETERMINISTIC_SCHEDULING = True
        run._r.seed(seed)
