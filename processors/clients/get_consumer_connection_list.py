"""GET_CONSUMER_CONNECTION_LIST: a group's members, how it consumes, and what it has subscribed.

A caller that asks for `trimqMembers` gets each member's own subscription too: RocketMQ does not
know the field, and its tools do not send it, so that everybody else gets RocketMQ's own answer.
"""

from dataclasses import asdict

from trimq.broker.groups.clients.connections import connections
from trimq.broker.groups.consumers.group import ConsumerGroup
from trimq.broker.groups.consumers.member import Member
from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.clients import (
    ConsumerConnection,
    ConsumerConnectionAndMembers,
    DisputeBegin,
    MemberAccount,
    OverwriteCount,
)
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import ListConnectionsAndMembersRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class GetConsumerConnectionList(WholeProcessor[ListConnectionsAndMembersRequestHeader]):
    codes = (RequestCode.GET_CONSUMER_CONNECTION_LIST,)
    header = ListConnectionsAndMembersRequestHeader

    def __init__(self, consumers: Consumers) -> None:
        self._consumers = consumers

    def answer(self, request: Request[ListConnectionsAndMembersRequestHeader]) -> Response:
        name = request.header.consumer_group
        group = self._consumers.group(name)
        if group is None:
            raise RemotingError(
                ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online"
            )
        body = ConsumerConnection(
            connection_set=connections(group.clients()),
            consume_from_where=group.consume_from_where,
            consume_type=group.consume_type,
            message_model=group.message_model,
            subscription_table=group.subscriptions,
        )
        if request.header.with_members:
            body = _with_members(group, body)
        return Response(body=encode_body(body))


def _with_members(group: ConsumerGroup, plain: ConsumerConnection) -> ConsumerConnectionAndMembers:
    agreement = group.agreement
    return ConsumerConnectionAndMembers(
        connection_set=plain.connection_set,
        consume_from_where=plain.consume_from_where,
        consume_type=plain.consume_type,
        message_model=plain.message_model,
        subscription_table=plain.subscription_table,
        disputes=[
            DisputeBegin(about=about, topic=topic or None, since=since)
            for (about, topic), since in agreement.since.items()
        ],
        members=[_account(member) for member in group.members.values()],
        overwrites=[OverwriteCount(**asdict(one)) for one in agreement.overwrites],
    )


def _account(member: Member) -> MemberAccount:
    said = member.subscriptions
    return MemberAccount(
        client_addr=member.client.peer.remote_addr,
        client_id=member.client.client_id,
        consume_from_where=member.consume_from_where,
        consume_type=member.consume_type,
        message_model=member.message_model,
        since=member.since,
        subscriptions=None if said is None else list(said.values()),
    )
