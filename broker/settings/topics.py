"""Topics and subscription groups: which there are from the start, which come by themselves, and how they go."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting
from trimq.codec.names import TRACE_TOPIC


@dataclass(frozen=True, kw_only=True)
class TopicSettings:
    """Its topics, and its groups."""

    __slots__ = ()

    default_topic_queue_nums: int = setting(
        8, "Queues of TBW102, the most that auto-created topics get.", at_least=1, at_most=16_384
    )
    auto_create_topic_enable: bool = setting(
        True, "Create a topic when the first message for it is sent.", live=True
    )
    cluster_topic_enable: bool = setting(True, "The topic named after the cluster may be used.")
    broker_topic_enable: bool = setting(True, "The topic named after the broker may be used.")
    trace_topic_enable: bool = setting(False, "Create the message trace topic at start.")
    msg_trace_topic_name: str = setting(TRACE_TOPIC, "The message trace topic.")
    enable_mixed_message_type: bool = setting(
        False, "Allow topics with message.type=MIXED.", live=True
    )
    validate_system_topic_when_update_topic: bool = setting(
        True, "Refuse to change system topics by UPDATE_AND_CREATE_TOPIC.", live=True
    )
    clear_retry_topic_when_delete_topic: bool = setting(
        True, "Deleting a topic deletes its POP retry topics too.", live=True
    )
    batch_delete_topic_max_rate: float = setting(
        10.0,
        "How many topics of a list (deleteTopic -t A,B) are deleted a second, POP retry topics counted; 0: unlimited.",
        at_most=1_000_000,
        live=True,
    )
    auto_create_subscription_group: bool = setting(
        True, "Create a subscription group when it is first used.", live=True
    )
    enable_create_sys_group: bool = setting(
        True, "CID_RMQ_SYS_ groups are created even when auto-creation is off.", live=True
    )
    batch_delete_subscription_group_max_rate: float = setting(
        10.0,
        "How many groups of a list (deleteSubGroup -g a,b) are deleted a second; 0: unlimited.",
        at_most=1_000_000,
        live=True,
    )
    enable_split_metadata: bool = setting(
        True, "Answer topic and group tables in pages.", live=True
    )
    split_metadata_size: int = setting(2000, "Topics or groups in one page.", at_least=1, live=True)
    enable_lmq_stats: bool = setting(
        False,
        "With enableLmq: figures of what is handed out and sent back for each light queue, instead of all together.",
    )
