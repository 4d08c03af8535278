"""DELETE_SUBSCRIPTION_GROUP_LIST: several groups, each as DELETE_SUBSCRIPTIONGROUP does; a blank name refuses them all.

The answer says that all of it is gone, which takes a while: they are deleted at a rate
(batchDeleteSubscriptionGroupMaxRate).
"""

from collections.abc import Iterable, Iterator

from trimq.broker.config import BrokerConfig
from trimq.broker.services.deletion_lists import Member, PacedWork
from trimq.broker.services.group_deletion import GroupDeletion
from trimq.codec.bodies.base import decode_if_there
from trimq.codec.bodies.groups import DeleteSubscriptionGroupListRequestBody
from trimq.codec.codes import RequestCode
from trimq.processors._listed_names import each_once
from trimq.remoting.contract import Later, Processor, Request, Response


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
        names = await each_once(body.group_name_list or [], "group name list", "group name")
        members = self._members(names, body.clean_offset)
        asked = (f"offsets: {body.clean_offset}", *names)
        work = self._paced.begin(asked, members, self._rate)
        await self._paced.wait(work)
        return Response()

    def _members(self, names: Iterable[str], with_offsets: bool) -> Iterator[Member]:
        for name in names:
            steps = self._deletion.delete(name, with_offsets)
            yield Member(f"deletion of the group {name}, offsets: {with_offsets}", steps)
