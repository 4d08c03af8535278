"""DELETE_SUBSCRIPTIONGROUP: a group's settings, and its offsets when asked to clean them.

Its %RETRY% and %DLQ% topics stay.
"""

from functools import partial

from trimq.broker.services.detached_work import DetachedWork, Work
from trimq.broker.services.group_deletion import GroupDeletion
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.remoting.contract import Later, Processor, Request, Response

Asked = Request[DeleteSubscriptionGroupRequestHeader]


class DeleteSubscriptiongroup(Processor[DeleteSubscriptionGroupRequestHeader]):
    codes = (RequestCode.DELETE_SUBSCRIPTIONGROUP,)
    header = DeleteSubscriptionGroupRequestHeader

    def __init__(self, deletion: GroupDeletion, detached: DetachedWork) -> None:
        self._deletion = deletion
        self._detached = detached

    def handle(self, request: Asked) -> Response | Later:
        group, with_offsets = request.header.group_name, request.header.clean_offset
        name = f"deletion of the group {group}, offsets: {with_offsets}"
        work = self._detached.begin(name, self._deletion.delete(group, with_offsets))
        if work is None:
            return Response()
        return Later(request, partial(_finish, self._detached, work), keeps_body=False)


async def _finish(detached: DetachedWork, work: Work, request: Asked) -> Response:
    await detached.wait(work)
    return Response()
