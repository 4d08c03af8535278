"""How Python's collector of cycles holds the event loop: for as long as it looks at what is young, and no longer.

Left alone it looks at everything that lives whenever that has grown by a quarter: with a hundred thousand lite topics
for a third of a second, and everybody waits. So what has outlived two looks is frozen, as what is there after the start
is: it is not looked at any more, but for a full look when as much has been frozen as there was at the last one. What
no cycle holds is freed at once all the same.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import trio

# So many objects may be frozen before everything is looked at for the first time: half a second then, at the most.
_LEAST: Final = 4_000_000
_OLDEST: Final = 2
# After so many looks at what is younger, about 20,000 objects are left of them.
_YOUNGER_LOOKS: Final = 2
_LOOK_SECONDS: Final = 10


class Garbage:
    """The collector of this process, while a server runs in it."""

    def __init__(self, least: int = _LEAST) -> None:
        self._least = least
        self._total = 0
        self._frozen = 0
        # How many full looks there were.
        self.full_looks = 0

    def look_fully(self) -> None:
        """At everything that lives; what is alive now lives long."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        # The collector waits with its next look for a quarter of what the last one has left.
        gc.collect()
        self._total = gc.get_freeze_count()
        self._frozen = 0
        self.full_looks += 1

    @property
    def is_due(self) -> bool:
        """Whether a full look is: another one cannot be had while the collector runs."""
        return self._frozen >= max(self._least, self._total)

    def looked(self, phase: str, info: dict[str, Any]) -> None:
        """The collector's own callback."""
        if phase == "stop" and info["generation"] == _OLDEST:
            # What this look has spared: it is short, as what was spared before is frozen.
            self._frozen += len(gc.get_objects(generation=_OLDEST))
            gc.freeze()


@contextmanager
def frozen_garbage() -> Iterator[Garbage]:
    """Until the block ends; somebody has to take the full looks that are due."""
    garbage, thresholds = Garbage(), gc.get_threshold()
    garbage.look_fully()
    gc.callbacks.append(garbage.looked)
    gc.set_threshold(*thresholds[:_OLDEST], _YOUNGER_LOOKS)
    try:
        yield garbage
    finally:
        gc.callbacks.remove(garbage.looked)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


async def look_when_due(garbage: Garbage) -> None:
    """Until cancelled."""
    while True:
        await trio.sleep(_LOOK_SECONDS)
        if garbage.is_due:
            garbage.look_fully()
