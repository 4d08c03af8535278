"""What requests about one queue have in common: the queue may be a static topic's, in parts.

AdminBrokerProcessor and ConsumerManageProcessor, rewriteRequestForStaticTopic.
"""

from collections.abc import Awaitable
from typing import Generic, Protocol, TypeVar

from trimq.broker.topics.static_queues import StaticQueue, StaticQueues
from trimq.remoting.contract import Later, Processor, Request, Response


class AboutQueue(Protocol):
    """A header that names a queue."""

    @property
    def topic(self) -> str: ...

    @property
    def queue_id(self) -> int | None: ...


Q = TypeVar("Q", bound=AboutQueue)


class QueueProcessor(Processor[Q], Generic[Q]):
    """`plain` answers at once; `of_parts` is for a static topic's queue, and may ask other brokers."""

    def __init__(self, static: StaticQueues) -> None:
        self._static = static

    def handle(self, request: Request[Q]) -> Response | Later:
        header = request.header
        queue = self._static.find(header.topic, header.queue_id, request.ext_fields)
        if queue is None:
            return self.plain(request)
        return Later(request, lambda request: self.of_parts(request, queue))

    def plain(self, request: Request[Q]) -> Response:
        """The answer for a broker's own queue."""
        raise NotImplementedError

    def of_parts(self, request: Request[Q], queue: StaticQueue) -> Awaitable[Response]:
        """The answer in cluster-wide numbers and offsets."""
        raise NotImplementedError
