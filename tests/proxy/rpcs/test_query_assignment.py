"""QueryAssignment: what a push consumer receives from."""

from __future__ import annotations

import pytest

from tests.proxy.consuming import Consuming
from tests.proxy.fake_broker import BROKER, NAMESRV, caller
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.proxy.endpoints import Endpoints
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Code, Permission
from trimq.proxy.protos.service_pb2 import QueryAssignmentRequest
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.query_assignment import QueryAssignment
from trimq.proxy.statuses import ProxyError

FIFO = SubscriptionGroupConfig(consume_message_orderly=True)
LITE = SubscriptionGroupConfig(
    consume_message_orderly=True, attributes={"lite.bind.topic": "Parent"}
)


@pytest.fixture
def stage(nursery):
    return Consuming(nursery)


async def query(stage, topic="T", group="G"):
    routes = Routes(stage.broker, [NAMESRV], 20)
    metadata = Metadata(stage.broker, routes, "DefaultCluster", 20)
    request = QueryAssignmentRequest()
    request.topic.name, request.group.name = topic, group
    request.endpoints.addresses.add(host="h", port=7)
    return await QueryAssignment(routes, metadata, Endpoints())(caller(), request)


@pytest.mark.parametrize(
    ("config", "numbers"),
    [
        (SubscriptionGroupConfig(), [-1]),
        (FIFO, [0, 1, 2, 3]),
        (LITE, [-1]),
        (None, [-1]),
    ],
)
async def test_ordered_groups_get_every_queue(stage, config, numbers, autojump_clock):
    stage.broker.groups = {} if config is None else {"G": config}
    response = await query(stage)
    assert response.status.code == Code.OK
    queues = [one.message_queue for one in response.assignments]
    assert [queue.id for queue in queues] == numbers
    assert {queue.broker.name for queue in queues} == {BROKER}
    assert {queue.permission for queue in queues} == {Permission.READ_WRITE}
    assert queues[0].broker.endpoints.addresses[0].port == 7


async def test_a_master_that_is_away_is_read_elsewhere(stage, autojump_clock):
    stage.broker.addrs = {1: "127.0.0.1:10912"}
    stage.broker.perm = 4
    response = await query(stage)
    assert [one.message_queue.permission for one in response.assignments] == [Permission.READ]


async def test_nothing_to_read(stage, autojump_clock):
    stage.broker.perm = 2
    response = await query(stage)
    assert (response.status.code, response.status.message) == (
        Code.FORBIDDEN,
        "no readable queue",
    )
    with pytest.raises(ProxyError) as error:
        await query(stage, "X")
    assert error.value.code == Code.TOPIC_NOT_FOUND
