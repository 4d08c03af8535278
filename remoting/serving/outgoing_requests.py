"""Requests of our own on a connection, until their answers come."""

from collections.abc import Callable

import trio

from trimq.codec.frames.command import RemotingCommand


class OutgoingRequest:
    """A request of ours that waits for its answer; None when the connection ended before.

    `late`: who takes an answer that nobody waits for any more.
    """

    __slots__ = ("answer", "done", "late")

    def __init__(self) -> None:
        self.answer: RemotingCommand | None = None
        self.done = trio.Event()
        self.late: Callable[[RemotingCommand], None] | None = None


class OutgoingRequests:
    """Those of one connection, by opaque."""

    __slots__ = ("_asked", "_opaque")

    def __init__(self) -> None:
        self._asked: dict[int, OutgoingRequest] = {}
        self._opaque = 0

    def next_opaque(self) -> int:
        """The number of the next request; they begin anew behind the largest Java int."""
        self._opaque = self._opaque % 0x7FFFFFFF + 1
        return self._opaque

    def expect(self, opaque: int) -> OutgoingRequest:
        """From now on an answer is expected; whoever asks says `forget` in the end."""
        question = self._asked[opaque] = OutgoingRequest()
        return question

    def forget(self, opaque: int) -> None:
        self._asked.pop(opaque, None)

    def leave(self, opaque: int, late: Callable[[RemotingCommand], None]) -> None:
        """Nobody waits any more: `late` gets the answer, now if it has come already."""
        question = self._asked[opaque]
        if question.answer is None:
            question.late = late
        else:
            self.forget(opaque)
            late(question.answer)

    def answered(self, command: RemotingCommand) -> bool:
        """An answer has come; whether anybody waits for it."""
        question = self._asked.get(command.opaque)
        if question is None:
            return False
        if question.late is not None:
            self.forget(command.opaque)
            question.late(command)
            return True
        question.answer = command
        question.done.set()
        return True

    def give_up(self) -> None:
        """No answer will come any more."""
        for question in self._asked.values():
            question.done.set()
