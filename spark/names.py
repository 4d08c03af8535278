"""Which topics and groups are a broker's own business (TopicValidator, MixAll): no report, no pattern means them."""

from __future__ import annotations

import re
from typing import Final

_SYSTEM_TOPIC: Final = re.compile(
    r"RMQ_SYS_|rmq_sys_|CID_RMQ_SYS_|SCHEDULE_TOPIC_|TRANS_CHECK_MAX_TIME_TOPIC$|CHECKPOINT_TOPIC$"
    r"|TBW102$|OFFSET_MOVED_EVENT$|BenchmarkTest$|SELF_TEST_TOPIC$|.*_REPLY_TOPIC$"
)
_SYSTEM_GROUP: Final = "CID_RMQ_SYS_"


def is_system_topic(name: str, *others: str) -> bool:
    """Whether a topic is the broker's own; `others` are names that it has for other things: its own, the cluster's."""
    return name in others or _SYSTEM_TOPIC.match(name) is not None


def is_system_group(name: str) -> bool:
    return name.startswith(_SYSTEM_GROUP)
