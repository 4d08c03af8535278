"""Answers over as many queues as an operator has made: in steps, so that nobody else waits for them."""

from collections.abc import Callable, Generator
from typing import Final

import trio

from trimq.remoting.contract import H, Processor, Request, Response

QUEUES_PER_STEP: Final = 256

Steps = Generator[None, None, Callable[[], Response]]


class SteppedProcessor(Processor[H]):
    """`steps` collects what the answer says and yields after every QUEUES_PER_STEP queues.

    It changes nothing before it has yielded for the last time, since it is begun anew if it does yield.
    What it returns encodes the answer, from
    what was collected alone: a thread calls it when that is much.
    """

    waits = True
    keeps_body = False

    def steps(self, request: Request[H]) -> Steps:
        raise NotImplementedError

    def handle_at_once(self, request: Request[H]) -> Response | None:
        try:
            next(self.steps(request))
        except StopIteration as end:
            encode: Callable[[], Response] = end.value
            return encode()
        return None

    async def handle(self, request: Request[H]) -> Response:
        steps = self.steps(request)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                encode: Callable[[], Response] = end.value
                return await trio.to_thread.run_sync(encode)
            await trio.lowlevel.checkpoint()
