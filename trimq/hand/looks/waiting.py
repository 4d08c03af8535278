"""Waiting until something holds of a broker, whatever makes it true.

All state of a broker changes in tasks of its loop. So it is looked at whenever the loop has run what was ready, and
nobody has to tell of a change: no commit, no acknowledgement costs anything for it. Nothing looks while nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable

import trio


class _Look(trio.abc.Instrument):
    """Asks before the loop sleeps; the loop is woken for the one that waits."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        self._holds = holds
        self._token = trio.lowlevel.current_trio_token()
        self.found = trio.Event()
        self.error: Exception | None = None
        self._told = False

    def before_io_wait(self, timeout: float) -> None:
        if self._told:
            return
        try:
            self._told = self._holds()
        except Exception as error:
            # Trio would only log it, and go on without the instrument.
            self.error, self._told = error, True
        if self._told:
            self._token.run_sync_soon(self.found.set)


async def until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether it came to hold in time, which is real time. `holds` is asked often: it must be quick.

    What `holds` raises is raised here.
    """
    if holds():
        return True
    look = _Look(holds)
    trio.lowlevel.add_instrument(look)
    try:
        with trio.move_on_after(seconds):
            await look.found.wait()
    finally:
        trio.lowlevel.remove_instrument(look)
    if look.error is not None:
        raise look.error
    return look.found.is_set()
