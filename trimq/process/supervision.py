"""Background services that outlive their failures: logged, counted, and started again.

A service is an async function that ends only by cancellation. Whatever else ends it is a bug or a
machine in trouble; neither may end the server, nor keep it busy with restarts.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

import trio

log = logging.getLogger("trimq.server")

Service = Callable[[], Awaitable[object]]
StartedService = Callable[[trio.TaskStatus[None]], Awaitable[object]]

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0


class Supervisor:
    """Keeps services going. ``failures`` by service name is a metric."""

    __slots__ = ("failures",)

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()

    async def keep(self, name: str, service: Service) -> None:
        """Run a service until cancelled.

        The pauses before a restart grow from 1 s to 60 s, and are short again once it has run for
        longer than the longest of them.
        """
        pause = FIRST_PAUSE_SECONDS
        while True:
            began = trio.current_time()
            try:
                await service()
            except Exception as error:
                self._failed(name, error)
            except BaseExceptionGroup as group:
                # It failed while it was being cancelled.
                failure, rest = group.split(Exception)
                if failure is not None:
                    self._failed(name, failure)
                if rest is not None:
                    raise rest from None
            else:
                self._failed(name, None)
            if trio.current_time() - began > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await trio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def keep_started(
        self,
        name: str,
        service: StartedService,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """The same, for `nursery.start`: it counts as started when the service says so, or has failed once."""
        status = _FirstStatus(task_status)

        async def attempt() -> None:
            try:
                await service(status)
            finally:
                status.started()

        await self.keep(name, attempt)

    def _failed(self, name: str, error: BaseException | None) -> None:
        self.failures[name] += 1
        log.error("service failed, starting it again: service=%s", name, exc_info=error)


class _FirstStatus(trio.TaskStatus[None]):
    """Passes on the first of several starts."""

    def __init__(self, status: trio.TaskStatus[None]) -> None:
        self._status: trio.TaskStatus[None] | None = status

    def started(self, value: None = None) -> None:
        status, self._status = self._status, None
        if status is not None:
            status.started(value)
