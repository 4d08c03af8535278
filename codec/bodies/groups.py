"""Consumer-group configurations."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.topics import DataVersion
from trimq.codec.enums import GroupRetryPolicyType


class SimpleSubscriptionData(Body, kw_only=True):
    """A subscription that an administrator gave a group."""

    expression: str | None = None
    expression_type: str | None = None
    topic: str | None = None
    version: Int64 = 0


class CustomizedRetryPolicy(Body, kw_only=True):
    """Waiting times in milliseconds, one per retry."""

    next: list[Int64] = msgspec.field(default_factory=list)


class ExponentialRetryPolicy(Body, kw_only=True):
    """Waiting times in milliseconds that grow by a factor."""

    initial: Int64 = 5000
    max: Int64 = 7200000
    multiplier: Int64 = 2


class GroupRetryPolicy(Body, kw_only=True):
    """How long a POP group's messages stay hidden before the next try."""

    customized_retry_policy: CustomizedRetryPolicy | None = None
    exponential_retry_policy: ExponentialRetryPolicy | None = None
    type: GroupRetryPolicyType = "CUSTOMIZED"


class SubscriptionGroupConfig(Body, kw_only=True):
    """One consumer group."""

    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    broker_id: Int64 = 0
    consume_broadcast_enable: bool = True
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_message_orderly: bool = False
    consume_timeout_minute: Int32 = 15
    group_name: str = ""
    group_retry_policy: GroupRetryPolicy = msgspec.field(default_factory=GroupRetryPolicy)
    group_sys_flag: Int32 = 0
    notify_consumer_ids_changed_enable: bool = True
    retry_max_times: Int32 = 16
    retry_queue_nums: Int32 = 1
    subscription_data_set: list[SimpleSubscriptionData] | None = None
    which_broker_when_consume_slowly: Int64 = 1


class SubscriptionGroupWrapper(Body, kw_only=True):
    """`subscriptionGroup.json`, and the answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""

    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    forbidden_table: dict[str, dict[str, Int32]] = msgspec.field(default_factory=dict)
    subscription_group_table: dict[str, SubscriptionGroupConfig] = msgspec.field(
        default_factory=dict
    )


class SubscriptionGroupList(Body, kw_only=True):
    """UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST."""

    group_config_list: list[SubscriptionGroupConfig] = msgspec.field(default_factory=list)


class DeleteSubscriptionGroupListRequestBody(Body, kw_only=True):
    """DELETE_SUBSCRIPTION_GROUP_LIST."""

    clean_offset: bool = False
    group_name_list: list[str | None] | None = None
