"""`--group` and `--topic`: what a report is about.

Snapshots are always whole, and rows are chosen when a report is made of them. So a history never lacks what
somebody left out once, and whether nobody consumes a topic does not depend on whom the report is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RETRY: Final = "%RETRY%"
DEAD: Final = "%DLQ%"
_WILD: Final = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Filters:
    """Names of groups and topics, in which `*` and `?` are wild; none: all.

    A group's retry and dead-letter topics go with the group. With `topics`, the groups are those that have
    an offset in one of them.
    """

    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def wants_group(self, name: str) -> bool:
        return _matches(name, self.groups)

    def wants_topic(self, name: str, group: str) -> bool:
        """Whether the report is about that group's offsets in that topic, if it is about the group."""
        return _matches(name, self.topics) or name in (RETRY + group, DEAD + group)

    def offsets(self, rows: DataFrame) -> DataFrame:
        """The rows of groups; of a whole snapshot or any part of the history."""
        from pyspark.sql import functions as f

        group = f.col("consumerGroup")
        rows = rows.where(group.isNotNull())
        if self.groups:
            rows = rows.where(_condition("consumerGroup", self.groups))
        if self.topics:
            own = [f.col("topic") == f.concat(f.lit(kind), group) for kind in (RETRY, DEAD)]
            rows = rows.where(_condition("topic", self.topics) | own[0] | own[1])
        return rows

    def snapshot(self, rows: DataFrame) -> DataFrame:
        """All rows of a snapshot that the report is about, those of the queues themselves too."""
        from pyspark.sql import functions as f

        if not (self.groups or self.topics):
            return rows
        offsets = self.offsets(rows)
        queues = rows.where(f.col("consumerGroup").isNull()).withColumn("owner", _owner())
        owned = queues.where("owner is not null")
        if self.topics:
            # Who reads one of the topics; their own topics are no reason.
            readers = offsets.where(_condition("topic", self.topics))
            readers = readers.select("cluster", "consumerGroup").distinct()
            offsets = offsets.join(f.broadcast(readers), ["cluster", "consumerGroup"], "left_semi")
            readers = readers.withColumnRenamed("consumerGroup", "owner")
            owned = owned.join(f.broadcast(readers), ["cluster", "owner"], "left_semi")
            queues = queues.where(_condition("topic", self.topics))
        elif self.groups:
            owned = owned.where(_condition("owner", self.groups))
        parts = (offsets, queues.where("owner is null"), owned)
        first, *others = (part.select(*rows.columns) for part in parts)
        for other in others:
            first = first.unionByName(other)
        return first


ALL: Final = Filters()


def _owner() -> Any:
    """The group whose retry or dead-letter topic it is; else null."""
    from pyspark.sql import functions as f

    found: Any = f.when(f.lit(False), f.lit(""))
    for kind in (RETRY, DEAD):
        name = f.expr(f"substring(topic, {len(kind) + 1})")
        found = found.when(f.col("topic").startswith(kind), name)
    return found


def _condition(column: str, patterns: Sequence[str]) -> Any:
    """Whole names as a comparison: Spark passes over blocks of files that cannot have them."""
    from pyspark.sql import functions as f

    whole = [pattern for pattern in patterns if not _WILD.search(pattern)]
    condition = f.col(column).isin(whole)
    for pattern in patterns:
        if pattern not in whole:
            condition |= f.col(column).rlike(rf"\A(?:{_regex(pattern)})\z")
    return condition


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(re.fullmatch(_regex(pattern), name) for pattern in patterns)


def _regex(pattern: str) -> str:
    """The same to Python and Java."""
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
