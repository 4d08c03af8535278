"""When an effect of a stored record has failed: the part whose record it is makes anew what it knows, from the log.

That is what it does when the log was cut, and at a start. Timers need none of it: what is not on the wheel is read from
its queue.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

import trio

from trimq.process.metrics import Sample
from trimq.store.message_store import MessageStore
from trimq.wiring.part import Part

log = logging.getLogger("trimq.server")

_LOOK_SECONDS: Final = 1.0
# A record whose effect fails each time must not keep the loop busy.
_PAUSE_SECONDS: Final = 60.0


def part(store: MessageStore, parts: Sequence[Part]) -> Part:
    """For all of these."""
    return Part(
        name="redoing",
        services={"make anew what failed": partial(make_anew, store, parts)},
        samples=lambda: [
            Sample(
                "trimq_store_listener_failures",
                "Effects and listeners of a write that failed; the others had it all the same.",
                "counter",
                store.failures,
            )
        ],
    )


async def make_anew(store: MessageStore, parts: Iterable[Part]) -> None:
    """Until cancelled: look each second."""
    while True:
        await trio.sleep(_LOOK_SECONDS)
        failed = store.take_failed_effects()
        wanted = [part for part in parts if failed.intersection(part.decides)]
        for part in wanted:
            log.warning("made anew from the log, as an effect has failed: part=%s", part.name)
            if part.recover is not None:
                part.recover(store.max_physical_offset)
        if wanted:
            await trio.sleep(_PAUSE_SECONDS)
