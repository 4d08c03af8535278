"""Questions about many topics or groups at once, so that few requests go to a broker.

- GET_CONSUME_STATS takes a list of topics and says for each queue where it ends, whether the group
  has an offset in it or not. No request says where many topics begin; but as long as a broker has
  its log from
  the first byte on, nothing has expired and every queue begins at 0. Later, topics that have messages
  are asked one by one.
- GET_ALL_CONSUMER_OFFSET names the groups that have offsets, and in which topics: others need not be asked.

A broker that does not answer one of these questions, for example because the user may not ask it, is asked
about each topic singly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa

from trimq.admin.errors import AdminError
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.groups import GetConsumeStatsRequestHeader
from trimq.codec.headers.topics import GetTopicStatsInfoRequestHeader
from trimq.codec.names import TOOLS_CONSUMER_GROUP
from trimq.spark.offsets.snapshot.answers import QueueName, consumed, ends
from trimq.spark.offsets.snapshot.pace import PacedAdmin

Ends = dict[QueueName, tuple[int, int]]
# Limits of a list of topics: its characters, and its queues, since an answer has 150 bytes for
# each.
_NAMES: Final = 30_000
_QUEUES: Final = 10_000
# From this many groups on it is worth asking which of them have offsets.
_MANY: Final = 32
_PASSING: Final = (AdminError, CodecError)
_FACTOR: Final = 3
_LOG_START: Final = "commitLogMinOffset"
_OFFSETS: Final = re.compile(rb'"([^"@\\]+)@([^"@\\]+)":\{')


def queue_ends(
    admin: PacedAdmin, addr: str, topics: Mapping[str, TopicConfig], note: Callable[[str], None]
) -> Ends:
    """The first and the next offset of each queue of these topics. `note` gets a sentence for each that fails."""
    found: Ends = {}
    single: list[str] = []
    alike = {name: one for name, one in topics.items() if _is_plain(one)}
    if len(alike) > 1:
        found = _together(admin, addr, alike)
        if found and not _is_whole(admin, addr):
            having = {topic.decode() for (_, topic), (_, end) in found.items() if end}
            single = sorted(having)
    known = {topic.decode() for _, topic in found}
    single += sorted(topics.keys() - known)
    for topic in single:
        header = GetTopicStatsInfoRequestHeader(topic=topic)
        try:
            found |= ends(admin.body(addr, RequestCode.GET_TOPIC_STATS_INFO, header))
        except _PASSING as error:
            note(f"topic {topic}: {error}")
            for queue in [one for one in found if one[1] == topic.encode()]:
                del found[queue]
    return found


def _is_plain(topic: TopicConfig) -> bool:
    """Whether the list is complete: it leaves out queues that are only written to."""
    return 0 < topic.write_queue_nums <= topic.read_queue_nums


def _is_whole(admin: PacedAdmin, addr: str) -> bool:
    """Whether the broker's log begins with its first byte."""
    try:
        return int(admin.broker_runtime(addr)[_LOG_START]) <= 0
    except (*_PASSING, LookupError, ValueError):
        return False


def _together(admin: PacedAdmin, addr: str, topics: Mapping[str, TopicConfig]) -> Ends:
    """As if all queues began at 0; empty when the broker does not answer such a question."""
    found: Ends = {}
    for names in _portions(topics):
        header = GetConsumeStatsRequestHeader(
            consumer_group=TOOLS_CONSUMER_GROUP, topic_list=";".join(names)
        )
        code = RequestCode.GET_CONSUME_STATS
        try:
            answer = consumed(admin.body(addr, code, header, _FACTOR))
        except _PASSING:
            return {}
        if answer is not None:
            highs = answer.maximum.to_pylist()
            found |= {name: (0, high) for name, high in zip(answer.names, highs, strict=True)}
    return found


def _portions(topics: Mapping[str, TopicConfig]) -> Iterator[list[str]]:
    names: list[str] = []
    length = queues = 0
    for name in sorted(topics):
        count = topics[name].read_queue_nums
        if names and (length + len(name) >= _NAMES or queues + count > _QUEUES):
            yield names
            names, length, queues = [], 0, 0
        names.append(name)
        length += len(name) + 1
        queues += count
    yield names


def having_offsets(
    admin: PacedAdmin, addr: str, groups: Iterable[str], topics: pa.Array
) -> list[str]:
    """Those of the groups that may have offsets in one of the topics."""
    wanted = sorted(groups)
    if len(wanted) <= _MANY:
        return wanted
    try:
        body = admin.body(addr, RequestCode.GET_ALL_CONSUMER_OFFSET, None, _FACTOR)
    except _PASSING:
        return wanted
    if b'"offsetTable"' not in body:
        return wanted
    known = set(topics.to_pylist())
    pairs = _OFFSETS.findall(body)
    having = {group.decode() for topic, group in pairs if topic.decode() in known}
    return [group for group in wanted if group in having]
