"""GET_ALL_SUBSCRIPTIONGROUP_CONFIG: all groups, or a page of them for callers that page."""

from collections.abc import Mapping

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.groups import (
    GetAllSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupResponseHeader,
)
from trimq.codec.java import fastjson
from trimq.processors._tables import encode_members
from trimq.remoting.contract import Later, Processor, Request, Response


class GetAllSubscriptiongroupConfig(Processor[GetAllSubscriptionGroupRequestHeader]):
    """The body is a SubscriptionGroupWrapper; a page has the bans of its own groups."""

    codes = (RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,)
    header = GetAllSubscriptionGroupRequestHeader

    def __init__(self, config: BrokerConfig, groups: SubscriptionGroups) -> None:
        self._config = config
        self._groups = groups

    def handle(self, request: Request[GetAllSubscriptionGroupRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[GetAllSubscriptionGroupRequestHeader]) -> Response:
        version = encode_body(self._groups.data_version)
        total = len(self._groups)
        chosen = self._chosen(request.header)
        forbidden = {
            group: topics
            for group, topics in self._groups.forbidden_table().items()
            if group in chosen
        }
        bans = fastjson.dumps(forbidden)
        table = await encode_members(chosen)
        return Response(
            header=GetAllSubscriptionGroupResponseHeader(total_group_num=total),
            body=b'{"dataVersion":%b,"forbiddenTable":%b,"subscriptionGroupTable":%b}'
            % (version, bans, table),
        )

    def _chosen(
        self, header: GetAllSubscriptionGroupRequestHeader
    ) -> Mapping[str, SubscriptionGroupConfig]:
        asked = (header.data_version, header.group_seq, header.max_group_num)
        if not self._config.enable_split_metadata or asked == (None, None, None):
            return self._groups.all()
        first = header.group_seq
        if first is None:
            raise CodecError("a page needs the field 'groupSeq'")
        count = self._config.split_metadata_size
        if header.max_group_num is not None:
            count = min(count, header.max_group_num)
        return self._groups.page(header.data_version, first, count)
