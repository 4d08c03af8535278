"""DELETE_SUBSCRIPTIONGROUP: a group's settings, and its offsets when asked to clean them.

Its %RETRY% and %DLQ% topics stay.
"""

from collections.abc import Sequence
from typing import Protocol

from trimq.broker.figures.traffic import Traffic
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.remoting.contract import Processor, Request, Response


class Holder(Protocol):
    """Has something of a group beside its offsets."""

    def forget_group(self, group: str) -> None: ...


class DeleteSubscriptiongroup(Processor[DeleteSubscriptionGroupRequestHeader]):
    codes = (RequestCode.DELETE_SUBSCRIPTIONGROUP,)
    header = DeleteSubscriptionGroupRequestHeader

    def __init__(
        self,
        groups: SubscriptionGroups,
        offsets: ConsumerOffsets,
        traffic: Traffic,
        holders: Sequence[Holder],
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._traffic = traffic
        self._holders = holders

    def handle(self, request: Request[DeleteSubscriptionGroupRequestHeader]) -> Response:
        # First what can fail, as a record of elastic topics: then the request can be repeated.
        for holder in self._holders:
            holder.forget_group(request.header.group_name)
        self._groups.delete(request.header.group_name)
        self._traffic.forget_group(request.header.group_name)
        if request.header.clean_offset:
            self._offsets.forget_group(request.header.group_name)
        return Response()
