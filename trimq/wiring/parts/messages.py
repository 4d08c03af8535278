"""Looking messages up: by key, by id, by queue entry."""

from trimq.broker.filters.consumer_filters import ConsumerFilters
from trimq.broker.groups.consumers import Consumers
from trimq.processors.messages.query_consume_queue import QueryConsumeQueue
from trimq.processors.messages.query_message import QueryMessage
from trimq.processors.messages.view_message_by_id import ViewMessageById
from trimq.wiring.given import Given
from trimq.wiring.part import Part


def part(given: Given, consumers: Consumers, filters: ConsumerFilters) -> Part:
    return Part(
        name="messages",
        processors=[
            QueryMessage(given.plan.store, given.store),
            ViewMessageById(given.store),
            QueryConsumeQueue(consumers, filters, given.store),
        ],
    )
