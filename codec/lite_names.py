"""Names of light queues, and of those that keep a lite topic: `%LMQ%$<topic>$<lite topic>` (MixAll.isLmq, LiteUtil).

Every lite topic's queue is a light queue, and not every light queue keeps a lite topic. `names.lite_queue`
builds such a name.
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

SEPARATOR: Final = "$"
LITE_PREFIX: Final = LMQ_PREFIX + SEPARATOR
# A light queue is queue 0 of the topic with its name (MixAll.LMQ_QUEUE_ID).
LIGHT_QUEUE_ID: Final = 0

_WITHOUT_LIGHT: Final = (RETRY_PREFIX, DLQ_PREFIX, SYSTEM_PREFIX)


def is_light(name: str) -> bool:
    """Whether a topic's or group's name is that of a light queue (MixAll.isLmq)."""
    return name.startswith(LMQ_PREFIX)


def is_lite(name: str) -> bool:
    """Whether a light queue keeps a lite topic, by its prefix alone (LiteUtil.isLiteTopicQueue)."""
    return name.startswith(LITE_PREFIX)


def lite_parts(name: str) -> tuple[str, str] | None:
    """The topic and the lite topic of a light queue; None when the name is not made of two (LiteUtil.getParentTopic)."""
    if not name.startswith(LITE_PREFIX):
        return None
    topic, separator, lite_topic = name[len(LITE_PREFIX) :].partition(SEPARATOR)
    if not topic or not separator or not lite_topic or SEPARATOR in lite_topic:
        return None
    return topic, lite_topic


def belongs_to(name: str, topic: str) -> bool:
    """Whether a light queue keeps a lite topic of this topic, by its prefix alone (LiteUtil.belongsTo)."""
    return name.startswith(f"{LITE_PREFIX}{topic}{SEPARATOR}")


def allows_light(topic: str) -> bool:
    """Whether records of the topic may be in light queues as well (MixAll.topicAllowsLMQ)."""
    return not topic.startswith(_WITHOUT_LIGHT) and topic != SCHEDULE_TOPIC
