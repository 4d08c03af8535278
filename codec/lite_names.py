"""What the names of light queues say (MixAll); `codec/names.py` builds and parses those of lite topics.

A light queue is queue 0 of the topic with its name, and no topic table has it.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.names import (
    DLQ_PREFIX,
    LMQ_PREFIX,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_PREFIX,
)

# MixAll.LMQ_QUEUE_ID.
LIGHT_QUEUE_ID: Final = 0

_WITHOUT_LIGHT: Final = (RETRY_PREFIX, DLQ_PREFIX, SYSTEM_PREFIX)


def is_light(name: str) -> bool:
    """Whether a topic's or group's name is that of a light queue (MixAll.isLmq)."""
    return name.startswith(LMQ_PREFIX)


def allows_light(topic: str) -> bool:
    """Whether records of the topic may be in light queues as well (MixAll.topicAllowsLMQ)."""
    return not topic.startswith(_WITHOUT_LIGHT) and topic != SCHEDULE_TOPIC
