"""What a test waits by the clock.

Counted is the time in which the process waited and a clock ended it: `time.sleep`, `Event.wait` whose time was up, and
Trio's loops that slept until a deadline, in any thread. Not counted is what is computed, by anybody on the machine: of
a sleep in another thread, or of a server in one, only what the test's own thread has waited meanwhile, which the
system says (Linux; elsewhere other threads do not count). Nor a loop for which threads work, nor asking again and
again whether something holds (tests/patience.py).
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import trio.abc
import trio.testing

# Shorter ones are not worth a look.
SHORTEST: Final = 0.001
# How long a loop must have been idle for a test that asks whether it is.
LOOK: Final = 0.01
# A loop that waits for longer waits for something else.
LONGEST: Final = 3600
Span = tuple[float, float]


class Clocks(trio.abc.Instrument):
    """What was waited by the clock since `clear`, in this process."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._own = threading.get_ident()
        self._busy = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._waits_for_a_child = self._asks = 0
        self._loops: dict[int, tuple[float, float] | None] = {}

    def clear(self) -> None:
        self._spans = []

    @property
    def seconds(self) -> float:
        """Those of several threads at a time count once."""
        total = last = 0.0
        for begin, end in sorted(self._spans):
            total += max(end - max(begin, last), 0)
            last = max(last, end)
        return total

    def _now(self) -> tuple[float, float]:
        """The moment, and how long the test's thread has computed, or wanted to: -1 if nobody knows."""
        if threading.get_ident() == self._own:
            return time.perf_counter(), 0
        with suppress(OSError, ValueError):
            ran, waited, _ = map(int, self._busy.read_bytes().split())
            if ran:
                return time.perf_counter(), (ran + waited) / 1e9
        return time.perf_counter(), -1

    def _note(self, since: tuple[float, float], most: float) -> None:
        """`most`: what was asked for; on a busy machine a sleep takes longer."""
        (begin, worked), (end, works) = since, self._now()
        waited = min(end - begin - (works - worked), most)
        if worked >= 0 and waited >= SHORTEST and not self._waits_for_a_child:
            self._spans.append((end - waited, end))

    @contextmanager
    def sleeping(self, seconds: float) -> Iterator[None]:
        since = self._now()
        yield
        self._note(since, seconds)

    @contextmanager
    def waiting_for_a_child(self) -> Iterator[None]:
        """Whatever ticks in other threads meanwhile."""
        own = threading.get_ident() == self._own
        self._waits_for_a_child += own
        try:
            yield
        finally:
            self._waits_for_a_child -= own

    @contextmanager
    def asking(self, cushion: float) -> Iterator[None]:
        """Whether all tasks wait: so long they must."""
        own = threading.get_ident() == self._own and cushion <= LOOK
        self._asks += own
        try:
            yield
        finally:
            self._asks -= own

    def before_io_wait(self, timeout: float) -> None:
        waits = SHORTEST <= timeout < LONGEST and not _threads_work()
        self._loops[threading.get_ident()] = self._now() if waits else None

    def after_io_wait(self, timeout: float) -> None:
        since = self._loops.pop(threading.get_ident(), None)
        # Else something has come before the time was up.
        asks = self._asks and timeout <= LOOK and threading.get_ident() == self._own
        if since is not None and not asks and time.perf_counter() - since[0] >= timeout:
            self._note(since, timeout)


def _threads_work() -> bool:
    return trio.to_thread.current_default_thread_limiter().borrowed_tokens > 0


def watch(clocks: Clocks, patch: pytest.MonkeyPatch) -> None:
    """Have it told of every sleep from now on."""
    sleep, run, wait = time.sleep, trio.run, threading.Event.wait

    def counted_sleep(seconds: float) -> None:
        with clocks.sleeping(seconds):
            sleep(seconds)

    def counted_wait(event: threading.Event, timeout: float | None = None) -> bool:
        if timeout is None or event.is_set():
            return wait(event, timeout)
        since = clocks._now()
        found = wait(event, timeout)
        if not found:
            clocks._note(since, timeout)
        return found

    def counted_run(
        act: Callable[..., Any], *args: Any, instruments: Any = (), **options: Any
    ) -> Any:
        return run(act, *args, instruments=(*instruments, clocks), **options)

    patch.setattr(time, "sleep", counted_sleep)
    patch.setattr(threading.Event, "wait", counted_wait)
    patch.setattr(trio, "run", counted_run)
    patch.setattr(trio.testing, "wait_all_tasks_blocked", _looking(clocks))
    for name in ("wait", "communicate"):
        _exempt(clocks, patch, name)


def _looking(clocks: Clocks) -> Callable[..., Any]:
    look = trio.testing.wait_all_tasks_blocked

    async def counted(cushion: float = 0.0) -> None:
        with clocks.asking(cushion):
            await look(cushion)

    return counted


def _exempt(clocks: Clocks, patch: pytest.MonkeyPatch, name: str) -> None:
    act = getattr(subprocess.Popen, name)

    def waiting(process: subprocess.Popen[Any], *args: Any, **options: Any) -> Any:
        with clocks.waiting_for_a_child():
            return act(process, *args, **options)

    patch.setattr(subprocess.Popen, name, waiting)
