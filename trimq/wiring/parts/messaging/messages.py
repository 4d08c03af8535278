"""Looking messages up: by key, by id, by queue entry."""

from trimq.broker.filters.consumer_filters import ConsumerFilters
from trimq.broker.groups.consumers.online import Consumers
from trimq.processors.messages.query_consume_queue import QueryConsumeQueue
from trimq.processors.messages.query_message import QueryMessage
from trimq.processors.messages.view_message_by_id import ViewMessageById
from trimq.wiring.context import Context
from trimq.wiring.part import Part


def part(context: Context, consumers: Consumers, filters: ConsumerFilters) -> Part:
    return Part(
        name="messages",
        processors=[
            QueryMessage(context.plan.store, context.store),
            ViewMessageById(context.store),
            QueryConsumeQueue(consumers, filters, context.store),
        ],
    )
