"""`--group` and `--topic`: what a report is about.

Snapshots are always whole, and rows are chosen when a report is made from them. So a history never
lacks what somebody left out once, and whether nobody consumes a topic does not depend on which
groups the report is about.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX

_WILD: Final = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Filters:
    """Names of groups and topics, in which `*` and `?` are wildcards; none: all.

    A group's retry and dead-letter topics go with the group. With `topics`, the groups are those that have
    an offset in one of them.
    """

    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def wants_group(self, name: str) -> bool:
        return _matches(name, self.groups)

    def wants_topic(self, name: str, group: str) -> bool:
        """Whether the report is about that group's offsets in that topic, if it is about the group."""
        return _matches(name, self.topics) or name in (RETRY_PREFIX + group, DLQ_PREFIX + group)

    def condition(self) -> pc.Expression:
        """Chooses the rows of groups that the report is about, in a whole snapshot or any part of the history."""
        group, topic = pc.field("consumerGroup"), pc.field("topic")
        found = group.is_valid()
        if self.groups:
            found &= _condition(group, self.groups)
        if self.topics:
            own = (
                topic == pc.binary_join_element_wise(pc.scalar(kind), group, pc.scalar(""))
                for kind in (RETRY_PREFIX, DLQ_PREFIX)
            )
            found &= functools.reduce(operator.or_, own, _condition(topic, self.topics))
        return found

    def snapshot(self, rows: pa.Table) -> pa.Table:
        """All rows of a snapshot that the report is about, those of the queues themselves too."""
        if not (self.groups or self.topics):
            return rows
        offsets = rows.filter(self.condition())
        queues = rows.filter(pc.field("consumerGroup").is_null())
        queues = queues.append_column("owner", _owner(queues["topic"]))
        owned = queues.filter(pc.field("owner").is_valid())
        queues = queues.filter(pc.field("owner").is_null())
        if self.topics:
            wanted = _condition(pc.field("topic"), self.topics)
            # Groups that read one of the topics; a group's own topics do not count.
            readers = offsets.filter(wanted).select(["cluster", "consumerGroup"])
            offsets = offsets.join(readers, ["cluster", "consumerGroup"], join_type="left semi")
            names = readers.rename_columns(["cluster", "owner"])
            owned = owned.join(names, ["cluster", "owner"], join_type="left semi")
            queues = queues.filter(wanted)
        elif self.groups:
            owned = owned.filter(_condition(pc.field("owner"), self.groups))
        parts = (offsets, queues, owned)
        return pa.concat_tables([part.select(rows.column_names) for part in parts])

    def without_match(self, groups: Iterable[str], topics: Iterable[str]) -> list[str]:
        """A sentence for each pattern that matches none of these: it may be misspelt."""
        found = []
        for kind, patterns, names in (
            ("group", self.groups, groups),
            ("topic", self.topics, topics),
        ):
            known = set(names)
            found += [
                f"no {kind} in this report matches {pattern!r}"
                for pattern in patterns
                if not any(re.fullmatch(_regex(pattern), name) for name in known)
            ]
        return found


ALL: Final = Filters()


def _owner(topics: pa.ChunkedArray) -> Any:
    """The groups whose retry or dead-letter topics these are; null for other topics."""
    found: Any = pa.scalar(None, pa.string())
    for kind in (RETRY_PREFIX, DLQ_PREFIX):
        name = pc.utf8_slice_codeunits(topics, len(kind))
        found = pc.if_else(pc.starts_with(topics, kind), name, found)
    return found


def _condition(column: pc.Expression, patterns: Sequence[str]) -> pc.Expression:
    """Whole names as a comparison: blocks of files that cannot contain them are skipped."""
    whole = [pattern for pattern in patterns if not _WILD.search(pattern)]
    found = column.isin(pa.array(whole, pa.string()))
    for pattern in patterns:
        if _WILD.search(pattern):
            found |= pc.match_substring_regex(column, rf"\A(?:{_regex(pattern)})\z")
    return found


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(re.fullmatch(_regex(pattern), name) for pattern in patterns)


def _regex(pattern: str) -> str:
    """Means the same to Python and to Arrow."""
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
