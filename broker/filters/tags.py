"""Which tag hashes a subscription asks for (FilterAPI, ExpressionMessageFilter).

The broker compares hashes only; clients compare the tags themselves again.

Hot: compiled by mypyc when a compiler is there.
"""

from functools import lru_cache
from typing import Final

from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.java.hashes import string_hash

SUBSCRIBE_ALL = "*"
TAG = "TAG"
SQL92 = "SQL92"

# Longer ones are refused; only short ones are remembered, because clients choose them.
_LONGEST: Final = 1 << 16
_LONGEST_REMEMBERED: Final = 1 << 10


class SubscriptionUnreadable(ValueError):
    """The expression cannot be parsed."""


def is_tag_type(expression_type: str | None) -> bool:
    """ExpressionType.isTagType: an absent type means tags."""
    return not expression_type or expression_type == TAG


def parse_tags(expression: str | None) -> frozenset[str] | None:
    """The tags of `A || B`; None for all of them.

    Blank tags are left out, so a blank expression wants none. An expression of nothing but
    separators is an error, and so is one of more than 65,536 characters.
    """
    if not expression or expression == SUBSCRIBE_ALL:
        return None
    if len(expression) <= _LONGEST_REMEMBERED:
        return _remembered_tags(expression)
    return _split(expression)


def parse_tag_codes(expression: str | None) -> frozenset[int] | None:
    """The hashes of the tags of `A || B`; None for all."""
    if not expression or expression == SUBSCRIBE_ALL:
        return None
    if len(expression) <= _LONGEST_REMEMBERED:
        return _remembered_codes(expression)
    return _hashed(expression)


def _split(expression: str) -> frozenset[str]:
    if len(expression) > _LONGEST:
        raise SubscriptionUnreadable(
            f"an expression of {len(expression)} characters is beyond the {_LONGEST} allowed"
        )
    parts = expression.split("||")
    if not any(parts):
        raise SubscriptionUnreadable(f"no tags in {expression!r}")
    return frozenset(part for part in map(str.strip, parts) if part)


def _hashed(expression: str) -> frozenset[int]:
    return frozenset(map(string_hash, _split(expression)))


@lru_cache(maxsize=4096)
def _remembered_tags(expression: str) -> frozenset[str]:
    return _split(expression)


@lru_cache(maxsize=4096)
def _remembered_codes(expression: str) -> frozenset[int]:
    return _hashed(expression)


def requested_codes(expression: str | None, expression_type: str | None) -> frozenset[int] | None:
    """The hashes that a pull's own subscription asks for (FilterAPI.build).

    Only an absent type and `TAG` itself are parsed. An empty type counts as a tag type later on,
    but then no tag is known: all messages or none.
    """
    if expression_type is None or expression_type == TAG:
        return parse_tag_codes(expression)
    if not expression:
        raise SubscriptionUnreadable(f"an expression of type {expression_type!r} is missing")
    return None if expression == SUBSCRIBE_ALL else frozenset()


def subscribed_codes(subscription: SubscriptionData) -> frozenset[int] | None:
    """The hashes that a group's subscription asks for, as its members sent it."""
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
