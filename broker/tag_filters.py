"""Which tag hashes a subscription asks for (FilterAPI, ExpressionMessageFilter).

The broker compares hashes only; clients compare the tags themselves again.
"""

from functools import lru_cache

from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.java import string_hash

SUBSCRIBE_ALL = "*"
TAG = "TAG"
SQL92 = "SQL92"


class SubscriptionUnreadable(ValueError):
    """The expression cannot be taken apart."""


def is_tag_type(expression_type: str | None) -> bool:
    """ExpressionType.isTagType: nothing said means tags."""
    return not expression_type or expression_type == TAG


@lru_cache(maxsize=4096)
def parse_tags(expression: str | None) -> frozenset[str] | None:
    """The tags of `A || B`; None for all of them.

    Blank tags are left out, so a blank expression wants none. One of separators alone is an error.
    """
    if not expression or expression == SUBSCRIBE_ALL:
        return None
    parts = expression.split("||")
    if not any(parts):
        raise SubscriptionUnreadable(f"no tags in {expression!r}")
    return frozenset(part for part in map(str.strip, parts) if part)


@lru_cache(maxsize=4096)
def parse_tag_codes(expression: str | None) -> frozenset[int] | None:
    """The hashes of the tags of `A || B`; None for all."""
    tags = parse_tags(expression)
    return None if tags is None else frozenset(map(string_hash, tags))


def requested_codes(expression: str | None, expression_type: str | None) -> frozenset[int] | None:
    """The hashes that a pull's own subscription asks for (FilterAPI.build).

    Only an absent type and `TAG` itself are taken apart. An empty type counts as a tag type later
    on, but no tag is known then: all messages or none.
    """
    if expression_type is None or expression_type == TAG:
        return parse_tag_codes(expression)
    if not expression:
        raise SubscriptionUnreadable(f"an expression of type {expression_type!r} is missing")
    return None if expression == SUBSCRIBE_ALL else frozenset()


def subscribed_codes(subscription: SubscriptionData) -> frozenset[int] | None:
    """The hashes that a group's subscription, as its members sent it, asks for."""
    if subscription.class_filter_mode or subscription.sub_string == SUBSCRIBE_ALL:
        return None
    return frozenset(subscription.code_set)


def build_subscription(
    topic: str, expression: str | None, expression_type: str | None, version: int
) -> SubscriptionData:
    """What a pull's own subscription looks like as a group's (FilterAPI.build)."""
    if expression_type is None or expression_type == TAG:
        return SubscriptionData(
            topic=topic,
            sub_string=expression or SUBSCRIBE_ALL,
            code_set=set(parse_tag_codes(expression) or ()),
            tags_set=set(parse_tags(expression) or ()),
            sub_version=version,
        )
    return SubscriptionData(
        topic=topic,
        sub_string=expression,
        expression_type=expression_type,
        sub_version=version,
    )
