"""ReceiveMessage: a pop that waits for messages; status, messages and the delivery time, in this order."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from trimq.base.clock import Clock
from trimq.proxy.checks import check_group, check_invisible, check_topic
from trimq.proxy.clients import Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.endpoint import check_caller, refused
from trimq.proxy.filters import Filter, filter_of
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Gone, Out
from trimq.proxy.handing_out import HandingOut, Receiver
from trimq.proxy.incoming import Popped
from trimq.proxy.pop_requests import lite_request, pop_request
from trimq.proxy.popping import Popping
from trimq.proxy.protos.definition_pb2 import ClientType, Code, Settings, Status
from trimq.proxy.protos.service_pb2 import ReceiveMessageRequest, ReceiveMessageResponse
from trimq.proxy.receipts import Receipts
from trimq.proxy.routes import Routes
from trimq.proxy.settings import SettingsMerger
from trimq.proxy.statuses import ProxyError, inner_error, status_of

# Clients before this version do not know ILLEGAL_POLLING_TIME.
_KNOWS_POLLING_TIME = "5.0.3"


@dataclass(frozen=True, slots=True)
class ReceiveMessage:
    config: ProxyConfig
    routes: Routes
    clients: Clients
    merger: SettingsMerger
    receipts: Receipts
    popping: Popping
    handing_out: HandingOut
    clock: Clock

    async def __call__(self, caller: Caller, request: ReceiveMessageRequest, out: Out) -> None:
        try:
            check_caller(caller)
        except ProxyError as error:
            # As there: nothing else comes before the client is known.
            status = status_of(error)
            refused("ReceiveMessage", caller, status)
            await out.send(ReceiveMessageResponse(status=status))
            return
        try:
            await self._receive(caller, request, out)
        except Gone:
            raise
        except Exception as error:
            status = status_of(error)
            refused("ReceiveMessage", caller, status)
            await self._end(out, status)

    async def _receive(self, caller: Caller, request: ReceiveMessageRequest, out: Out) -> None:
        client = self.clients.get(caller.client_id)
        if client is None or client.settings is None:
            # There it is a NullPointerException, and so this code.
            raise ProxyError(
                Code.INTERNAL_SERVER_ERROR, "cannot find client settings for this client"
            )
        settings = await self.merger.merged(client.settings)
        poll = self._poll_millis(caller, request, settings)
        topic, group = check_topic(request.message_queue.topic), check_group(request.group)
        renews = self.config.enable_proxy_auto_renew and request.auto_renew
        invisible = self._invisible(request, renews)
        wanted = filter_of(request.filter_expression)
        popped = await self._pop(caller, request, settings, wanted, (poll, invisible))
        receiver = Receiver(client.client_id, group, topic, renews)
        most = settings.backoff_policy.max_attempts
        kept = await self.handing_out.sorted(popped, receiver, wanted, most)
        await self.handing_out.hand_out(kept, receiver, out)
        await self._deliver_time(out)

    def _invisible(self, request: ReceiveMessageRequest, renews: bool) -> int:
        """Milliseconds for which the messages are the client's."""
        if renews:
            return self.config.default_invisible_time_mills
        invisible: int = request.invisible_duration.ToMilliseconds()
        check_invisible(
            invisible,
            self.config.min_invisible_time_millis_for_recv,
            self.config.max_invisible_time_mills,
        )
        return invisible

    async def _pop(
        self,
        caller: Caller,
        request: ReceiveMessageRequest,
        settings: Settings,
        wanted: Filter,
        times: tuple[int, int],
    ) -> list[Popped]:
        """`times`: milliseconds to wait for messages, and for which they are the client's."""
        is_lite = settings.client_type == ClientType.LITE_PUSH_CONSUMER
        if is_lite:
            self._check_open(caller.client_id, request.group.name)
        route = await self.routes.of(request.message_queue.topic.name)
        queue = route.reader(request.message_queue.broker.name)
        if queue is None:
            raise inner_error(Code.FORBIDDEN, "no readable queue")
        remaining = caller.remaining_millis()
        seconds = max(0.1, (times[0] + 3000 if remaining == inf else remaining) / 1000)
        if is_lite:
            lite = lite_request(request, caller.client_id, times, self.clock)
            return await self.popping.pop_lite(queue, lite, seconds)
        header = pop_request(request, queue, wanted, settings.subscription.fifo, times)
        return await self.popping.pop(queue, header, seconds)

    def _check_open(self, client_id: str, group: str) -> None:
        count = self.receipts.open_count(client_id, group)
        if count > self.config.max_lite_renew_num_per_channel:
            raise ProxyError(
                Code.FORBIDDEN,
                f"The client [{client_id}] has too many unacked messages. Unacked count: {count}",
            )

    def _poll_millis(
        self, caller: Caller, request: ReceiveMessageRequest, settings: Settings
    ) -> int:
        remaining = caller.remaining_millis()
        least = self.config.grpc_client_consumer_min_long_polling_timeout_millis
        most = self.config.grpc_client_consumer_max_long_polling_timeout_millis
        if request.HasField("long_polling_timeout"):
            wanted: float = request.long_polling_timeout.ToMilliseconds()
        else:
            wanted = remaining - settings.request_timeout.ToMilliseconds() // 2
        poll = min(max(wanted, least), most)
        if poll > remaining:
            if remaining < least:
                knows = caller.field("x-mq-client-version") >= _KNOWS_POLLING_TIME
                raise ProxyError(
                    Code.ILLEGAL_POLLING_TIME if knows else Code.BAD_REQUEST,
                    "The deadline time remaining is not enough for polling,"
                    " please check network condition",
                )
            poll = remaining
        return int(poll)

    async def _end(self, out: Out, told: Status) -> None:
        await out.send(ReceiveMessageResponse(status=told))
        await self._deliver_time(out)

    async def _deliver_time(self, out: Out) -> None:
        response = ReceiveMessageResponse()
        response.delivery_timestamp.FromMilliseconds(self.clock.millis())
        await out.send(response)
