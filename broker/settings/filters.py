"""Filters by the properties of messages (SQL92)."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class FilterSettings:
    """Which filters there may be, and what is noted of them."""

    __slots__ = ()

    enable_property_filter: bool = setting(
        False, "Allow SQL92 subscriptions: filters by the properties of messages.", live=True
    )
    filter_support_retry: bool = setting(
        False,
        "An SQL92 subscription to a retry topic filters by what the group wants of each message's own topic.",
        live=True,
    )
    filter_data_clean_time_span: int = setting(
        86_400_000,
        "Milliseconds after which the filters of a group that has left are forgotten.",
        at_least=0,
        long=True,
        live=True,
    )
    enable_calc_filter_bit_map: bool = setting(
        False,
        "With enableConsumeQueueExt: note in the queue which groups' filters a new message matches, so that their"
        " pulls need not look at the others.",
    )
    expect_consumer_num_use_filter: int = setting(
        32,
        "Groups with filters on one topic, for which those notes are made.",
        at_least=1,
        at_most=10_000,
    )
    max_error_rate_of_bloom_filter: int = setting(
        20,
        "How many of those notes may say yes wrongly, as a percentage; such a message is looked at.",
        at_least=1,
        at_most=99,
    )
