"""Before the processors: requests that fail, answers that are late or lost.

A request that fails is not done, unless its code says that it was (answers.py). One whose answer is late or lost is
done at once and in its turn; that is decided when the answer is there, so it meets polls that wait already, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import trio

from trimq.base.file_body import FileBody
from trimq.hand.faults.answers import Answers, told
from trimq.hand.faults.facts import ClientIds, Facts, Side
from trimq.hand.faults.rules import Effect, Rules
from trimq.remoting.contract import Later, Peer, RemotingError, Request, Response
from trimq.remoting.serving.dispatch import EndOfReceive, Handle

Answer = Callable[[Request[Any]], Awaitable[Response]]
_NOTHING: Final = Response()


class _Late:
    """An outcome that is said later. `failure`: what has become of it meanwhile.

    `before`: the one of the same client that was decided before it: answers that are due at once keep their order.
    """

    def __init__(
        self, outcome: Response | RemotingError, seconds: float, before: _Late | None
    ) -> None:
        self.outcome = outcome
        self.failure: Exception | None = None
        self._due = trio.current_time() + seconds
        self._before = before
        self._said = trio.Event()

    async def answer(self, _: Request[Any]) -> Response:
        try:
            await trio.sleep_until(self._due)
            before, self._before = self._before, None
            if before is not None and before._due <= self._due:
                await before._said.wait()
        except trio.Cancelled:
            # Its client has left.
            _let_go(self.outcome)
            raise
        finally:
            self._said.set()
        if self.failure is not None:
            raise self.failure
        # Whoever comes next has this before it, for as long as the client stays.
        outcome, self.outcome = self.outcome, _NOTHING
        if isinstance(outcome, RemotingError):
            raise outcome
        return outcome


class FaultLayer:
    """Put before the processors of one side."""

    def __init__(self, rules: Rules, side: Side, answers: Answers, client_ids: ClientIds) -> None:
        self._rules = rules
        self._side: Side = side
        self._answers = answers
        self._client_ids = client_ids
        # Late answers that say that something is stored, which will be written at the end of the receive.
        self._staged: list[_Late] = []
        self._last: WeakKeyDictionary[Peer, _Late] = WeakKeyDictionary()

    def around(self, handle: Handle) -> Handle:
        """A processor with faults."""
        return partial(self._handle, handle)

    def around_end(self, end: EndOfReceive) -> EndOfReceive:
        """What fails for the answers of a receive fails for those that are late, too."""

        def ended() -> None:
            staged, self._staged = self._staged, []
            try:
                end()
            except Exception as error:
                for late in staged:
                    late.failure = error
                raise

        return ended

    def _handle(self, handle: Handle, request: Request[Any]) -> Response | Later:
        rules = self._rules
        facts = Facts(request, self._side, self._client_ids)
        fault = rules.failing(facts) if rules.touches_requests else None
        outcome: Response | Later | RemotingError
        if fault is not None and not self._answers.is_done(request, fault.code):
            outcome = self._answers.instead(request, fault.code, fault.remark)
        else:
            try:
                outcome = handle(request)
            except RemotingError as error:
                if not rules.touches_answers:
                    raise
                outcome = error
        if isinstance(outcome, Later):
            outcome.answer = partial(self._later, outcome.answer, facts, fault)
            return outcome
        if fault is not None:
            outcome = told(outcome, fault.code, fault.remark)
        return self._said(outcome, facts)

    def _said(self, outcome: Response | RemotingError, facts: Facts) -> Response | Later:
        request = facts.request
        if not request.oneway and self._rules.touches_answers:
            if self._rules.lost(facts):
                return _unsaid(outcome)
            seconds = self._rules.slower(facts)
            if seconds:
                late = _Late(outcome, seconds, self._last.get(request.peer))
                self._last[request.peer] = late
                if isinstance(outcome, Response) and outcome.staged:
                    self._staged.append(late)
                return Later(request, late.answer, keeps_body=False)
        if isinstance(outcome, RemotingError):
            raise outcome
        return outcome

    async def _later(
        self, answer: Answer, facts: Facts, fault: Effect | None, request: Request[Any]
    ) -> Response:
        outcome: Response | RemotingError
        try:
            outcome = await answer(request)
        except RemotingError as error:
            outcome = error
        if fault is not None:
            outcome = told(outcome, fault.code, fault.remark)
        said = self._said(outcome, facts)
        return await said.answer(request) if isinstance(said, Later) else said


def _unsaid(outcome: Response | RemotingError) -> Response:
    """Done, but nobody hears of it."""
    _let_go(outcome)
    unsaid = Response(outcome.code, no_reply=True)
    if isinstance(outcome, Response):
        unsaid.copied = outcome.copied
    return unsaid


def _let_go(outcome: Response | RemotingError) -> None:
    if isinstance(outcome, Response) and isinstance(outcome.body, FileBody):
        outcome.body.close()
