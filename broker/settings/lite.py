"""Lite topics: subscriptions, news for clients, and how long topics live."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class LiteSettings:
    """How many there may be, and when which is looked at."""

    __slots__ = ()

    max_lite_subscription_count: int = setting(
        100_000, "Subscriptions to lite topics, of all clients.", at_least=0, live=True, long=True
    )
    lite_subscription_check_interval: int = setting(
        120_000,
        "How often silent lite clients are looked for, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    lite_subscription_check_timeout_mills: int = setting(
        180_000,
        "The subscriptions of a lite client that stops sending them end after this, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    max_client_event_count: int = setting(
        100,
        "Lite topics with news a client is told of at a time; a group's lite.sub.client.max.event.cnt comes first.",
        at_least=1,
        live=True,
    )
    lite_event_check_interval: int = setting(
        10_000,
        "How often clients that do not fetch their news are looked for, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    lite_event_full_dispatch_delay_time: int = setting(
        10_000,
        "How long after its news were too many all lite topics of a client are looked at, in ms.",
        at_least=0,
        live=True,
        long=True,
    )
    lite_event_full_dispatch_delay_time_for_wildcard_group: int = setting(
        10_000, "The same for a group that reads all lite topics.", at_least=0, live=True, long=True
    )
    lite_event_capacity_cache_ttl_ms: int = setting(
        5000,
        "How long a group's lite.sub.client.max.event.cnt is remembered, in ms; 0: it is looked up each time.",
        at_least=0,
        live=True,
        long=True,
    )
    lite_ttl_check_interval: int = setting(
        120_000,
        "How often lite topics that have expired are looked for, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    min_lite_ttl: int = setting(
        900_000,
        "No lite topic expires earlier than this, in ms, nor that soon after a start.",
        key="minLiteTTl",
        at_least=0,
        live=True,
        long=True,
    )
    lite_lag_latency_collect_enable: bool = setting(
        False, "Remember which lite topics a group is behind in, for getLiteGroupInfo.", live=True
    )
    lite_lag_latency_top_k: int = setting(
        50, "Lite topics that are remembered so for a group.", at_least=1, live=True
    )
