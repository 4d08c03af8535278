"""What requests about one queue have in common: the queue may be a static topic's, in parts.

AdminBrokerProcessor and ConsumerManageProcessor, rewriteRequestForStaticTopic.
"""

from collections.abc import Awaitable
from typing import Generic, Protocol, TypeVar

from trimq.broker.static_queues import StaticQueue, StaticQueues
from trimq.remoting.contract import Processor, Request, Response


class AboutQueue(Protocol):
    """A header that names a queue."""

    @property
    def topic(self) -> str: ...

    @property
    def queue_id(self) -> int | None: ...


Q = TypeVar("Q", bound=AboutQueue)


class QueueProcessor(Processor[Q], Generic[Q]):
    """`plain` answers at once; `of_parts` is for a static topic's queue, and may ask other brokers."""

    waits = True

    def __init__(self, static: StaticQueues) -> None:
        self._static = static

    def handle_at_once(self, request: Request[Q]) -> Response | None:
        return None if self._find(request) is not None else self.plain(request)

    async def handle(self, request: Request[Q]) -> Response:
        queue = self._find(request)
        return self.plain(request) if queue is None else await self.of_parts(request, queue)

    def plain(self, request: Request[Q]) -> Response:
        """The answer for a broker's own queue."""
        raise NotImplementedError

    def of_parts(self, request: Request[Q], queue: StaticQueue) -> Awaitable[Response]:
        """The answer in numbers and offsets that hold for the cluster."""
        raise NotImplementedError

    def _find(self, request: Request[Q]) -> StaticQueue | None:
        header = request.header
        return self._static.find(header.topic, header.queue_id, request.ext_fields)
