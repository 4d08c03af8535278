"""Answers that grow with a table: each goes in steps, through the one queue, and none of its steps is long."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.hostile.whole_servers import Calls, Servers, whole_servers
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import OwnRequestCode
from trimq.codec.codes import RequestCode as Code
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.processors._steps import SteppedProcessor
from trimq.remoting.contract import Later, RemotingError, Request, Response
from trimq.remoting.resources import Resources
from trimq.remoting.serving.server import Server
from trimq.remoting.testing import RecordingPeer, memory_wires

QUEUES, GROUPS, TOPICS = 2048, 400, 400
# Calls of functions in one step: 5 ms at most on a slow machine.
MOST_CALLS = 6000

# What a broker says about its tables, and the fields that ask for much of it.
BROKER: dict[int, dict[str, str]] = {
    Code.GET_TOPIC_STATS_INFO: {"topic": "Wide"},
    Code.GET_CONSUME_STATS: {"consumerGroup": "g", "topic": "Wide"},
    Code.GET_BROKER_CONSUME_STATS: {"isOrder": "false"},
    Code.QUERY_CONSUME_TIME_SPAN: {"topic": "Wide", "group": "g"},
    Code.INVOKE_BROKER_TO_RESET_OFFSET: {
        "topic": "Wide",
        "group": "g",
        "timestamp": "-1",
        "isForce": "true",
    },
    Code.GET_ALL_CONSUMER_OFFSET: {},
    Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: {},
    Code.GET_ALL_TOPIC_CONFIG: {},
    Code.GET_ALL_DELAY_OFFSET: {},
    Code.GET_ALL_MESSAGE_REQUEST_MODE: {},
    Code.GET_ALL_PRODUCER_INFO: {},
    Code.GET_CONSUMER_CONNECTION_LIST: {"consumerGroup": "g"},
    Code.GET_PRODUCER_CONNECTION_LIST: {"producerGroup": "g"},
    Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: {},
    Code.GET_TIMER_METRICS: {},
    Code.GET_BROKER_CONFIG: {},
    Code.QUERY_TOPIC_CONSUME_BY_WHO: {"topic": "Wide"},
    Code.QUERY_TOPICS_BY_CONSUMER: {"group": "g"},
    Code.QUERY_CORRECTION_OFFSET: {"topic": "Wide", "compareGroup": "g"},
    Code.QUERY_CONSUME_QUEUE: {"topic": "Wide", "queueId": "0", "index": "0", "count": "1000"},
    Code.GET_BROKER_LITE_INFO: {},
    Code.GET_PARENT_TOPIC_INFO: {"topic": "Wide"},
    Code.GET_LITE_CLIENT_INFO: {"parentTopic": "Wide", "group": "g", "clientId": "c"},
    Code.GET_LITE_GROUP_INFO: {"group": "g"},
}
NAMESRV: dict[int, dict[str, str]] = {
    Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: {},
    Code.GET_TOPICS_BY_CLUSTER: {"cluster": "DefaultCluster"},
    Code.GET_UNIT_TOPIC_LIST: {},
    Code.GET_HAS_UNIT_SUB_TOPIC_LIST: {},
    Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: {},
    Code.GET_SYSTEM_TOPIC_LIST_FROM_NS: {},
    Code.GET_BROKER_CLUSTER_INFO: {},
    Code.GET_KVLIST_BY_NAMESPACE: {"namespace": "n"},
    Code.GET_NAMESRV_CONFIG: {},
    Code.WIPE_WRITE_PERM_OF_BROKER: {"brokerName": "b"},
    Code.ADD_WRITE_PERM_OF_BROKER: {"brokerName": "b"},
}
# Those whose tables grow without a small bound: one step does not do.
MANY_STEPS = {
    *(Code.GET_TOPIC_STATS_INFO, Code.GET_CONSUME_STATS, Code.GET_BROKER_CONSUME_STATS),
    *(Code.QUERY_CONSUME_TIME_SPAN, Code.INVOKE_BROKER_TO_RESET_OFFSET),
    *(Code.GET_ALL_CONSUMER_OFFSET, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
    *(Code.GET_ALL_TOPIC_CONFIG, Code.GET_TOPICS_BY_CLUSTER, Code.GET_UNIT_TOPIC_LIST),
    *(Code.GET_HAS_UNIT_SUB_TOPIC_LIST, Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST),
    *(Code.GET_KVLIST_BY_NAMESPACE, Code.QUERY_CORRECTION_OFFSET),
}
# These take long by what they are told, and answer nothing (tests/processors/clients/test_proxy_clients.py).
TOLD = {int(OwnRequestCode.PROXY_CLIENTS)}


@dataclass
class Wide:
    """Both servers with large tables."""

    servers: Servers
    processors: dict[int, Any]

    def request(self, code: int) -> Request[Any]:
        fields = {**BROKER, **NAMESRV}[code]
        processor = self.processors[code]
        return Request(code, processor.decode_header(fields), RecordingPeer(), ext_fields=fields)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wide]:
    folder: Path = tmp_path_factory.mktemp("wide")
    with whole_servers(folder) as servers:
        processors: dict[int, Any] = {}
        for side, codes in zip(servers.sides, (BROKER, NAMESRV), strict=True):
            for code in codes:
                handle: Any = side.dispatcher._routes[code].handle
                processors[code] = handle.__self__
        _fill_broker(servers)
        namesrv: Any = processors[Code.GET_UNIT_TOPIC_LIST]
        for number in range(TOPICS):
            topic = TopicConfig(topic_name=f"t{number}", topic_sys_flag=number % 4)
            namesrv._topics.put("b", topic, 6)
        routes: Any = processors[Code.GET_TOPICS_BY_CLUSTER]._routes
        routes._brokers.clusters.setdefault("DefaultCluster", {"b"})
        kv: Any = processors[Code.GET_KVLIST_BY_NAMESPACE]._kv_config
        kv._tables["n"] = {f"k{number}": "v" for number in range(GROUPS)}
        yield Wide(servers, processors)


def _fill_broker(servers: Servers) -> None:
    common = servers.broker.common
    topics, groups = common.messaging.topics.table, common.readers.groups
    topics._table["Wide"] = TopicConfig(
        topic_name="Wide", read_queue_nums=QUEUES, write_queue_nums=QUEUES
    )
    for number in range(TOPICS):
        topics._table[f"t{number}"] = TopicConfig(topic_name=f"t{number}")
        groups._table[f"g{number}"] = SubscriptionGroupConfig(group_name=f"g{number}")
    groups._table["g"] = SubscriptionGroupConfig(group_name="g")
    for queue_id in range(QUEUES):
        common.readers.offsets.move("test", "g", "Wide", queue_id, 0)


def test_every_long_answer_is_here(wide: Wide) -> None:
    """Who adds one adds it to this test."""
    for side, codes in zip(wide.servers.sides, (BROKER, NAMESRV), strict=True):
        stepped = {
            code
            for code, route in side.dispatcher._routes.items()
            if isinstance(getattr(route.handle, "__self__", None), SteppedProcessor)
        }
        assert stepped - TOLD == set(map(int, codes))


@pytest.mark.parametrize("code", [*BROKER, *NAMESRV])
def test_no_step_is_long(wide: Wide, code: int) -> None:
    request = wide.request(code)
    steps = wide.processors[code].steps(request)
    calls, counts = Calls(), []
    outcome: Response | None = None
    while outcome is None:
        try:
            with calls.counted():
                next(steps)
        except StopIteration as end:
            outcome = end.value
        except RemotingError as refused:
            outcome = Response(refused.code)
        counts.append(calls.count)
    # Some have nothing to say here, and say so in their first step.
    assert outcome.code == 0 or (len(counts) == 1 and code not in MANY_STEPS)
    assert max(counts) <= MOST_CALLS
    if code in MANY_STEPS:
        assert len(counts) >= 4


@pytest.mark.parametrize("code", [*BROKER, *NAMESRV])
async def test_many_at_once_take_turns_and_go_with_their_connection(wide: Wide, code: int) -> None:
    side = wide.servers.sides[0 if code in BROKER else 1]
    resources = Resources()
    server = Server(side.dispatcher, resources=resources)
    fields = {**BROKER, **NAMESRV}[code]
    frames = [
        encode_command(RemotingCommand(code, number, ext_fields=fields)) for number in range(60)
    ]
    near, far = memory_wires()
    stream: Any = near
    # A step for each of theirs at most: counted while somebody else has his turn.
    seen: list[int] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve_wire, far, "10.0.0.1:4000")
        await stream._stream.send_all(b"".join(frames))
        for _ in range(100):
            seen.append(resources.steps.steps)
            await trio.lowlevel.checkpoint()
        assert max(after - before for before, after in pairwise(seen)) <= 1
        assert seen[-1] > 10
        await stream.aclose()
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        assert resources.steps.waiting == 0
        taken = resources.steps.steps
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        assert resources.steps.steps == taken
        nursery.cancel_scope.cancel()
    assert resources.memory.total == 0


def test_a_handler_does_nothing_before_its_turn(wide: Wide) -> None:
    """Otherwise 128 of them in one receive would do it at once."""
    for code, processor in wide.processors.items():
        if code == Code.INVOKE_BROKER_TO_RESET_OFFSET:
            continue
        calls = Calls()
        request = wide.request(code)
        with calls.counted():
            outcome = processor.handle(request)
        assert isinstance(outcome, Later)
        assert calls.count < 12, code
