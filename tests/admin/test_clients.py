"""Both administration clients against a broker of our own: the same operations, the same results."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.client import AdminClient
from trimq.admin.errors import Invalid, NotFound, Refused
from trimq.admin.messages.finding import MessageQuery
from trimq.admin.messages.sending import NewMessage
from trimq.admin.topics.static_topics import Configs, extend, mapping_of
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.errors import CodecError
from trimq.remoting.errors import RemotingConnectError
from trimq.testing import TestServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        yield started


@pytest.fixture
def admin(server: TestServer) -> Iterator[BlockingAdminClient]:
    with BlockingAdminClient(server.namesrv_addr) as client:
        yield client


def closed_addr() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{sock.getsockname()[1]}"


def test_a_topic_is_made_filled_read_and_deleted(
    server: TestServer, admin: BlockingAdminClient
) -> None:
    admin.put_topic(
        server.broker_addr, TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=2)
    )
    assert "T" in admin.topic_names()
    assert admin.topic_clusters("T") == ["DefaultCluster"]
    message = NewMessage(topic="T", body=b"hello", tags="A", keys="k1 k2")
    sent = admin.send(message, "broker-a", 1)
    assert (sent.status, sent.queue.queue_id, sent.queue_offset) == ("SEND_OK", 1, 0)
    offsets = {
        queue.queue_id: one.max_offset for queue, one in admin.topic_stats("T").offsets.items()
    }
    assert offsets == {0: 0, 1: 1}
    place = admin.place_of("T", "broker-a", 1)
    pulled = admin.pull(place, 0)
    assert (pulled.status, pulled.next_offset) == ("FOUND", 1)
    (read,) = pulled.messages
    assert (read.message_id, read.body, read.keys) == (sent.message_id, b"hello", "k1 k2")
    assert admin.view_message("T", sent.offset_id).message_id == sent.message_id
    assert [one.body for one in admin.query_messages(MessageQuery(topic="T", key="k2"))] == [
        b"hello"
    ]
    assert admin.message_by_id("T", sent.message_id, None).offset_id == sent.offset_id
    admin.delete_topic("T", "DefaultCluster")
    with pytest.raises(NotFound, match="has no route for topic 'T'"):
        admin.topic_route("T")


def test_tags_that_only_share_a_hash_are_left_out(admin: BlockingAdminClient) -> None:
    for tag in ("Aa", "BB"):
        admin.send(NewMessage(topic="Twins", body=tag.encode(), tags=tag), "broker-a", 0)
    place = admin.place_of("Twins", "broker-a", 0)
    assert [one.body for one in admin.pull(place, 0, "BB || CC").messages] == [b"BB"]


def test_a_group_without_members(server: TestServer, admin: BlockingAdminClient) -> None:
    admin.put_group(server.broker_addr, SubscriptionGroupConfig(group_name="G"))
    with pytest.raises(NotFound, match="no broker knows group 'G'"):
        admin.consume_stats("G")
    with pytest.raises(NotFound, match="no consumer of group 'G'"):
        admin.consumer_connection("G", server.broker_addr)
    admin.delete_group(server.broker_addr, "G")


def test_lists_are_deleted(server: TestServer, admin: BlockingAdminClient) -> None:
    addr = server.broker_addr
    topics = [TopicConfig(topic_name=f"Listed{number}") for number in range(25)]
    groups = [SubscriptionGroupConfig(group_name=f"listed{number}") for number in range(25)]
    admin.put_topics(addr, topics)
    admin.put_groups(addr, groups)
    admin.update_broker_config(
        addr, {"batchDeleteTopicMaxRate": "0", "batchDeleteSubscriptionGroupMaxRate": "0"}
    )
    admin.delete_topics_on_broker(addr, [one.topic_name for one in topics[1:]])
    admin.delete_groups(addr, [one.group_name for one in groups[1:]], True)
    left = [name for name in admin.topics_of(addr) if name.startswith("Listed")]
    assert left == ["Listed0"]
    assert [name for name in admin.groups_of(addr) if name.startswith("listed")] == ["listed0"]
    with pytest.raises(Refused, match="conflict with system topic"):
        admin.delete_topics_on_broker(addr, ["Listed0", "TBW102"])
    assert "Listed0" in admin.topics_of(addr)


def test_entries_of_name_servers(admin: BlockingAdminClient) -> None:
    admin.put_kv("Space", "key", "value")
    assert admin.get_kv("Space", "key") == "value"
    admin.delete_kv("Space", "key")
    with pytest.raises(NotFound, match="no entry 'key' in namespace 'Space'"):
        admin.get_kv("Space", "key")
    admin.set_broker_order("Ordered", "broker-a", 4)
    admin.set_broker_order("Ordered", "broker-b", 2)
    admin.set_broker_order("Ordered", "broker-a", 3)
    assert admin.get_kv("ORDER_TOPIC_CONFIG", "Ordered") == "broker-a:3;broker-b:2"


def test_name_server_settings(server: TestServer, admin: BlockingAdminClient) -> None:
    admin.update_name_server_config({"deleteTopicWithBrokerRegistration": "true"})
    config = admin.name_server_config()[server.namesrv_addr]
    assert config["deleteTopicWithBrokerRegistration"] == "true"
    # Otherwise the next topic that a broker registers by itself takes all others away.
    admin.update_name_server_config({"deleteTopicWithBrokerRegistration": "false"})


def test_what_is_refused_or_unknown(server: TestServer, admin: BlockingAdminClient) -> None:
    with pytest.raises(Refused, match="does not know WIPE_WRITE_PERM_OF_BROKER"):
        admin.wipe_write_perm(server.broker_addr, "broker-a")
    with pytest.raises(Invalid, match="no cluster 'Nowhere'; the NameServer knows: DefaultCluster"):
        admin.masters("Nowhere")
    with pytest.raises(CodecError):
        admin.view_message("T", "no id")
    with pytest.raises(Invalid, match="chosen by its number and its broker's name"):
        admin.send(NewMessage(topic="T", body=b""), None, 3)


def test_a_dead_name_server_is_passed_over(server: TestServer) -> None:
    dead = closed_addr()
    with BlockingAdminClient(f"{dead};{server.namesrv_addr}") as admin:
        assert "TBW102" in admin.topic_names()
    with BlockingAdminClient(dead) as admin, pytest.raises(RemotingConnectError, match=dead):
        admin.topic_names()


def test_a_static_topic_on_one_broker(server: TestServer, admin: BlockingAdminClient) -> None:
    configs = admin.topic_configs("Static")
    assert configs == {}
    extend("Static", configs, ["broker-a"], 3, admin.link.now())
    admin.complete_static_topic("Static", configs)
    admin.put_static_topics(configs)
    route = admin.topic_route("Static").topic_queue_mapping_by_broker
    assert route is not None
    assert route["broker-a"].curr_id_map == {0: 0, 1: 1, 2: 2}
    assert admin.topic_configs("Static") == configs
    assert admin.user_topics(server.broker_addr).topic_config_table["Static"].read_queue_nums == 3
    admin.send(NewMessage(topic="Static", body=b"x"), "broker-a", 2)
    offsets = admin.topic_stats("Static").offsets
    assert {
        (queue.broker_name, queue.queue_id): one.max_offset for queue, one in offsets.items()
    } == {
        (name, number): int(number == 2)
        for name in ("broker-a", "__syslo__global__")
        for number in range(3)
    }
    with pytest.raises(Invalid, match="can only grow"):
        extend("Static", configs, ["broker-a"], 2, admin.link.now())
    configs["broker-a"].mapping_detail = None
    with pytest.raises(Invalid, match="not a static topic"):
        admin.put_static_topics(configs)
    with pytest.raises(Invalid, match="broker 'nobody' has no master"):
        admin.put_static_topics({"nobody": configs["broker-a"]})
    admin.delete_topic("Static", "DefaultCluster")
    with pytest.raises(NotFound, match="does not have topic 'Static'"):
        admin.topic_config(server.broker_addr, "Static")


def test_a_mapping_that_contradicts_itself_changes_nothing(admin: BlockingAdminClient) -> None:
    configs: Configs = {}
    extend("Moved", configs, ["broker-a"], 1, admin.link.now())
    mapping_of("broker-a", configs["broker-a"]).hosted_queues[0][0].start_offset = -1
    with pytest.raises(Refused, match="The field is illegal, should not be negative"):
        admin.put_static_topics(configs)
    assert admin.topic_configs("Moved") == {}


def test_requests_for_single_brokers(server: TestServer, admin: BlockingAdminClient) -> None:
    addr = server.broker_addr
    assert admin.set_read_ahead(addr, 1) == "set commitlog readahead mode success, mode: 1"
    admin.reset_master_flush_offset(addr, 100)
    admin.switch_timer_engine(addr, "F")
    with pytest.raises(Refused, match="timerRocksDBEnable must be configured true"):
        admin.switch_timer_engine(addr, "R")
    with pytest.raises(Refused, match="does not know ADD_BROKER"):
        admin.add_broker(addr, "broker.conf")
    with pytest.raises(Refused, match="does not know REMOVE_BROKER"):
        admin.remove_broker(addr, "DefaultCluster", "broker-a", 0)
    with pytest.raises(Refused, match="not exist"):
        admin.broker_counter(addr, "TOPIC_PUT_NUMS", "NoSuchTopic")
    assert admin.broker_lite_info(addr).store_type == "default"


async def test_the_client_for_trio(server: TestServer) -> None:
    async with AdminClient.connect(server.namesrv_addr) as admin:
        sent = await admin.send(NewMessage(topic="InTrio", body=b"x"))
        names = await admin.topic_names()
        stats = await admin.topic_stats("InTrio")
    assert sent.status == "SEND_OK"
    assert "InTrio" in names
    assert sum(one.max_offset for one in stats.offsets.values()) == 1


async def test_failures_in_trio_are_not_groups(server: TestServer) -> None:
    async with AdminClient.connect(server.namesrv_addr) as admin:
        with pytest.raises(NotFound):
            await admin.topic_route("NoSuchTopic")
        with pytest.raises(RemotingConnectError, match=r": Connection refused$"):
            await admin.broker_topic_stats(closed_addr(), "T")
        # The client goes on.
        assert await admin.broker_name_of(server.broker_addr) == "broker-a"
    with pytest.raises(NotFound):
        async with AdminClient.connect(server.namesrv_addr) as admin:
            await admin.topic_route("NoSuchTopic")


def test_both_clients_have_the_same_operations() -> None:
    def operations(client: type) -> set[str]:
        return {name for name in vars(client) if not name.startswith("_")}

    only_trio = {"ask", "connect"}
    assert operations(AdminClient) - only_trio == operations(BlockingAdminClient) - {
        "close",
        "name_servers",
    }


def test_plain_code_loads_no_trio() -> None:
    code = "import sys, trimq.admin.blocking; assert 'trio' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("text", ["", " ; ", "nowhere", "host:", ":1", "host:99999"])
def test_name_servers_need_a_host_and_a_port(text: str) -> None:
    with pytest.raises(Invalid):
        BlockingAdminClient(text)
