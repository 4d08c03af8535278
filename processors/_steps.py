"""Long answers: made in steps, between what everybody else wants."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from trimq.base.step_queue import Steps
from trimq.codec.java.rows import names_steps
from trimq.remoting.contract import H, Later, Processor, Request, Response

AnswerSteps = Steps[Response]


class SteppedProcessor(Processor[H]):
    """`steps` makes the answer: it yields after about a millisecond, with the bytes that the answer has grown by.

    All of it happens in turn with the other connections' long answers, and ends with the connection.
    """

    def steps(self, request: Request[H]) -> AnswerSteps:
        raise NotImplementedError

    def handle(self, request: Request[H]) -> Later:
        return Later(request, partial(_in_turn, self.steps(request)), keeps_body=False)


class WholeProcessor(SteppedProcessor[H]):
    """`answer` is one step: what it says grows with the tables, but never takes longer than a few milliseconds."""

    def answer(self, request: Request[H]) -> Response:
        raise NotImplementedError

    def steps(self, request: Request[H]) -> AnswerSteps:
        yield from ()
        return self.answer(request)


def topic_list(names: Iterable[str]) -> AnswerSteps:
    """A TopicList of these."""
    listed = yield from names_steps(names)
    return Response(body=b'{"topicList":%b}' % listed)


async def _in_turn(steps: AnswerSteps, request: Request[Any]) -> Response:
    return await request.peer.in_turn(steps)
