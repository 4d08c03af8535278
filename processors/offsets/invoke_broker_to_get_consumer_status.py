"""INVOKE_BROKER_TO_GET_CONSUMER_STATUS: which offsets the members of a group have in a topic."""

import logging
from typing import Final

import trio

from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.bodies.base import decode_request, encode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import GetConsumerStatusBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.offsets import GetConsumerStatusRequestHeader
from trimq.codec.java import fastjson
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Later, PeerGone, Processor, RemotingError, Request, Response

log = logging.getLogger("trimq.admin")

_PATIENCE_SECONDS: Final = 5
# What the real broker leaves in the remark of this success.


class InvokeBrokerToGetConsumerStatus(Processor[GetConsumerStatusRequestHeader]):
    """Asks one member after another, or only the one with the client id `client_addr`.

    Broker2Client.getConsumeStatus: a member without a good answer within 5 s is left out.
    """

    codes = (RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,)
    header = GetConsumerStatusRequestHeader

    def __init__(self, consumers: Consumers) -> None:
        self._consumers = consumers

    def handle(self, request: Request[GetConsumerStatusRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[GetConsumerStatusRequestHeader]) -> Response:
        header = request.header
        group = self._consumers.group(header.group)
        if group is None or not group.members:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"No Any Consumer online in the consumer group: [{header.group}]",
            )
        wanted = (header.client_addr or "").strip()
        question = GetConsumerStatusRequestHeader(topic=header.topic, group=header.group)
        table: dict[str, dict[MessageQueue, int]] = {}
        for client in list(group.clients()):
            if wanted and client.client_id != wanted:
                continue
            offsets = await _offsets_of(client, question)
            if offsets is not None:
                table[client.client_id] = offsets
            if wanted:
                break
        body = encode_body(GetConsumerStatusBody(consumer_table=table))
        return Response(remark=REMARK_LEFT, body=body)


async def _offsets_of(
    client: Client, question: GetConsumerStatusRequestHeader
) -> dict[MessageQueue, int] | None:
    """None when there is no usable answer."""
    code = RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT
    try:
        answer = await client.peer.ask(code, question, timeout=_PATIENCE_SECONDS)
        if answer.code != ResponseCode.SUCCESS or not answer.body:
            return None
        body = decode_request(GetConsumerStatusBody, answer.body)
        return {
            fastjson.loads_as(MessageQueue, key): offset
            for key, offset in body.message_queue_table.items()
        }
    except (trio.TooSlowError, PeerGone, CodecError) as error:
        log.warning(
            "no consumer status: group=%s client=%s reason=%s", question.group, client, error
        )
        return None
