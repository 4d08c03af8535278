"""A new slave of an old master (the same reports as of new brokers on old NameServers).

Tried: what a slave asks of a master of 4.x that is silent on it: where its log ends, modes and timers of 5.x.
Each silence took the connection away, and offsets were never taken over. Right: the tables that there are follow, the
others are asked for once, over one connection; where the log is copied from is what the NameServer says.
"""

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from tests.field.old_peers import VERSIONS, OldNameServer, old_name_server
from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.config import BrokerConfig
from trimq.broker.services.metadata_sync import MetadataSync
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.bodies.route import BrokerData
from trimq.codec.codes import RequestCode

TABLES = (
    RequestCode.GET_ALL_TOPIC_CONFIG,
    RequestCode.GET_ALL_CONSUMER_OFFSET,
    RequestCode.GET_ALL_DELAY_OFFSET,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
)
OF_5 = (RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, RequestCode.GET_TIMER_METRICS)
ENDS = RequestCode.GET_BROKER_HA_STATUS
TIMERS = RequestCode.GET_TIMER_CHECK_POINT


@pytest.fixture
def patient_clock() -> trio.testing.MockClock:
    """Stands still while anybody works, however slow the machine: it jumps when nothing has come for long."""
    return trio.testing.MockClock(autojump_threshold=0.05)


class Master(OldNameServer):
    """The broker, and how often somebody connects."""

    connections = 0

    def __init__(self, version: str) -> None:
        super().__init__(version, "broker")
        self.bodies[ENDS] = encode_body(HARuntimeInfo(master=True))

    async def talk(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        await super().talk(stream)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_slave_follows_what_there_is(
    tmp_path: Path, nursery: Any, version: str, patient_clock: Any
) -> None:
    taken: list[int] = []

    def follow(code: int) -> Any:
        async def take(_: bytes) -> None:
            taken.append(code)

        return take

    async with old_name_server(version) as names, old_name_server(version, Master) as master:
        data = BrokerData(cluster="C", broker_name="broker-a", broker_addrs={0: master.addr})
        info = ClusterInfo(broker_addr_table={"broker-a": data})
        names.bodies[RequestCode.GET_BROKER_CLUSTER_INFO] = encode_body(info)
        others = OtherBrokers(BrokerConfig(), [names.addr])
        nursery.start_soon(others.run)
        await trio.testing.wait_all_tasks_blocked()
        sync = MetadataSync(
            "broker-a",
            others,
            {code: follow(code) for code in (*TABLES, *OF_5)},
            follow(TIMERS),
            lambda: 0,
            of_log=(RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET),
        )
        nursery.start_soon(sync.follow_tables)
        nursery.start_soon(sync.follow_timers)
        await trio.sleep(150)
        nursery.cancel_scope.cancel()
    assert set(TABLES) <= set(taken)
    assert isinstance(master, Master)
    assert master.connections == 1
    # Every minute.
    assert 2 <= master.heard.count(RequestCode.GET_ALL_TOPIC_CONFIG) <= 3
    for code in (*OF_5, ENDS, TIMERS):
        if code in master.silent or master.answers[code] == 3:
            assert master.heard.count(code) == 1, code
        else:
            assert master.heard.count(code) >= 2, code
