"""Answers about any number of queues: in steps, so that nobody else has to wait for them."""

from collections.abc import Callable
from functools import partial

import trio

from trimq.broker.steps import Steps
from trimq.remoting.contract import H, Later, Processor, Request, Response

AnswerSteps = Steps[Callable[[], Response]]


class SteppedProcessor(Processor[H]):
    """`steps` collects what the answer says and yields after every QUEUES_PER_STEP queues.

    What it returns encodes the answer, only from what was collected: a thread calls it if that is
    much. It may end early: with the connection, or when too many requests wait.
    """

    def steps(self, request: Request[H]) -> AnswerSteps:
        raise NotImplementedError

    def handle(self, request: Request[H]) -> Response | Later:
        steps = self.steps(request)
        try:
            next(steps)
        except StopIteration as end:
            encode: Callable[[], Response] = end.value
            return encode()
        return Later(request, partial(_go_on, steps), keeps_body=False)


async def _go_on(steps: AnswerSteps, request: Request[H]) -> Response:
    while True:
        await trio.lowlevel.checkpoint()
        try:
            next(steps)
        except StopIteration as end:
            encode: Callable[[], Response] = end.value
            return await trio.to_thread.run_sync(encode)
