"""The receives of sockets that were ready together: what all of them staged is written at once.

A write costs as much for one request as for many, and clients that wait for each answer bring one at a time. Where
several are ready, their replies leave behind one write. A large receive, which is many requests already, does not wait
for others.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Callable
from typing import Final

from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.receive_frames import Turn, fail_staged

# With so many requests a write is cheap enough. To wait for more would leave their client with nothing to do meanwhile:
# at 32, pipelining clients got a tenth less through.
_ENOUGH: Final = 8


class ReceiveRound:
    """Whoever adds a turn sees to it that `end` is called before anything else runs."""

    __slots__ = ("_dispatcher", "_frames", "_turns")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._turns: list[tuple[Turn, Callable[[Turn], None]]] = []
        self._frames: int = 0

    def add(self, turn: Turn, ended: Callable[[Turn], None]) -> None:
        """`ended` is called with it when its records are written, or when its replies say that they are not. It must
        not raise.
        """
        self._turns.append((turn, ended))
        self._frames += turn.frames
        if self._frames >= _ENOUGH or turn.more:
            self.end()

    @property
    def is_open(self) -> bool:
        """Whether replies wait for its end."""
        return len(self._turns) > 0

    def end(self) -> None:
        """Write what was staged since the last time."""
        if self._turns:
            self.write(None)

    def write(self, begun: Turn | None) -> None:
        """End it, in the middle of a turn that is not in it yet: its records until now are written too."""
        turns, frames = self._turns, self._frames
        self._turns, self._frames = [], 0
        failure = self._dispatcher.end_receive() if frames else None
        if failure is not None and begun is not None:
            fail_staged(begun, failure)
        for turn, ended in turns:
            if failure is not None:
                fail_staged(turn, failure)
            ended(turn)
