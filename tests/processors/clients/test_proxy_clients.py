"""Clients behind a proxy: tools see them and ask them, and members of their groups share no queues with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimq.broker.groups.clients.behind_proxies import EXPIRY_MILLIS, BehindProxies
from trimq.broker.groups.clients.record import Client
from trimq.broker.steps import at_once
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.proxied import ProxiedClient, ProxiedClients
from trimq.codec.codes import OwnRequestCode, RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.clients import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerListByGroupRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    ListConnectionsAndMembersRequestHeader,
)
from trimq.codec.records.message_id import offset_message_id
from trimq.processors.clients.consume_message_directly import ConsumeMessageDirectly
from trimq.processors.clients.get_consumer_connection_list import GetConsumerConnectionList
from trimq.processors.clients.get_consumer_list_by_group import GetConsumerListByGroup
from trimq.processors.clients.get_consumer_running_info import GetConsumerRunningInfo
from trimq.processors.clients.proxy_clients import ProxyClients
from trimq.remoting.contract import LimitReached, RemotingError, Request
from trimq.remoting.testing import RecordingPeer, answer, answered
from trimq.store.messages.message import Message


def proxied(client_id: str, group: str = "g", expression: str = "*") -> ProxiedClient:
    return ProxiedClient(
        client_addr="10.1.1.1:5000",
        client_id=client_id,
        consume_type="CONSUME_PASSIVELY",
        group=group,
        language="GO",
        message_model="CLUSTERING",
        subscriptions=[SubscriptionData(topic="T", sub_string=expression)],
        version=515,
    )


def say(broker: Any, peer: RecordingPeer, *clients: ProxiedClient, first: bool = True) -> None:
    body = encode_body(ProxiedClients(clients=list(clients), first=first))
    request = Request(OwnRequestCode.PROXY_CLIENTS, None, peer, body)
    steps = broker.processor(ProxyClients).steps(request)
    assert at_once(steps).code == ResponseCode.SUCCESS


def join(broker: Any, name: str) -> None:
    """A member of the group g by heartbeat."""
    peer = RecordingPeer("10.0.0.5:4000", 5)
    data = ConsumerData(
        group_name="g",
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_FIRST_OFFSET",
        subscription_data_set=[SubscriptionData(topic="T", sub_string="A", sub_version=9)],
    )
    broker.consumers.register(Client(peer, name, 0, 317, broker.clock.now), data, True)


def listed(broker: Any, with_members: bool | None = None) -> Any:
    header = ListConnectionsAndMembersRequestHeader(consumer_group="g", with_members=with_members)
    processor = broker.processor(GetConsumerConnectionList)
    return json.loads(bytes(answered(processor, broker.request(203, header)).body))  # type: ignore[arg-type]


def names(broker: Any) -> list[str]:
    return sorted(one["clientId"] for one in listed(broker)["connectionSet"])


def test_tools_see_them(broker: Any) -> None:
    say(broker, RecordingPeer(), proxied("c1"), proxied("c2"), proxied("c3", group="h"))
    found = listed(broker)
    assert found["connectionSet"][0] == {
        "clientAddr": "10.1.1.1:5000",
        "clientId": "c1",
        "language": "GO",
        "version": 515,
    }
    assert names(broker) == ["c1", "c2"]
    assert (found["consumeType"], found["messageModel"]) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert found["subscriptionTable"]["T"]["subString"] == "*"


def test_tools_find_their_group_by_its_retry_topic(broker: Any) -> None:
    assert broker.topics.get("%RETRY%g") is None
    say(broker, RecordingPeer(), proxied("c1"))
    assert broker.topics.get("%RETRY%g") is not None


def test_a_connection_that_has_ended_says_nothing(broker: Any) -> None:
    proxy = RecordingPeer()
    proxy.closed = True
    say(broker, proxy, proxied("c1"))
    assert proxies_of(broker).of("g") == []


def test_members_and_they_are_listed_together(broker: Any) -> None:
    join(broker, "old")
    say(broker, RecordingPeer(), proxied("new"))
    assert names(broker) == ["new", "old"]
    found = listed(broker, with_members=True)
    assert {one["clientId"]: one["subscriptions"][0]["subString"] for one in found["members"]} == {
        "old": "A",
        "new": "*",
    }
    # What the group goes by is what its members say.
    assert found["subscriptionTable"]["T"]["subString"] == "A"


def test_nobody_shares_queues_with_them(broker: Any) -> None:
    say(broker, RecordingPeer(), proxied("new"))
    processor = broker.processor(GetConsumerListByGroup)
    request = broker.request(38, GetConsumerListByGroupRequestHeader(consumer_group="g"))
    with pytest.raises(RemotingError, match="no consumer for this group"):
        processor.handle(request)
    join(broker, "old")
    assert processor.handle(request).body == b'{"consumerIdList":["old"]}'


async def test_they_are_asked_through_the_proxy(broker: Any) -> None:
    proxy = RecordingPeer()
    say(broker, proxy, proxied("c1"))
    proxy.answers.append(RemotingCommand(0, 5, body=b'{"jstack":"main"}'))
    header = GetConsumerRunningInfoRequestHeader(
        consumer_group="g", client_id="c1", jstack_enable=True
    )
    processor = broker.processor(GetConsumerRunningInfo)
    response = await answer(processor, broker.request(307, header))
    assert response.body == b'{"jstack":"main"}'
    ((code, asked, _),) = proxy.asked
    assert code == RequestCode.GET_CONSUMER_RUNNING_INFO
    assert (asked.consumer_group, asked.client_id) == ("g", "c1")  # type: ignore[union-attr]
    header.client_id = "other"
    with pytest.raises(RemotingError, match="not online"):
        await answer(processor, broker.request(307, header))


async def test_they_are_given_a_message(broker: Any) -> None:
    proxy = RecordingPeer()
    say(broker, proxy, proxied("c1"))
    proxy.answers.append(RemotingCommand(0, 5, body=b"{}"))
    stored = broker.store.stage(Message("T", 0, b"body"))
    broker.store.write_staged()
    message_id = offset_message_id(broker.identity.packed_store_host, stored.physical_offset)
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group="g", client_id="c1", msg_id=message_id
    )
    processor = broker.processor(ConsumeMessageDirectly)
    await answer(processor, broker.request(309, header))
    ((code, _, body),) = proxy.asked
    assert code == RequestCode.CONSUME_MESSAGE_DIRECTLY
    assert b"body" in bytes(body)  # type: ignore[arg-type]


def test_a_round_begins_anew_or_goes_on(broker: Any) -> None:
    proxy = RecordingPeer()
    say(broker, proxy, proxied("c1"), proxied("c2"))
    say(broker, proxy, proxied("c2"))
    say(broker, proxy, proxied("c3"), first=False)
    assert names(broker) == ["c2", "c3"]
    say(broker, proxy)
    with pytest.raises(RemotingError, match="not online"):
        listed(broker)


def proxies_of(broker: Any) -> BehindProxies:
    found: BehindProxies = broker.processor(ProxyClients)._proxies
    return found


def test_they_go_with_the_connection(broker: Any) -> None:
    first, second = RecordingPeer(peer_id=1), RecordingPeer(peer_id=2)
    say(broker, first, proxied("c1"), proxied("c2"))
    # A client that has changed its proxy stays.
    say(broker, second, proxied("c2"))
    proxies_of(broker).closed(first)
    assert names(broker) == ["c2"]
    assert proxies_of(broker).find("g", "c2") is second


def test_what_is_not_repeated_is_forgotten(broker: Any) -> None:
    proxies = proxies_of(broker)
    say(broker, RecordingPeer(), proxied("c1"))
    broker.clock.now += EXPIRY_MILLIS
    at_once(proxies.scan_expired())
    assert names(broker) == ["c1"]
    broker.clock.now += 1
    at_once(proxies.scan_expired())
    assert proxies.of("g") == []


def test_there_are_not_too_many(broker: Any) -> None:
    proxies, proxy = proxies_of(broker), RecordingPeer()
    many = [ProxiedClient(client_id=str(number), group="g") for number in range(10_001)]
    with pytest.raises(LimitReached, match="10001 clients"):
        proxies.check(proxy, ProxiedClients(clients=many))
    wide = proxied("c1")
    wide.subscriptions *= 10_001
    with pytest.raises(LimitReached, match="maxConnectionSubscriptions"):
        proxies.check(proxy, ProxiedClients(clients=[wide]))
    assert proxies.of("g") == []
