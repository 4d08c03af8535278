"""Subscription groups, and how their members ask for messages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.services import background as services
from trimq.broker.services.deletion_lists import PacedWork
from trimq.broker.services.detached_work import DetachedWork
from trimq.broker.services.group_deletion import GroupDeletion, Holder
from trimq.broker.tables.writer import TableWriter
from trimq.broker.topics.table import Topics
from trimq.process.metrics import Sample
from trimq.processors.groups.delete_subscription_group_list import DeleteSubscriptionGroupList
from trimq.processors.groups.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.groups.get_all_message_request_mode import GetAllMessageRequestMode
from trimq.processors.groups.get_all_subscriptiongroup_config import GetAllSubscriptiongroupConfig
from trimq.processors.groups.get_subscriptiongroup_config import GetSubscriptiongroupConfig
from trimq.processors.groups.set_message_request_mode import SetMessageRequestMode
from trimq.processors.groups.update_and_create_subscriptiongroup import (
    UpdateAndCreateSubscriptiongroup,
)
from trimq.processors.groups.update_and_create_subscriptiongroup_list import (
    UpdateAndCreateSubscriptiongroupList,
)
from trimq.processors.groups.update_and_get_group_forbidden import UpdateAndGetGroupForbidden
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.operation.stats import Figures


@dataclass(frozen=True, slots=True)
class Deleting:
    """Who forgets a group, and what takes longer than one request."""

    holders: Sequence[Holder]
    detached: DetachedWork


def part(
    context: Context,
    groups: SubscriptionGroups,
    tables: TableWriter,
    topics: Topics,
    offsets: ConsumerOffsets,
    figures: Figures,
    deleting: Deleting,
    modes: RequestModes,
) -> Part:
    groups.write_by(tables)
    deletion = GroupDeletion(groups, offsets, figures.traffic, deleting.holders)
    paced = PacedWork(deleting.detached)
    settle = partial(partial, services.every_async, services.SETTLE_SECONDS)
    return Part(
        name="groups",
        processors=[
            UpdateAndCreateSubscriptiongroup(groups),
            UpdateAndCreateSubscriptiongroupList(groups),
            DeleteSubscriptiongroup(deletion, deleting.detached),
            DeleteSubscriptionGroupList(context.config, deletion, paced),
            UpdateAndGetGroupForbidden(groups),
            GetSubscriptiongroupConfig(groups),
            GetAllSubscriptiongroupConfig(context.config, groups),
            SetMessageRequestMode(topics, groups, modes),
            GetAllMessageRequestMode(modes),
        ],
        services={
            "end lists of groups": paced.run,
            "settle groups": settle(groups.settle),
            "settle request modes": settle(modes.settle),
        },
        load=partial(_load, groups, modes),
        close=partial(_close, groups, modes),
        samples=partial(_samples, groups),
    )


def _load(groups: SubscriptionGroups, modes: RequestModes) -> None:
    groups.load()
    modes.load()


def _close(groups: SubscriptionGroups, modes: RequestModes) -> None:
    try:
        groups.close()
    finally:
        modes.close()


def _samples(groups: SubscriptionGroups) -> Iterator[Sample]:
    yield Sample("trimq_subscription_groups", "Groups with settings.", "gauge", len(groups))
