"""What a request begins and a service goes on with: the service runs as long as the answer is waited for."""

from typing import Any

import trio

from trimq.remoting.contract import Response


async def finished(processor: Any, request: Any) -> Response:
    """Whatever the processor raises is raised."""
    answer = processor.handle(request)
    if isinstance(answer, Response):
        return answer
    found: list[Response] = []
    failed: list[Exception] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(processor._detached.run)
        try:
            found.append(await answer.answer(answer.request))
        except Exception as error:
            failed.append(error)
        nursery.cancel_scope.cancel()
    if failed:
        raise failed[0]
    return found[0]
