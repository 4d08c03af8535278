"""ReceiveMessage: a pop that waits for messages; status, messages and the delivery time, in this order."""

from __future__ import annotations

from math import inf

from trimq.base.clock import Clock
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.pop import PopMessageRequestHeader, PopMessageResponseHeader
from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.checks import check_group, check_invisible, check_topic
from trimq.proxy.clients import Client, Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.endpoint import check_caller
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Gone, Out
from trimq.proxy.incoming import Popped, message_of, popped_of
from trimq.proxy.links import Links
from trimq.proxy.protos.definition_pb2 import Code, FilterType, Settings, Status
from trimq.proxy.protos.service_pb2 import ReceiveMessageRequest, ReceiveMessageResponse
from trimq.proxy.receipt import parse_receipt
from trimq.proxy.receipts import Receipts
from trimq.proxy.routes import Queue, Routes
from trimq.proxy.settings import SettingsMerger
from trimq.proxy.statuses import OK, BrokerRefused, ProxyError, status, status_of

_MOST_A_POP = 32
# ConsumeInitMode.MAX: a new group begins with what comes from now on.
_FROM_NOW_ON = 1


class ReceiveMessage:
    def __init__(
        self,
        config: ProxyConfig,
        links: Links,
        routes: Routes,
        clients: Clients,
        merger: SettingsMerger,
        acknowledging: Acknowledging,
        receipts: Receipts,
        clock: Clock,
    ) -> None:
        self._config = config
        self._links = links
        self._routes = routes
        self._clients = clients
        self._merger = merger
        self._acknowledging = acknowledging
        self._receipts = receipts
        self._clock = clock

    async def __call__(self, caller: Caller, request: ReceiveMessageRequest, out: Out) -> None:
        try:
            check_caller(caller)
        except ProxyError as error:
            # As there: nothing else comes before the client is known.
            await out.send(ReceiveMessageResponse(status=status_of(error)))
            return
        try:
            await self._receive(caller, request, out)
        except Gone:
            raise
        except Exception as error:
            await self._end(out, status_of(error))

    async def _receive(self, caller: Caller, request: ReceiveMessageRequest, out: Out) -> None:
        client = self._clients.get(caller.client_id)
        if client is None or client.settings is None:
            raise ProxyError(
                Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client"
            )
        settings = await self._merger.merged(client.settings)
        poll = self._poll_millis(caller, request, settings)
        topic, group = check_topic(request.message_queue.topic), check_group(request.group)
        invisible = request.invisible_duration.ToMilliseconds()
        renews = self._config.enable_proxy_auto_renew and request.auto_renew
        if renews:
            invisible = self._config.default_invisible_time_mills
        else:
            check_invisible(
                invisible,
                self._config.min_invisible_time_millis_for_recv,
                self._config.max_invisible_time_mills,
            )
        queue = (await self._routes.of(topic)).reader(request.message_queue.broker.name)
        if queue is None:
            raise ProxyError(Code.FORBIDDEN, "no readable queue")
        expression = request.filter_expression
        is_sql = expression.type == FilterType.SQL
        header = PopMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=queue.queue_id,
            max_msg_nums=min(request.batch_size, _MOST_A_POP),
            invisible_time=invisible,
            poll_time=poll,
            born_time=self._clock.millis(),
            init_mode=_FROM_NOW_ON,
            exp_type="SQL92" if is_sql else "TAG",
            exp=expression.expression or "*",
            order=settings.subscription.fifo,
            attempt_id=request.attempt_id if request.HasField("attempt_id") else None,
        )
        remaining = caller.remaining_millis()
        seconds = (poll + 3000 if remaining == inf else remaining) / 1000
        answer = await self._links.ask(
            queue.addr, RequestCode.POP_MESSAGE, header, timeout=max(seconds, 0.1)
        )
        popped = self._found(answer, header, queue)
        if popped is None:
            await self._nothing(out, answer)
            return
        kept = await self._kept(popped, group, topic, settings)
        await self._hand_out(kept, client if renews else None, group, topic, out)

    def _poll_millis(
        self, caller: Caller, request: ReceiveMessageRequest, settings: Settings
    ) -> int:
        config = self._config
        remaining = caller.remaining_millis()
        least = config.grpc_client_consumer_min_long_polling_timeout_millis
        most = config.grpc_client_consumer_max_long_polling_timeout_millis
        if request.HasField("long_polling_timeout"):
            wanted: float = request.long_polling_timeout.ToMilliseconds()
        else:
            wanted = remaining - settings.request_timeout.ToMilliseconds() / 2
        poll = min(max(wanted, least), most)
        if poll > remaining:
            if remaining < least:
                version = caller.field("x-mq-client-version")
                raise ProxyError(
                    Code.ILLEGAL_POLLING_TIME if version >= "5.0.3" else Code.BAD_REQUEST,
                    "The deadline time remaining is not enough for polling,"
                    " please check network condition",
                )
            poll = remaining
        return int(poll)

    @staticmethod
    def _found(
        answer: RemotingCommand, header: PopMessageRequestHeader, queue: Queue
    ) -> list[Popped] | None:
        if answer.code == ResponseCode.SUCCESS:
            found = decode_header(PopMessageResponseHeader, answer.ext_fields)
            return popped_of(answer.body, found, header.topic, queue.broker_name, header.order)
        if answer.code in {
            ResponseCode.POLLING_FULL,
            ResponseCode.POLLING_TIMEOUT,
            ResponseCode.PULL_NOT_FOUND,
        }:
            return None
        raise BrokerRefused(answer)

    async def _kept(
        self, popped: list[Popped], group: str, topic: str, settings: Settings
    ) -> list[Popped]:
        """Those that were not tried too often: the others go to the dead letters."""
        most = settings.backoff_policy.max_attempts
        kept: list[Popped] = []
        for one in popped:
            if one.attempts < most:
                kept.append(one)
                continue
            receipt = parse_receipt(one.handle)
            await self._acknowledging.forward(receipt, one.message_id, group, topic, "")
        return kept

    async def _hand_out(
        self, popped: list[Popped], client: Client | None, group: str, topic: str, out: Out
    ) -> None:
        """`client`: for whom they are renewed. What could not be written is visible again in a second."""
        sent = 0
        try:
            await out.send(
                ReceiveMessageResponse(status=OK)
                if popped
                else ReceiveMessageResponse(
                    status=status(Code.MESSAGE_NOT_FOUND, "no match message")
                )
            )
            for one in popped:
                await out.send(ReceiveMessageResponse(message=message_of(one, self._clock)))
                sent += 1
        finally:
            if sent < len(popped):
                self._acknowledging.give_back(popped[sent:], group, topic)
            if client is not None:
                for one in popped[:sent]:
                    self._receipts.add(client.client_id, group, topic, one)
        await self._deliver_time(out)

    async def _nothing(self, out: Out, answer: RemotingCommand) -> None:
        if answer.code == ResponseCode.POLLING_FULL:
            await self._end(out, status(Code.TOO_MANY_REQUESTS, "polling full"))
        else:
            await self._end(out, status(Code.MESSAGE_NOT_FOUND, "no new message"))

    async def _end(self, out: Out, told: Status) -> None:
        await out.send(ReceiveMessageResponse(status=told))
        await self._deliver_time(out)

    async def _deliver_time(self, out: Out) -> None:
        response = ReceiveMessageResponse()
        response.delivery_timestamp.FromMilliseconds(self._clock.millis())
        await out.send(response)
