"""Elastic topics are reset by the broker, whatever it leaves to members elsewhere: what our commands make of that."""

from collections.abc import AsyncIterator, Iterator

import pytest
import trio

from tests.run.mqadmin import run_mqadmin
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.client import AdminClient
from trimq.admin.groups.progress import Side, Target
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.client import Client
from trimq.testing import TestServer, running_server

TOPICS = ("Elastic", "Plain")


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    """Leaves resets to members; both topics have two messages in each of two queues."""
    settings = {"brokerName": "broker-a", "useServerSideResetOffset": "false"}
    with running_server(settings=settings) as started:
        with BlockingAdminClient(started.namesrv_addr) as admin:
            addr = started.broker_addr
            admin.elastic_create(addr, "Elastic", 2)
            plain = TopicConfig(topic_name="Plain", read_queue_nums=2, write_queue_nums=2)
            admin.put_topic(addr, plain)
            for topic in TOPICS:
                for queue in (0, 1, 0, 1):
                    admin.send(NewMessage(topic=topic, body=b"x"), "broker-a", queue)
            admin.put_group(addr, SubscriptionGroupConfig(group_name="G"))
        yield started


@pytest.fixture
async def admin(server: TestServer) -> AsyncIterator[AdminClient]:
    """While a member of the group is online."""
    wanted = [SubscriptionData(topic=topic, sub_string="*", sub_version=1) for topic in TOPICS]
    data = ConsumerData(
        group_name="G",
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        subscription_data_set=wanted,
    )
    beat = encode_body(HeartbeatData(client_id="x", consumer_data_set=[data]))
    async with (
        Client.connect(server.broker_addr) as member,
        AdminClient.connect(server.namesrv_addr) as client,
    ):
        await member.request(RequestCode.HEART_BEAT, None, beat)
        yield client


async def run(server: TestServer, *words: str) -> tuple[int, str]:
    done = await trio.to_thread.run_sync(
        lambda: run_mqadmin(*words, NAMESRV_ADDR=server.namesrv_addr)
    )
    return done.returncode, done.stdout + done.stderr


async def committed(server: TestServer, admin: AdminClient, topic: str) -> list[int]:
    rows = await admin.queue_progress(server.broker_addr, "G", topic)
    return [one.committed for one in rows]


async def test_one_queue_of_an_online_group(server: TestServer, admin: AdminClient) -> None:
    await admin.move_group(server.broker_addr, "G", "Elastic", Target(Side.EARLIEST))
    queue = ("-b", server.broker_addr, "-q", "1", "-s", "now", "-o", "1")
    code, text = await run(server, "resetOffsetByTime", "-g", "G", "-t", "Elastic", *queue)
    assert code == 0, text
    assert await committed(server, admin, "Elastic") == [0, 1]
    code, text = await run(
        server, "resetOffset", "-g", "G", "-t", "Elastic", "-q", "0", "--to", "2"
    )
    assert code == 0, text
    assert await committed(server, admin, "Elastic") == [2, 1]


async def test_other_topics_are_left_to_the_member(server: TestServer, admin: AdminClient) -> None:
    assert not await admin.resets_by_itself(server.broker_addr, "Plain")
    queue = ("-b", server.broker_addr, "-q", "1", "-s", "now", "-o", "1")
    code, text = await run(server, "resetOffsetByTime", "-g", "G", "-t", "Plain", *queue)
    assert code == 1
    assert "leaves resets to the members of a group" in text


async def test_a_plan_says_that_force_does_not_count(
    server: TestServer, admin: AdminClient
) -> None:
    words = ("resetOffsetByTime", "-g", "G", "-s", "now", "-f", "false", "--dry-run", "--json")
    await admin.move_group(server.broker_addr, "G", "Elastic", Target(Side.OFFSET, 1))
    code, text = await run(server, *words, "-t", "Elastic")
    assert code == 0, text
    assert text.count('"to": 2') + text.count('"to":2') == 2
