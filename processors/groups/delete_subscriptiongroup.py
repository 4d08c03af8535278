"""DELETE_SUBSCRIPTIONGROUP: a group's settings, and its offsets when asked to clean them.

Its %RETRY% and %DLQ% topics stay.
"""

from functools import partial

from trimq.broker.services.begun import BegunWork, Work
from trimq.broker.services.group_deletion import GroupDeletion
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.remoting.contract import Later, Processor, Request, Response

Asked = Request[DeleteSubscriptionGroupRequestHeader]


class DeleteSubscriptiongroup(Processor[DeleteSubscriptionGroupRequestHeader]):
    codes = (RequestCode.DELETE_SUBSCRIPTIONGROUP,)
    header = DeleteSubscriptionGroupRequestHeader

    def __init__(self, deletion: GroupDeletion, begun: BegunWork) -> None:
        self._deletion = deletion
        self._begun = begun

    def handle(self, request: Asked) -> Response | Later:
        group, with_offsets = request.header.group_name, request.header.clean_offset
        name = f"deletion of the group {group}, offsets: {with_offsets}"
        work = self._begun.begin(name, self._deletion.delete(group, with_offsets))
        if work is None:
            return Response()
        return Later(request, partial(_finish, self._begun, work), keeps_body=False)


async def _finish(begun: BegunWork, work: Work, request: Asked) -> Response:
    await begun.wait(work)
    return Response()
