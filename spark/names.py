"""Which topics and groups are a broker's own (TopicValidator, MixAll): no report or pattern includes them."""

from __future__ import annotations

from typing import Final

from trimq.codec.names import (
    AUTO_CREATE_TOPIC,
    BENCHMARK_TOPIC,
    CHECKPOINT_TOPIC,
    OFFSET_MOVED_EVENT,
    REPLY_TOPIC_SUFFIX,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    SYSTEM_GROUP_PREFIX,
    SYSTEM_PREFIX,
    TRANS_CHECK_MAX_TIME_TOPIC,
    UPPER_SYSTEM_PREFIX,
)

_PREFIXES: Final = (
    UPPER_SYSTEM_PREFIX,
    SYSTEM_PREFIX,
    SYSTEM_GROUP_PREFIX,
    SCHEDULE_TOPIC.removesuffix("XXXX"),
)
_TOPICS: Final = frozenset(
    (
        AUTO_CREATE_TOPIC,
        BENCHMARK_TOPIC,
        CHECKPOINT_TOPIC,
        OFFSET_MOVED_EVENT,
        SELF_TEST_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
    )
)


def is_system_topic(name: str, *others: str) -> bool:
    """Whether a topic is the broker's own; `others` are its names for other things: its own, the cluster's."""
    if name in others or name in _TOPICS:
        return True
    return name.startswith(_PREFIXES) or name.endswith(REPLY_TOPIC_SUFFIX)


def is_system_group(name: str) -> bool:
    return name.startswith(SYSTEM_GROUP_PREFIX)
