"""Which names topics and groups may have, and which of them the broker itself owns.

The rules, their order and the remarks are those of TopicValidator. The names themselves are in codec/names.py.
"""

import re
from typing import Final

from trimq.codec.names import (
    DLQ_PREFIX,
    OFFSET_MOVED_EVENT,
    RETRY_PREFIX,
    ROCKSDB_TRANS_HALF_TOPIC,
    ROCKSDB_TRANS_OP_HALF_TOPIC,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    is_brokers_own,
)

NOT_ALLOWED_SEND_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
        ROCKSDB_TRANS_HALF_TOPIC,
        ROCKSDB_TRANS_OP_HALF_TOPIC,
    }
)
_PATTERN: Final = "^[%|a-zA-Z0-9_-]+$"
_LEGAL: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_TOPIC_MAX_LENGTH: Final = 127
_RETRY_OR_DLQ_MAX_LENGTH: Final = 255
_GROUP_MAX_LENGTH: Final = 120


def validate_topic(name: str) -> str | None:
    """The remark for a topic name that may not be used, or None."""
    if not name or name.isspace():
        return "The specified topic is blank."
    if _LEGAL.fullmatch(name) is None:
        return f"The specified topic: {name}, contains illegal characters, allowing only {_PATTERN}"
    if name.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        if len(name) > _RETRY_OR_DLQ_MAX_LENGTH:
            return (
                f"The specified topic is DLQ or Retry topic: {name}, and it's longer than topic "
                f"max length: {_RETRY_OR_DLQ_MAX_LENGTH}"
            )
    elif len(name) > _TOPIC_MAX_LENGTH:
        return f"The specified topic: {name}, is longer than topic max length: {_TOPIC_MAX_LENGTH}"
    return None


def validate_group(name: str) -> str | None:
    """The remark for a group name that may not be used, or None."""
    if not name or name.isspace():
        return "The specified group is blank."
    if _LEGAL.fullmatch(name) is None:
        return f"The specified group: {name}, contains illegal characters, allowing only {_PATTERN}"
    if len(name) > _GROUP_MAX_LENGTH:
        return f"The specified group: {name}, is longer than group max length: {_GROUP_MAX_LENGTH}"
    return None


def is_not_allowed_send_topic(name: str) -> bool:
    """Those of TopicValidator, and topics of the broker's own that the original leaves open."""
    return name in NOT_ALLOWED_SEND_TOPICS or is_brokers_own(name)
