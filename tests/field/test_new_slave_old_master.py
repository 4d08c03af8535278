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
from tests.identities import named
from trimq.base.clock import Clock
from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.cluster.registration import Registration
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.broker.services.masters_address import MastersAddress
from trimq.broker.services.metadata_sync import Copy, MetadataSync, NoFields
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.route import BrokerData
from trimq.codec.codes import RequestCode

TABLES = (
    RequestCode.GET_ALL_TOPIC_CONFIG,
    RequestCode.GET_ALL_CONSUMER_OFFSET,
    RequestCode.GET_ALL_DELAY_OFFSET,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
)
OF_5 = (RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, RequestCode.GET_TIMER_METRICS)
TIMERS = RequestCode.GET_TIMER_CHECK_POINT


class Master(OldNameServer):
    """The broker, and how often somebody connects."""

    connections = 0

    def __init__(self, version: str) -> None:
        super().__init__(version, "broker")

    async def talk(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        await super().talk(stream)


class Slave:
    """What of a slave follows its master's tables."""

    def __init__(self, nursery: trio.Nursery, names: OldNameServer, master: OldNameServer) -> None:
        self.taken: list[int] = []
        data = BrokerData(cluster="C", broker_name="broker-a", broker_addrs={0: master.addr})
        info = ClusterInfo(broker_addr_table={"broker-a": data})
        names.bodies[RequestCode.GET_BROKER_CLUSTER_INFO] = encode_body(info)
        self.others = OtherBrokers(BrokerConfig(), [names.addr])
        nursery.start_soon(self.others.run)
        self.sync = MetadataSync(
            named("broker-a"),
            self.others,
            {code: self._follow(code) for code in (*TABLES, *OF_5)},
            self._follow(TIMERS),
            Copy(lambda: 0, lambda: True, self._masters_end),
            of_log=(RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET),
        )

    async def _masters_end(self) -> int:
        """Asked with a code of every version (GET_BROKER_RUNTIME_INFO)."""
        return 0

    def _follow(self, code: int) -> Any:
        async def take(_: bytes) -> None:
            self.taken.append(code)

        return take


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_slave_follows_what_there_is(
    nursery: Any, version: str, patient_clock: Any
) -> None:
    async with old_name_server(version) as names, old_name_server(version, Master) as master:
        slave = Slave(nursery, names, master)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(slave.sync.follow_tables)
        # Something has been answered then.
        await trio.sleep(0.5)
        nursery.start_soon(slave.sync.follow_timers)
        await trio.sleep(150)
        nursery.cancel_scope.cancel()
    assert set(TABLES) <= set(slave.taken)
    assert isinstance(master, Master)
    assert master.connections == 1
    # Every minute.
    assert 2 <= master.heard.count(RequestCode.GET_ALL_TOPIC_CONFIG) <= 3
    for code in (*OF_5, TIMERS):
        if code in master.silent or master.answers[code] == 3:
            assert master.heard.count(code) == 1, code
        else:
            assert master.heard.count(code) >= 2, code


@pytest.mark.parametrize("version", VERSIONS)
async def test_where_the_log_is_copied_from(
    tmp_path: Path, nursery: Any, version: str, patient_clock: Any
) -> None:
    """Masters of 4.x do not say it, but NameServers do, to a slave that registers."""
    config = BrokerConfig(broker_name="broker-a")
    identity = BrokerIdentity("C", "broker-a", 1, "127.0.0.1:2", "127.0.0.1:3")
    topics = Topics(config, tmp_path, Clock())
    async with old_name_server(version) as names, old_name_server(version, Master) as master:
        names.headers[RequestCode.REGISTER_BROKER] = {"haServerAddr": "127.0.0.1:9"}
        slave = Slave(nursery, names, master)
        registration = Registration(config, identity, topics, [names.addr])
        await nursery.start(registration.run)
        await slave.others.ask("broker-a", RequestCode.GET_ALL_TOPIC_CONFIG, NoFields())
        address = MastersAddress(
            None, identity, slave.others, lambda: registration.master_ha_address
        )
        found = await address.find()
        assert found == ("127.0.0.1:9" if version.startswith("4") else None)
        nursery.cancel_scope.cancel()
