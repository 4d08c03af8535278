"""Lite topics, as far as questions about them can be answered without any."""

from trimq.broker.groups.lite import LiteChecks
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.table import Topics
from trimq.processors.lite.get_broker_lite_info import GetBrokerLiteInfo
from trimq.processors.lite.get_lite_client_info import GetLiteClientInfo
from trimq.processors.lite.get_lite_group_info import GetLiteGroupInfo
from trimq.processors.lite.get_lite_topic_info import GetLiteTopicInfo
from trimq.processors.lite.get_parent_topic_info import GetParentTopicInfo
from trimq.processors.lite.trigger_lite_dispatch import TriggerLiteDispatch
from trimq.wiring.given import Given
from trimq.wiring.part import Part


def part(
    given: Given, topics: Topics, groups: SubscriptionGroups, offsets: ConsumerOffsets
) -> Part:
    checks = LiteChecks(topics, groups)
    return Part(
        name="lite",
        processors=[
            GetBrokerLiteInfo(checks, offsets, given.store),
            GetParentTopicInfo(checks),
            GetLiteTopicInfo(checks),
            GetLiteClientInfo(checks),
            GetLiteGroupInfo(checks),
            TriggerLiteDispatch(checks),
        ],
    )
