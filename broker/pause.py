"""The pause of a service that writes something down now and then: who is too far behind ends it."""

import trio


class Pause:
    def __init__(self) -> None:
        self._ended = trio.Event()

    def end(self) -> None:
        """The pause that is on, or the next one."""
        self._ended.set()

    async def wait(self, seconds: float) -> bool:
        """That long at most; whether it was ended before."""
        with trio.move_on_after(seconds):
            await self._ended.wait()
        is_ended = self._ended.is_set()
        self._ended = trio.Event()
        return is_ended
