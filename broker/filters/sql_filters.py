"""Filters over properties: what has been read, who wants what, and what pulls ask."""

from dataclasses import dataclass

from trimq.broker.filters.consumer_filters import ConsumerFilters
from trimq.broker.filters.expressions import Expressions
from trimq.broker.filters.pull_filters import PullFilters


@dataclass(frozen=True, slots=True)
class SqlFilters:
    """One of each per broker."""

    expressions: Expressions
    table: ConsumerFilters
    pulls: PullFilters
