"""GET_CONSUMER_LIST_BY_GROUP: the client ids of a group's members; consumers share queues by it."""

from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.clients import GetConsumerListByGroupResponseBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import GetConsumerListByGroupRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class GetConsumerListByGroup(Processor[GetConsumerListByGroupRequestHeader]):
    codes = (RequestCode.GET_CONSUMER_LIST_BY_GROUP,)
    shows_no_fields = True
    header = GetConsumerListByGroupRequestHeader

    def __init__(self, consumers: Consumers) -> None:
        self._consumers = consumers

    def handle(self, request: Request[GetConsumerListByGroupRequestHeader]) -> Response:
        name = request.header.consumer_group
        group = self._consumers.group(name)
        if group is None or not group.members:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {name}")
        body = GetConsumerListByGroupResponseBody(consumer_id_list=group.client_ids())
        return Response(body=encode_body(body))
