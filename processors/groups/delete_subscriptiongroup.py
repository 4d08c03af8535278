"""DELETE_SUBSCRIPTIONGROUP: a group's settings, and its offsets when asked to clean them.

Its %RETRY% and %DLQ% topics stay.
"""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from trimq.broker.figures.traffic import Traffic
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.services.begun import BegunWork, Work
from trimq.broker.steps import Steps
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.remoting.contract import Later, Processor, Request, Response

Asked = Request[DeleteSubscriptionGroupRequestHeader]


class Holder(Protocol):
    """Has something of a group beside its offsets."""

    def forget_group(self, group: str) -> Steps[None] | None:
        """None: that is done. Otherwise there may be much of it."""


class DeleteSubscriptiongroup(Processor[DeleteSubscriptionGroupRequestHeader]):
    codes = (RequestCode.DELETE_SUBSCRIPTIONGROUP,)
    header = DeleteSubscriptionGroupRequestHeader

    def __init__(
        self,
        groups: SubscriptionGroups,
        offsets: ConsumerOffsets,
        traffic: Traffic,
        holders: Sequence[Holder],
        begun: BegunWork,
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._traffic = traffic
        self._holders = holders
        self._begun = begun

    def handle(self, request: Asked) -> Response | Later:
        group, with_offsets = request.header.group_name, request.header.clean_offset
        name = f"deletion of the group {group}, offsets: {with_offsets}"
        work = self._begun.begin(name, self._delete(group, with_offsets))
        if work is None:
            return Response()
        return Later(request, partial(_finish, self._begun, work), keeps_body=False)

    def _delete(self, group: str, with_offsets: bool) -> Steps[None]:
        # First what can fail, as a record of elastic topics: then the request can be repeated.
        for holder in self._holders:
            steps = holder.forget_group(group)
            if steps is not None:
                yield from steps
        self._groups.delete(group)
        yield from self._traffic.forget_group(group)
        if with_offsets:
            yield from self._offsets.forget_group(group)


async def _finish(begun: BegunWork, work: Work, request: Asked) -> Response:
    await begun.wait(work)
    return Response()
