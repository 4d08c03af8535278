"""What a call's fields may say (GrpcValidator, and the client library's Validators)."""

import re
from typing import Final

from trimq.codec.names import is_system_group, is_system_topic
from trimq.proxy.protos.definition_pb2 import Code, Resource
from trimq.proxy.statuses import ProxyError

_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_ALLOWED: Final = "^[%|a-zA-Z0-9_-]+$"
_LITE: Final = re.compile(r"[a-zA-Z0-9_-]+")
_TOPIC_MOST: Final = 127
_GROUP_MOST: Final = 120
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def check_topic(topic: Resource) -> str:
    """Its name."""
    name = topic.name
    if is_blank(name):
        raise ProxyError(Code.ILLEGAL_TOPIC, "The specified topic is blank")
    if len(name) > _TOPIC_MOST:
        raise ProxyError(
            Code.ILLEGAL_TOPIC,
            f"The specified topic is longer than topic max length {_TOPIC_MOST}.",
        )
    if _NAME.fullmatch(name) is None:
        raise ProxyError(
            Code.ILLEGAL_TOPIC,
            f"The specified topic[{name}] contains illegal characters, allowing only {_ALLOWED}",
        )
    if is_system_topic(name):
        raise ProxyError(Code.ILLEGAL_TOPIC, "cannot access system topic")
    return name


def check_group(group: Resource) -> str:
    """Its name."""
    name = group.name
    if is_blank(name):
        raise ProxyError(Code.ILLEGAL_CONSUMER_GROUP, "the specified group is blank")
    if len(name) > _GROUP_MOST:
        raise ProxyError(
            Code.ILLEGAL_CONSUMER_GROUP,
            f"the specified group[{name}] is longer than group max length: {_GROUP_MOST}.",
        )
    if _NAME.fullmatch(name) is None:
        raise ProxyError(
            Code.ILLEGAL_CONSUMER_GROUP,
            f"the specified group[{name}] contains illegal characters, allowing only {_ALLOWED}",
        )
    if is_system_group(name):
        raise ProxyError(Code.ILLEGAL_CONSUMER_GROUP, "cannot use system consumer group")
    return name


def check_invisible(millis: int, least: int, most: int) -> None:
    """`most`: 0 for no bound."""
    if millis < least:
        raise ProxyError(
            Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small. min is {least}"
        )
    if 0 < most < millis:
        raise ProxyError(
            Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {most}"
        )


def check_tag(tag: str) -> None:
    if not tag:
        return
    if is_blank(tag):
        raise ProxyError(Code.ILLEGAL_MESSAGE_TAG, "tag cannot be the char sequence of whitespace")
    if "|" in tag:
        raise ProxyError(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
    if has_control(tag):
        raise ProxyError(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain control character")


def check_lite_topic(name: str, most: int) -> None:
    if is_blank(name):
        raise ProxyError(
            Code.ILLEGAL_LITE_TOPIC, "lite topic cannot be the char sequence of whitespace"
        )
    if len(name.encode()) > most:
        raise ProxyError(Code.ILLEGAL_LITE_TOPIC, f"lite topic exceed the max size {most}")
    if _LITE.fullmatch(name) is None:
        raise ProxyError(
            Code.ILLEGAL_LITE_TOPIC,
            "lite topic can only contain alphanumeric characters, hyphens(-), and underscores(_)",
        )


def is_blank(text: str) -> bool:
    """Nothing, or white space only."""
    return not text or text.isspace()


def has_control(text: str) -> bool:
    """Whether there is a control character in it (CharMatcher.javaIsoControl)."""
    return _CONTROL.search(text) is not None
