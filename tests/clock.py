"""What a test waits by the clock.

Counted is the time in which the process waited and a clock ended it: `time.sleep`, `Event.wait` whose time was up, and
Trio's loops that slept until a deadline, in any thread. Not counted is what is computed, by anybody on the machine: of
a sleep in another thread, or of a server in one, only what the test's own thread and other loops have waited meanwhile,
which the system says (Linux; elsewhere other threads do not count). Nor is a loop for which threads work, nor what the
test's own thread does not sleep itself while a process lives that it has started, nor asking again and again whether
something holds (tests/patience.py).
"""

from __future__ import annotations

import subprocess
import threading
import time
import weakref
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
        # As the system calls them: of the test, and of loops.
        self._threads = {self._own: threading.get_native_id()}
        self._asks = 0
        self._children = weakref.WeakSet[subprocess.Popen[Any]]()
        self._began = self._own_times()
        self._loops: dict[int, tuple[float, float] | None] = {}

    def clear(self) -> None:
        self._spans = []
        self._threads = {self._own: self._threads[self._own]}
        self._began = self._own_times()

    @property
    def seconds(self) -> float:
        """Those of several threads at a time count once."""
        total = last = 0.0
        for begin, end in sorted(self._spans):
            total += max(end - max(begin, last), 0)
            last = max(last, end)
        return total

    @property
    def haste(self) -> float:
        """1, or less where the test's own thread had to wait for a processor: the share of its time that it had one.

        The broker rests for as long as its work took (broker/tables/writer.py), so there are tests that wait by the
        clock for longer where others compute.
        """
        ran, waited = (now - then for now, then in zip(self._own_times(), self._began, strict=True))
        return ran / (ran + waited) if ran > 0 else 1.0

    def _own_times(self) -> tuple[int, int]:
        return _times_of(self._threads[self._own]) or (0, 0)

    def now(self) -> tuple[float, float]:
        """The moment, and how long the test's thread and other loops have computed, or wanted to: -1 if nobody knows.

        The test's own thread needs not ask: it waits itself.
        """
        here = threading.get_ident()
        if here == self._own:
            return time.perf_counter(), 0
        times = [_times_of(id_) for thread, id_ in list(self._threads.items()) if thread != here]
        worked = sum(sum(one) for one in times if one)
        return time.perf_counter(), worked / 1e9 if worked else -1

    def _note(self, since: tuple[float, float], most: float) -> None:
        """`most`: what was asked for; on a busy machine a sleep takes longer."""
        (begin, worked), (end, works) = since, self.now()
        waited = min(end - begin - (works - worked), most)
        if worked >= 0 and waited >= SHORTEST:
            self._spans.append((end - waited, end))

    def slept(self, since: tuple[float, float], seconds: float) -> None:
        """Told by whoever has slept for so long, as it asked for."""
        if threading.get_ident() == self._own or not self._has_children():
            self._note(since, seconds)

    def _has_children(self) -> bool:
        return any(child.returncode is None for child in list(self._children))

    def born(self, child: subprocess.Popen[Any]) -> None:
        """While it lives, it may be what is waited for."""
        self._children.add(child)

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
        self._threads.setdefault(threading.get_ident(), threading.get_native_id())
        waits = SHORTEST <= timeout < LONGEST and not (_threads_work() or self._has_children())
        self._loops[threading.get_ident()] = self.now() if waits else None

    def after_io_wait(self, timeout: float) -> None:
        since = self._loops.pop(threading.get_ident(), None)
        # Else something has come before the time was up.
        asks = self._asks and timeout <= LOOK and threading.get_ident() == self._own
        if since is not None and not asks and time.perf_counter() - since[0] >= timeout:
            self._note(since, timeout)


def _times_of(thread: int) -> tuple[int, int] | None:
    """How long it has computed, and wanted to, in nanoseconds; None: it is gone, or the system does not say."""
    with suppress(OSError, ValueError):
        ran, waited, _ = map(int, Path(f"/proc/self/task/{thread}/schedstat").read_bytes().split())
        return ran, waited
    return None


def _threads_work() -> bool:
    return trio.to_thread.current_default_thread_limiter().borrowed_tokens > 0


def watch(clocks: Clocks, patch: pytest.MonkeyPatch) -> None:
    """Have it told of every sleep from now on."""
    sleep, run, wait = time.sleep, trio.run, threading.Event.wait

    def counted_sleep(seconds: float) -> None:
        since = clocks.now()
        sleep(seconds)
        clocks.slept(since, seconds)

    def counted_wait(event: threading.Event, timeout: float | None = None) -> bool:
        if timeout is None or event.is_set():
            return wait(event, timeout)
        since = clocks.now()
        found = wait(event, timeout)
        if not found:
            clocks.slept(since, timeout)
        return found

    def counted_run(
        act: Callable[..., Any], *args: Any, instruments: Any = (), **options: Any
    ) -> Any:
        return run(act, *args, instruments=(*instruments, clocks), **options)

    patch.setattr(time, "sleep", counted_sleep)
    patch.setattr(threading.Event, "wait", counted_wait)
    patch.setattr(trio, "run", counted_run)
    patch.setattr(trio.testing, "wait_all_tasks_blocked", _looking(clocks))
    patch.setattr(subprocess.Popen, "__init__", _noting_children(clocks))


def _looking(clocks: Clocks) -> Callable[..., Any]:
    look = trio.testing.wait_all_tasks_blocked

    async def counted(cushion: float = 0.0) -> None:
        with clocks.asking(cushion):
            await look(cushion)

    return counted


def _noting_children(clocks: Clocks) -> Callable[..., None]:
    begin = subprocess.Popen.__init__

    def noted(process: subprocess.Popen[Any], *args: Any, **options: Any) -> None:
        begin(process, *args, **options)
        clocks.born(process)

    return noted
