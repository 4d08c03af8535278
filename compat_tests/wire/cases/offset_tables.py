"""The whole table of offsets (GET_ALL_CONSUMER_OFFSET), as slaves ask for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from compat_tests.wire.asks import ask, commit_offset, create_group, create_topic, pull, send
from compat_tests.wire.case import Case
from compat_tests.wire.stage import Stage

ALL_OFFSETS: Final = 43
# A member of the object itself: other names may be topics of other cases.
_TABLE: Final = re.compile(rb'[{,]\s*"(\w+)"\s*:')
TABLES: Final = {"dataVersion", "groupTopicMap", "offsetTable", "pullOffsetTable"}


def cases() -> Iterator[Case]:
    yield Case("offset table: which tables there are", tables)


def tables(stage: Stage) -> None:
    """A group has pulled and committed: the two are kept apart."""
    stage.must(create_topic(queues=1))
    stage.must(create_group())
    stage.must(send(b"one"))
    stage.ask(pull())
    stage.must(commit_offset(1))
    reply = stage.ask(ask(ALL_OFFSETS))
    found = {name.decode() for name in _TABLE.findall(reply.body)} & TABLES
    stage.record("tables", {"code": reply.code, "tables": sorted(found)})
