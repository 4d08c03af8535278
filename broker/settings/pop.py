"""POP: what a pop gets, how it waits, and what comes again."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class PopSettings:
    """What is handed out, and what is put back."""

    __slots__ = ()

    revive_queue_num: int = setting(8, "Queues of the POP revive topic.", at_least=1, at_most=1024)
    revive_interval: int = setting(
        1000,
        "How often POP looks for what was not acknowledged, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    skip_when_ck_re_put_reach_max_times: bool = setting(
        False,
        "With POP, a message that cannot be put back is given up after 17 more tries, in five hours.",
        key="skipWhenCKRePutReachMaxTimes",
        live=True,
    )
    init_pop_offset_by_check_msg_in_mem: bool = setting(
        True,
        "A group that begins to pop at the end gets all of a queue that still has its first message; false: the last.",
        live=True,
    )
    pop_from_retry_probability: int = setting(
        20,
        "Percentage of pops that look for messages to be tried again first, not last.",
        at_least=0,
        at_most=100,
        live=True,
    )
    pop_from_retry_probability_for_priority: int = setting(
        0,
        "The same for topics of PRIORITY messages.",
        at_least=0,
        at_most=100,
        live=True,
    )
    retrieve_message_from_pop_retry_topic_v1: bool = setting(
        True, "With enableRetryTopicV2, every second pop looks at %RETRY%group_topic.", live=True
    )
    priority_order_asc: bool = setting(
        True, "A pop goes through a topic's queues from the highest number down.", live=True
    )
    enable_retry_topic_v2: bool = setting(
        False,
        "What a pop group does not acknowledge goes to %RETRY%group+topic, not group_topic.",
        live=True,
    )
    pop_response_return_actual_retry_topic: bool = setting(
        False, "Pops return messages to be tried again under their retry topic.", live=True
    )
    pop_polling_size: int = setting(
        1024, "Pops that may wait for the same queues of a group.", at_least=0, live=True
    )
    max_pop_polling_size: int = setting(
        100_000, "Pops that may wait.", at_least=0, live=True, long=True
    )
    max_message_filter_num_for_notification: int = setting(
        64,
        "A NOTIFICATION looks at tags if a queue has fewer messages than this.",
        at_least=0,
        live=True,
    )
    use_message_filter_for_notification: bool = setting(
        True, "A NOTIFICATION heeds its filter; false: any message counts.", live=True
    )
