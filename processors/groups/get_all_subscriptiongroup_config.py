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
from trimq.codec.java.rows import object_steps
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Request, Response


class GetAllSubscriptiongroupConfig(SteppedProcessor[GetAllSubscriptionGroupRequestHeader]):
    """The body is a SubscriptionGroupWrapper; a page has the bans of its own groups."""

    codes = (RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,)
    header = GetAllSubscriptionGroupRequestHeader

    def __init__(self, config: BrokerConfig, groups: SubscriptionGroups) -> None:
        self._config = config
        self._groups = groups

    def steps(self, request: Request[GetAllSubscriptionGroupRequestHeader]) -> AnswerSteps:
        version = encode_body(self._groups.data_version)
        total = len(self._groups)
        chosen = self._chosen(request.header)
        forbidden = {
            group: topics
            for group, topics in self._groups.forbidden_table().items()
            if group in chosen
        }
        # As of the time of the question, whatever changes in the meantime.
        members = list(chosen.items())
        bans = yield from object_steps(forbidden.items())
        table = yield from object_steps(members)
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
