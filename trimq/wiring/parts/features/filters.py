"""Filters over properties (SQL92): which group wants what, and their maps in queues."""

from collections.abc import Container, Iterator
from functools import partial

from trimq.broker.filters.consumer_filters import PERSIST_SECONDS, ConsumerFilters
from trimq.broker.filters.expressions import Expressions
from trimq.broker.filters.pull_filters import PullFilters
from trimq.broker.filters.sql_filters import SqlFilters
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.services import background as services
from trimq.process.metrics import Sample
from trimq.wiring.context import Context
from trimq.wiring.part import Part


def sql_filters(context: Context, topics: Container[str]) -> SqlFilters:
    """Those of a broker that nobody has asked yet."""
    config = context.config
    expressions = Expressions()
    table = ConsumerFilters(config, context.directory, context.clock, expressions, topics)
    return SqlFilters(expressions, table, PullFilters(config, table, _with_maps(context)))


def _with_maps(context: Context) -> bool:
    return context.config.enable_calc_filter_bit_map and context.plan.store.enable_consume_queue_ext


def part(context: Context, filters: SqlFilters, consumers: Consumers) -> Part:
    table, with_maps = filters.table, _with_maps(context)
    consumers.add_gone_listener(table.group_gone)
    if with_maps:
        context.store.bit_maps.calculate = filters.pulls.map_of
    return Part(
        name="filters",
        services={
            "write filters": partial(services.every_async, PERSIST_SECONDS, table.persist),
        },
        load=partial(table.load, read=with_maps),
        close=table.close,
        samples=partial(_samples, table),
    )


def _samples(table: ConsumerFilters) -> Iterator[Sample]:
    yield Sample("trimq_filters", "SQL92 filters that are kept.", "gauge", table.count)
