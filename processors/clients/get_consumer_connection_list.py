"""GET_CONSUMER_CONNECTION_LIST: a group's members, how it consumes, and what it has subscribed.

A caller that asks for `trimqMembers` gets each member's own subscription too: RocketMQ does not
know the field, and its tools do not send it, so that everybody else gets RocketMQ's own answer.
Clients of proxies are listed beside the members, if their proxies say who they are.
"""

from dataclasses import asdict

from trimq.broker.groups.clients.behind_proxies import BehindProxies
from trimq.broker.groups.clients.connections import connections
from trimq.broker.groups.consumers.group import ConsumerGroup
from trimq.broker.groups.consumers.member import Member
from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.clients import (
    Connection,
    ConsumerConnection,
    ConsumerConnectionAndMembers,
    DisputeBegin,
    MemberAccount,
    OverwriteCount,
)
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.proxied import ProxiedClient
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import ListConnectionsAndMembersRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class GetConsumerConnectionList(WholeProcessor[ListConnectionsAndMembersRequestHeader]):
    codes = (RequestCode.GET_CONSUMER_CONNECTION_LIST,)
    header = ListConnectionsAndMembersRequestHeader

    def __init__(self, consumers: Consumers, proxies: BehindProxies) -> None:
        self._consumers = consumers
        self._proxies = proxies

    def answer(self, request: Request[ListConnectionsAndMembersRequestHeader]) -> Response:
        name = request.header.consumer_group
        group = self._consumers.group(name)
        proxied = self._proxies.of(name)
        if group is None and not proxied:
            raise RemotingError(
                ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online"
            )
        body = _of_proxies(proxied) if group is None else _of_group(group, proxied)
        if request.header.with_members:
            body = _with_members(group, body)
            body.members = [*(body.members or []), *map(_account_of_proxied, proxied)]
        return Response(body=encode_body(body))


def _of_group(group: ConsumerGroup, proxied: list[ProxiedClient]) -> ConsumerConnection:
    return ConsumerConnection(
        connection_set=connections(group.clients()) + list(map(_connection, proxied)),
        consume_from_where=group.consume_from_where,
        consume_type=group.consume_type,
        message_model=group.message_model,
        subscription_table={**_subscriptions(proxied), **group.subscriptions},
    )


def _of_proxies(proxied: list[ProxiedClient]) -> ConsumerConnection:
    return ConsumerConnection(
        connection_set=list(map(_connection, proxied)),
        # What the official proxy registers its consumers with.
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        consume_type=proxied[-1].consume_type,
        message_model=proxied[-1].message_model,
        subscription_table=_subscriptions(proxied),
    )


def _connection(client: ProxiedClient) -> Connection:
    return Connection(
        client_id=client.client_id,
        client_addr=client.client_addr,
        language=client.language,
        version=client.version,
    )


def _subscriptions(proxied: list[ProxiedClient]) -> dict[str, SubscriptionData]:
    return {one.topic: one for client in proxied for one in client.subscriptions}


def _account_of_proxied(client: ProxiedClient) -> MemberAccount:
    return MemberAccount(
        client_addr=client.client_addr,
        client_id=client.client_id,
        consume_type=client.consume_type,
        message_model=client.message_model,
        subscriptions=client.subscriptions,
    )


def _with_members(
    group: ConsumerGroup | None, plain: ConsumerConnection
) -> ConsumerConnectionAndMembers:
    body = ConsumerConnectionAndMembers(
        connection_set=plain.connection_set,
        consume_from_where=plain.consume_from_where,
        consume_type=plain.consume_type,
        message_model=plain.message_model,
        subscription_table=plain.subscription_table,
    )
    if group is not None:
        agreement = group.agreement
        body.disputes = [
            DisputeBegin(about=about, topic=topic or None, since=since)
            for (about, topic), since in agreement.since.items()
        ]
        body.members = [_account(member) for member in group.members.values()]
        body.overwrites = [OverwriteCount(**asdict(one)) for one in agreement.overwrites]
    return body


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
