"""DELETE_SUBSCRIPTION_GROUP_LIST: several groups, each as DELETE_SUBSCRIPTIONGROUP does; a blank name refuses them all.

The answer says that all of it is gone, which takes a while: they are deleted at a rate
(batchDeleteSubscriptionGroupMaxRate).
"""

from collections.abc import Iterable, Iterator

from trimq.broker.config import BrokerConfig
from trimq.broker.services.group_deletion import GroupDeletion
from trimq.broker.services.paced import Member, PacedWork
from trimq.broker.steps import Pace
from trimq.codec.bodies.base import decode_if_there
from trimq.codec.bodies.groups import DeleteSubscriptionGroupListRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response


class DeleteSubscriptionGroupList(Processor[None]):
    codes = (RequestCode.DELETE_SUBSCRIPTION_GROUP_LIST,)

    def __init__(self, config: BrokerConfig, deletion: GroupDeletion, paced: PacedWork) -> None:
        self._config = config
        self._deletion = deletion
        self._paced = paced

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    def _rate(self) -> float:
        return self._config.batch_delete_subscription_group_max_rate

    async def _answer(self, request: Request[None]) -> Response:
        body = decode_if_there(DeleteSubscriptionGroupListRequestBody, request.body)
        body = body or DeleteSubscriptionGroupListRequestBody()
        names = await _checked(body.group_name_list or [])
        members = self._members(names, body.clean_offset)
        asked = (f"offsets: {body.clean_offset}", *names)
        work = self._paced.begin(asked, members, self._rate)
        await self._paced.wait(work)
        return Response()

    def _members(self, names: Iterable[str], with_offsets: bool) -> Iterator[Member]:
        for name in names:
            steps = self._deletion.delete(name, with_offsets)
            yield Member(f"deletion of the group {name}, offsets: {with_offsets}", steps)


async def _checked(names: list[str | None]) -> dict[str, None]:
    """The names, each once, in their order."""
    if not names:
        raise _refusal("The specified group name list is blank.")
    found: dict[str, None] = {}
    pace = Pace()
    for name in names:
        await pace.keep()
        if name is None or not name.strip():
            raise _refusal("The specified group name is blank.")
        found[name] = None
    return found


def _refusal(remark: str) -> RemotingError:
    return RemotingError(ResponseCode.INVALID_PARAMETER, remark)
