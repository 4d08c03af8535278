"""SIGINT and SIGTERM end a process in order, and within a bounded time whatever it is doing.

The first signal is handed to whoever waits for it; while nobody does, because the server still starts, it cancels the
start. From then on the kernel counts: what is not done after `STOP_SECONDS` is cut off as by kill -9, which a store
survives. A loop that is busy, a disk that hangs and a recovery that takes minutes cannot prevent that.
"""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import trio

log = logging.getLogger("trimq.server")

# What an orderly stop may take: the last replies, leaving NameServers, one flush.
STOP_SECONDS: Final = 9.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """What has been asked for by signals; made by `stop_signals`."""

    __slots__ = ("_asked", "_start", "number")

    def __init__(self, start: trio.CancelScope) -> None:
        self._asked = trio.Event()
        self._start: trio.CancelScope | None = start
        # The first signal; 0: none yet.
        self.number = 0

    async def wait(self) -> None:
        """Until somebody asks for the end. Whatever was being started has been by now."""
        self._start = None
        await self._asked.wait()

    def take(self, number: int) -> None:
        """One that came; on Trio's thread."""
        if self.number:
            return
        self.number = number
        log.info(
            "stopping, what is not done after %d s is cut off, as by a kill: signal=%s",
            STOP_SECONDS,
            signal.Signals(number).name,
        )
        self._asked.set()
        if self._start is not None:
            self._start.cancel()


@contextmanager
def stop_signals(
    patience: float = STOP_SECONDS, ignored: tuple[signal.Signals, ...] = ()
) -> Iterator[StopSignals]:
    """Within the block SIGINT and SIGTERM, but for `ignored`, ask for an end; that may take `patience` seconds.

    One that comes before `StopSignals.wait` ends the block quietly.
    """
    token = trio.lowlevel.current_trio_token()
    with trio.CancelScope() as start:
        stop = StopSignals(start)

        def heard(number: int, _: FrameType | None) -> None:
            # Here and not in `take`: that one needs the loop, which may be what hangs.
            if signal.getitimer(signal.ITIMER_REAL)[0] == 0:
                signal.setitimer(signal.ITIMER_REAL, patience)
            token.run_sync_soon(stop.take, number, idempotent=True)

        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in _SIGNALS:
            signal.signal(number, _nothing if number in ignored else heard)
        try:
            yield stop
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, old in before.items():
                # The process is ending: a second signal of the same impatient user changes nothing.
                signal.signal(number, signal.SIG_IGN if stop.number else old)


def _nothing(number: int, frame: FrameType | None) -> None:
    """Unlike SIG_IGN, processes that are started do not inherit it."""
