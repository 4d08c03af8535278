"""LITE_SUBSCRIPTION_CTL (200071): which lite topics clients read (LiteSubscriptionCtlProcessor)."""

import logging
from functools import partial

from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.registry import (
    WITHOUT_TYPE,
    LiteSubscriptions,
    NotForWildcards,
    OptionWithoutType,
    QuotaExceeded,
)
from trimq.broker.lite.request_order import RequestOrder
from trimq.broker.lite.sharding import LiteSharding
from trimq.broker.lite.unsubscribe_notices import UnsubscribeNotices
from trimq.broker.steps import in_steps
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.lite import LiteSubscriptionCtlRequestBody, LiteSubscriptionDTO
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.lite import LiteSubscriptionCtlRequestHeader
from trimq.codec.names import lite_queue
from trimq.remoting.contract import Later, Peer, Processor, RemotingError, Request, Response

log = logging.getLogger("trimq.lite")

_QUOTA = "org.apache.rocketmq.broker.lite.LiteQuotaException"
_STATE = "java.lang.IllegalStateException"
Asked = Request[LiteSubscriptionCtlRequestHeader]


class LiteSubscriptionCtl(Processor[LiteSubscriptionCtlRequestHeader]):
    """Which broker a lite topic belongs to may have to be asked of the NameServers first."""

    codes = (RequestCode.LITE_SUBSCRIPTION_CTL,)
    header = LiteSubscriptionCtlRequestHeader

    def __init__(
        self,
        metadata: LiteMetadata,
        subscriptions: LiteSubscriptions,
        sharding: LiteSharding,
        clients: UnsubscribeNotices,
    ) -> None:
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._sharding = sharding
        self._clients = clients
        self._order = RequestOrder()

    def handle(self, request: Asked) -> Response | Later:
        if not request.body:
            raise RemotingError(ResponseCode.ILLEGAL_OPERATION, "Request body is null.")
        try:
            body = decode_request(LiteSubscriptionCtlRequestBody, request.body)
        except CodecError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        if not body.subscription_set:
            raise RemotingError(
                ResponseCode.ILLEGAL_OPERATION, "LiteSubscriptionCtlRequestBody is empty."
            )
        entries = body.subscription_set
        return Later(request, partial(self._in_turn, self._order.number(), entries))

    async def _in_turn(
        self, number: int, entries: list[LiteSubscriptionDTO], request: Asked
    ) -> Response:
        async with self._order.turn(number, [entry.client_id or "" for entry in entries]):
            return await self._change(entries, request)

    async def _change(self, entries: list[LiteSubscriptionDTO], request: Asked) -> Response:
        """One after the other; what was done before a refusal stays, as there."""
        for entry in entries:
            client_id, group, topic = entry.client_id, entry.group, entry.topic
            if not _all_given(client_id, group, topic):
                log.warning("lite subscription left out: client=%s group=%s", client_id, group)
                continue
            await self._change_one(entry, client_id or "", group or "", topic or "", request.peer)
            if self._needs_names(entry.action, group or "") and not all(entry.lite_topic_set or ()):
                # An exception there, when the others are done.
                raise RemotingError(ResponseCode.SYSTEM_ERROR, "liteTopicSet has an empty name")
        return Response()

    def _needs_names(self, action: str | None, group: str) -> bool:
        if action == "COMPLETE_ADD":
            return not self._metadata.is_wildcard(group)
        return action != "COMPLETE_REMOVE"

    async def _change_one(
        self, entry: LiteSubscriptionDTO, client_id: str, group: str, topic: str, peer: Peer
    ) -> None:
        subscriptions, action = self._subscriptions, entry.action
        queues = [lite_queue(topic, name) for name in entry.lite_topic_set or () if name]
        if action is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                "an entry of subscriptionSet has no action: PARTIAL_ADD, PARTIAL_REMOVE, "
                "COMPLETE_ADD or COMPLETE_REMOVE",
            )
        if action == "PARTIAL_REMOVE":
            await in_steps(subscriptions.remove(client_id, group, topic, queues))
            return
        if action == "COMPLETE_REMOVE":
            self._clients.forget(client_id)
            await in_steps(subscriptions.remove_client(client_id))
            return
        if not self._metadata.may_consume(group):
            raise RemotingError(
                ResponseCode.ILLEGAL_OPERATION,
                f"{_STATE}: Consumer group is not allowed to consume.",
            )
        self._clients.heard(client_id, peer)
        active = await self._sharding.active(topic, queues)
        if action == "COMPLETE_ADD":
            await in_steps(subscriptions.replace(client_id, group, topic, active))
            return
        option = entry.offset_option
        kind, value = (None, 0) if option is None else (option.type or WITHOUT_TYPE, option.value)
        try:
            await in_steps(subscriptions.add(client_id, group, topic, active, kind, value))
        except QuotaExceeded as error:
            raise RemotingError(
                ResponseCode.LITE_SUBSCRIPTION_QUOTA_EXCEEDED, f"{_QUOTA}: {error}"
            ) from None
        except NotForWildcards as error:
            raise RemotingError(ResponseCode.ILLEGAL_OPERATION, f"{_STATE}: {error}") from None
        except OptionWithoutType as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from None


def _all_given(*texts: str | None) -> bool:
    return all(text is not None and text.strip() for text in texts)
