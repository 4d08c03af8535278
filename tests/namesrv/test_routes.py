"""What brokers register and what clients find (RouteInfoManager)."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.namesrv.parts import ADDRESS, Parts, topic, topics
from trimq.codec.bodies.route import QueueData, TopicRouteData
from trimq.codec.bodies.topics import DataVersion, TopicQueueMappingInfo
from trimq.namesrv.routes import Registered, RouteTable

SLAVE = "10.0.0.2:10911"


def route(parts: Parts, name: str) -> TopicRouteData:
    found = parts.routes.route(name)
    assert found is not None
    return found


def test_a_registered_topic_has_a_route(parts: Parts) -> None:
    parts.register([topic("T", queues=3, perm=4, flag=2), topic("U")])
    found = route(parts, "T")
    assert found.queue_datas == [
        QueueData(
            broker_name="broker-a", perm=4, read_queue_nums=3, write_queue_nums=3, topic_sys_flag=2
        )
    ]
    (group,) = found.broker_datas
    assert (group.broker_name, group.cluster, group.broker_addrs) == (
        "broker-a",
        "c",
        {0: ADDRESS},
    )
    assert parts.routes.route("V") is None


def test_two_brokers_serve_one_topic(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    parts.register(topics("T", "V"), broker_name="broker-b", broker_addr=SLAVE)
    assert {data.broker_name for data in route(parts, "T").queue_datas} == {"broker-a", "broker-b"}
    assert parts.routes.clusters() == {"c": ["broker-b", "broker-a"]}


def test_a_single_topic_needs_a_registered_broker(parts: Parts) -> None:
    assert parts.register(topics("T")) is None
    assert parts.routes.route("T") is None
    parts.register(topics("T", "U"))
    assert parts.register(topics("V"), version=2) == Registered()
    assert parts.routes.topics.topics() == ["T", "U", "V"]


def test_an_unchanged_version_changes_no_topic(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    parts.register([topic("T", queues=9), topic("V")])
    assert route(parts, "T").queue_datas[0].read_queue_nums == 4
    assert route(parts, "V").queue_datas[0].read_queue_nums == 4
    parts.register([topic("T", queues=9)], version=2)
    assert route(parts, "T").queue_datas[0].read_queue_nums == 9


def test_the_version_is_remembered(parts: Parts) -> None:
    assert parts.routes.data_version("c", ADDRESS) is None
    parts.register(topics("T", "U"), version=7)
    assert parts.routes.data_version("c", ADDRESS) == DataVersion(counter=7)


def test_a_slave_learns_its_master(parts: Parts) -> None:
    assert parts.register(topics("T", "U")) == Registered()
    answer = parts.register(topics("X", "Y"), broker_id=1, broker_addr=SLAVE)
    assert answer == Registered(ADDRESS, "10.0.0.1:10912")
    assert route(parts, "T").broker_datas[0].broker_addrs == {0: ADDRESS, 1: SLAVE}
    # A slave's topics don't count while there is a master.
    assert parts.routes.route("X") is None


def test_a_slave_alone_brings_its_topics_unless_it_is_old(parts: Parts) -> None:
    parts.register(topics("T", "U"), broker_id=1, enable_acting_master=None)
    assert parts.routes.route("T") is None
    parts.register(topics("T", "U"), broker_id=1)
    assert route(parts, "T").queue_datas[0].perm == 6


def test_a_slave_that_became_master_has_one_id(parts: Parts) -> None:
    parts.register(topics("T", "U"), broker_id=1)
    parts.register(topics("T", "U"), broker_id=0)
    assert parts.routes.members("broker-a") == {0: ADDRESS}


def test_a_higher_state_version_keeps_its_id(parts: Parts) -> None:
    parts.register(topics("T", "U"), state_version=5)
    assert parts.register(topics("T", "U"), broker_addr=SLAVE, state_version=4) == Registered()
    assert parts.routes.members("broker-a") == {0: ADDRESS}
    parts.register(topics("T", "U"), broker_addr=SLAVE, state_version=5)
    assert parts.routes.members("broker-a") == {0: SLAVE}


def test_unregistering_takes_topics_group_and_cluster(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    parts.register(topics("U", "V"), broker_name="b", broker_addr=SLAVE, cluster_name="d")
    parts.routes.unregister_broker("c", ADDRESS, "broker-a", 0)
    assert parts.routes.topics.topics() == ["U", "V"]
    assert parts.routes.clusters() == {"d": ["b"]}
    assert parts.routes.data_version("c", ADDRESS) is None


def test_unregistering_a_stranger_does_nothing(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    parts.routes.unregister_broker("x", "1.1.1.1:1", "nobody", 0)
    assert route(parts, "T").broker_datas


def test_a_closed_connection_takes_its_broker(parts: Parts) -> None:
    peer, other = parts.peer(), parts.peer()
    parts.register(topics("T", "U"), peer=peer)
    parts.routes.opened(other)
    parts.routes.closed(other)
    assert parts.routes.route("T") is not None
    parts.routes.closed(peer)
    assert parts.routes.route("T") is None


def test_an_old_connection_takes_nothing(parts: Parts) -> None:
    old, new = parts.peer(), parts.peer()
    parts.register(topics("T", "U"), peer=old)
    parts.register(topics("T", "U"), peer=new)
    parts.routes.closed(old)
    assert parts.routes.route("T") is not None


def test_an_ignored_broker_leaves_nothing_behind(parts: Parts) -> None:
    peer = parts.peer()
    parts.register(topics("T", "U"), state_version=5)
    parts.register(topics("T", "U"), broker_addr=SLAVE, state_version=4, peer=peer)
    parts.routes.closed(peer)
    assert parts.routes.members("broker-a") == {0: ADDRESS}


@pytest.mark.parametrize(("timeout", "limit"), [(None, 120_000), (10_000, 10_000)])
def test_a_silent_broker_expires(parts: Parts, timeout: int | None, limit: int) -> None:
    peer = parts.peer()
    parts.register(topics("T", "U"), heartbeat_timeout_millis=timeout, peer=peer)
    parts.time.now += limit
    parts.routes.drop_silent()
    assert parts.routes.route("T") is not None
    assert not peer.closed
    parts.time.now += 1
    parts.routes.drop_silent()
    assert parts.routes.route("T") is None
    # It may hang: when it wakes up it has to register again.
    assert peer.closed


def test_a_sign_of_life_puts_expiry_off(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    parts.time.now += 119_000
    parts.routes.heard_of("c", ADDRESS)
    parts.routes.heard_of("c", "1.1.1.1:1")
    parts.time.now += 119_000
    parts.routes.drop_silent()
    assert parts.routes.route("T") is not None


async def test_the_scan_finds_silent_brokers(
    parts: Parts, autojump_clock: trio.testing.MockClock
) -> None:
    parts.register(topics("T", "U"))
    parts.time.now += 120_001
    async with trio.open_nursery() as nursery:
        nursery.start_soon(parts.routes.scan)
        await trio.sleep(4.9)
        assert parts.routes.route("T") is not None
        await trio.sleep(0.2)
        assert parts.routes.route("T") is None
        nursery.cancel_scope.cancel()


def test_write_permission_off_and_on(parts: Parts) -> None:
    parts.register([topic("T"), topic("U", perm=4), topic("V", perm=7)])
    assert parts.routes.topics.wipe_write("broker-a") == 3
    assert [route(parts, name).queue_datas[0].perm for name in "TUV"] == [4, 4, 5]
    # Stays so until the broker's topics change.
    parts.register([topic("T"), topic("U", perm=4), topic("V", perm=7)])
    assert route(parts, "T").queue_datas[0].perm == 4
    assert parts.routes.topics.add_write("broker-a") == 3
    assert [route(parts, name).queue_datas[0].perm for name in "TUV"] == [6, 6, 6]
    parts.register([topic("T", perm=4), topic("U", perm=4)], version=2)
    assert route(parts, "T").queue_datas[0].perm == 4
    assert parts.routes.topics.wipe_write("nobody") == 0


def test_a_topic_is_deleted_in_one_cluster_or_everywhere(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    parts.register(topics("T", "U"), broker_name="b", broker_addr=SLAVE, cluster_name="d")
    parts.routes.delete_topic("T", "nowhere")
    parts.routes.delete_topic("T", "c")
    assert [data.broker_name for data in route(parts, "T").queue_datas] == ["b"]
    parts.routes.delete_topic("T", "d")
    assert parts.routes.route("T") is None
    parts.routes.delete_topic("U", None)
    parts.routes.delete_topic("W", "")
    assert parts.routes.topics.topics() == []


def test_a_topic_registered_alone(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    here = QueueData(broker_name="broker-a", perm=6, read_queue_nums=1, write_queue_nums=1)
    away = QueueData(broker_name="nobody", perm=6, read_queue_nums=1, write_queue_nums=1)
    parts.routes.register_topic("N", [here, away])
    assert parts.routes.route("N") is None
    parts.routes.register_topic("N", [here])
    assert route(parts, "N").queue_datas == [here]
    parts.routes.register_topic("T", [here, away])
    assert route(parts, "T").queue_datas == [here]
    parts.routes.register_topic("M", [])
    assert parts.routes.route("M") is None


def test_filter_servers_are_told(parts: Parts) -> None:
    parts.register(topics("T", "U"), filter_servers=["10.0.0.1:9000"])
    assert route(parts, "T").filter_server_table == {ADDRESS: ["10.0.0.1:9000"]}
    parts.register(topics("T", "U"), filter_servers=[])
    assert route(parts, "T").filter_server_table == {}


def test_static_topics_are_told_by_broker(parts: Parts) -> None:
    info = TopicQueueMappingInfo(bname="broker-a", topic="T", total_queues=8)
    parts.register(topics("T", "U"), mappings={"T": info})
    assert route(parts, "T").topic_queue_mapping_by_broker == {"broker-a": info}
    assert route(parts, "U").topic_queue_mapping_by_broker is None


def test_missing_topics_are_forgotten_only_when_asked_for(tmp_path: Path) -> None:
    keeps = Parts(tmp_path)
    keeps.register(topics("T", "U"))
    keeps.register(topics("U", "V"), version=2)
    assert keeps.routes.route("T") is not None
    forgets = Parts(tmp_path, delete_topic_with_broker_registration=True)
    forgets.register(topics("T", "U"))
    forgets.register(topics("U", "V"), version=2)
    assert forgets.routes.topics.topics() == ["U", "V"]


def _group_without_master(parts: Parts) -> None:
    parts.register(topics("T", "rmq_sys_SYNC_BROKER_MEMBER_x"), enable_acting_master=True)
    parts.register(topics("T", "U"), broker_id=2, broker_addr=SLAVE, enable_acting_master=True)
    parts.routes.unregister_broker("c", ADDRESS, "broker-a", 0)


def test_an_acting_master_reads_only(tmp_path: Path) -> None:
    parts = Parts(tmp_path, support_acting_master=True)
    _group_without_master(parts)
    found = route(parts, "T")
    assert found.queue_datas[0].perm == 4
    assert found.broker_datas[0].broker_addrs == {0: SLAVE}
    assert parts.routes.members("broker-a") == {2: SLAVE}
    # Its own later registrations keep it read-only, and member topics show it as it is.
    parts.register(
        topics("T", "U"), broker_id=2, broker_addr=SLAVE, enable_acting_master=True, version=3
    )
    assert route(parts, "T").queue_datas[0].perm == 4
    member = route(parts, "rmq_sys_SYNC_BROKER_MEMBER_x")
    assert member.broker_datas[0].broker_addrs == {2: SLAVE}


def test_no_acting_master_unless_supported(parts: Parts) -> None:
    _group_without_master(parts)
    assert route(parts, "T").broker_datas[0].broker_addrs == {2: SLAVE}


class _Notices:
    def __init__(self) -> None:
        self.seen: list[tuple[dict[int, str], str | None, str | None]] = []

    def changed(
        self, addresses: Mapping[int, str], offline_address: str | None, ha_address: str | None
    ) -> None:
        self.seen.append((dict(addresses), offline_address, ha_address))


def test_a_lower_broker_id_is_noticed_when_asked_for(tmp_path: Path) -> None:
    notices = _Notices()
    parts = Parts(tmp_path, notify_min_broker_id_changed=True)
    parts.routes = RouteTable(parts.config, parts.time.millis, notices)
    parts.register(topics("T", "U"), broker_id=2, broker_addr=SLAVE, enable_acting_master=True)
    assert notices.seen == []
    parts.register(topics("T", "U"), enable_acting_master=True)
    both = {0: ADDRESS, 2: SLAVE}
    assert notices.seen == [(both, None, "10.0.0.1:10912")]
    parts.routes.unregister_broker("c", ADDRESS, "broker-a", 0)
    assert notices.seen[1:] == [({2: SLAVE}, ADDRESS, None)]
