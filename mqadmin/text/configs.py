"""Configurations of topics and groups as Java's toString prints them."""

from typing import Any

from trimq.codec.bodies.groups import GroupRetryPolicy, SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import Perm
from trimq.mqadmin.text.java import joined, string_map


def topic_text(topic: TopicConfig) -> str:
    """TopicConfig.toString."""
    parts = {
        "topicName": topic.topic_name,
        "readQueueNums": topic.read_queue_nums,
        "writeQueueNums": topic.write_queue_nums,
        "perm": Perm.to_text(topic.perm),
        "topicFilterType": topic.topic_filter_type,
        "topicSysFlag": topic.topic_sys_flag,
        "order": topic.order,
        "attributes": string_map(topic.attributes),
    }
    return f"TopicConfig [{joined(parts)}]"


def group_text(group: SubscriptionGroupConfig) -> str:
    """SubscriptionGroupConfig.toString."""
    return f"SubscriptionGroupConfig{{{joined(group_parts(group))}}}"


def group_parts(group: SubscriptionGroupConfig) -> dict[str, Any]:
    """A group's settings under Java's names, in the order of its class."""
    return {
        "groupName": group.group_name,
        "consumeEnable": group.consume_enable,
        "consumeFromMinEnable": group.consume_from_min_enable,
        "consumeBroadcastEnable": group.consume_broadcast_enable,
        "consumeMessageOrderly": group.consume_message_orderly,
        "retryQueueNums": group.retry_queue_nums,
        "retryMaxTimes": group.retry_max_times,
        "groupRetryPolicy": _policy_text(group.group_retry_policy),
        "brokerId": group.broker_id,
        "whichBrokerWhenConsumeSlowly": group.which_broker_when_consume_slowly,
        "notifyConsumerIdsChangedEnable": group.notify_consumer_ids_changed_enable,
        "groupSysFlag": group.group_sys_flag,
        "consumeTimeoutMinute": group.consume_timeout_minute,
        "subscriptionDataSet": group.subscription_data_set,
        "attributes": string_map(group.attributes),
    }


def _policy_text(policy: GroupRetryPolicy) -> str:
    exponential, customized = policy.exponential_retry_policy, policy.customized_retry_policy
    parts = {
        "type": policy.type,
        "exponentialRetryPolicy": exponential
        and "ExponentialRetryPolicy{"
        + joined(
            {
                "initial": exponential.initial,
                "max": exponential.max,
                "multiplier": exponential.multiplier,
            }
        )
        + "}",
        "customizedRetryPolicy": customized
        and f"CustomizedRetryPolicy{{{joined({'next': customized.next})}}}",
    }
    return f"GroupRetryPolicy{{{joined(parts)}}}"
