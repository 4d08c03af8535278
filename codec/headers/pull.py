"""Headers of pulling."""

from typing import ClassVar

from trimq.codec.headers.base import Header, Integer, Long, TopicHeader


class PullMessageRequestHeader(TopicHeader, kw_only=True):
    """Asks for PULL_MESSAGE, LITE_PULL_MESSAGE."""

    strict: ClassVar[bool] = True

    consumer_group: str
    topic: str
    lite_topic: str | None = None
    queue_id: Integer
    queue_offset: Long
    max_msg_nums: Integer
    sys_flag: Integer
    commit_offset: Long | None = None
    suspend_timeout_millis: Long | None = None
    subscription: str | None = None
    sub_version: Long | None = None
    expression_type: str | None = None
    max_msg_bytes: Integer | None = None
    request_source: Integer | None = None
    proxy_froward_client_id: str | None = None


class PullMessageResponseHeader(Header, kw_only=True):
    """Answers PULL_MESSAGE, LITE_PULL_MESSAGE."""

    strict: ClassVar[bool] = True

    suggest_which_broker_id: Long
    next_begin_offset: Long
    min_offset: Long
    max_offset: Long
    offset_delta: Long | None = None
    topic_sys_flag: Integer | None = None
    group_sys_flag: Integer | None = None
    forbidden_type: Integer | None = None
