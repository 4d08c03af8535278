"""SyncLiteSubscription: which lite topics a client reads (ClientActivity)."""

from __future__ import annotations

from typing import Final

from trimq.codec.bodies.lite import LiteSubscriptionDTO, OffsetOption
from trimq.codec.enums import LiteSubscriptionAction as Action
from trimq.proxy.checks import check_group, check_lite_topic, check_topic
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.lite import LiteSubscriptions
from trimq.proxy.protos import definition_pb2 as protos
from trimq.proxy.protos.definition_pb2 import Code, LiteSubscriptionAction
from trimq.proxy.protos.service_pb2 import (
    SyncLiteSubscriptionRequest,
    SyncLiteSubscriptionResponse,
)
from trimq.proxy.statuses import OK, ProxyError

_ACTIONS: Final[dict[int, Action]] = {
    LiteSubscriptionAction.PARTIAL_ADD: "PARTIAL_ADD",
    LiteSubscriptionAction.PARTIAL_REMOVE: "PARTIAL_REMOVE",
    LiteSubscriptionAction.COMPLETE_ADD: "COMPLETE_ADD",
    LiteSubscriptionAction.COMPLETE_REMOVE: "COMPLETE_REMOVE",
}
_POLICIES: Final = {
    protos.OffsetOption.LAST: 0,
    protos.OffsetOption.MIN: 1,
    protos.OffsetOption.MAX: 2,
}


class SyncLiteSubscription:
    def __init__(self, config: ProxyConfig, subscriptions: LiteSubscriptions) -> None:
        self._config = config
        self._subscriptions = subscriptions

    async def __call__(
        self, caller: Caller, request: SyncLiteSubscriptionRequest
    ) -> SyncLiteSubscriptionResponse:
        topic, group = check_topic(request.topic), check_group(request.group)
        action = _ACTIONS.get(request.action)
        if action is None:
            raise ProxyError(
                Code.INTERNAL_SERVER_ERROR, "unknown LiteSubscriptionAction: UNRECOGNIZED"
            )
        lite_topics = list(dict.fromkeys(request.lite_topic_set))
        adds = action == "PARTIAL_ADD"
        if adds:
            for name in lite_topics:
                check_lite_topic(name, self._config.max_lite_topic_size)
        said = LiteSubscriptionDTO(
            action=action,
            client_id=caller.client_id,
            group=group,
            topic=topic,
            lite_topic_set=[*lite_topics],
            version=request.version,
        )
        if adds and request.HasField("offset_option"):
            said.offset_option = _option(request.offset_option)
        await self._subscriptions.sync(said)
        return SyncLiteSubscriptionResponse(status=OK)


def _option(asked: protos.OffsetOption) -> OffsetOption:
    """Where the client begins; ProxyError when it does not say."""
    kind = asked.WhichOneof("offset_type")
    if kind == "policy":
        value = _POLICIES.get(asked.policy)
        if value is None:
            raise ProxyError(
                Code.INTERNAL_SERVER_ERROR, "Unknown OffsetOption.Policy value: UNRECOGNIZED"
            )
        return OffsetOption(type="POLICY", value=value)
    if kind == "offset":
        return OffsetOption(type="OFFSET", value=asked.offset)
    if kind == "tail_n":
        return OffsetOption(type="TAIL_N", value=asked.tail_n)
    if kind == "timestamp":
        return OffsetOption(type="TIMESTAMP", value=asked.timestamp)
    raise ProxyError(Code.INTERNAL_SERVER_ERROR, "Unknown OffsetOption type: OFFSETTYPE_NOT_SET")
