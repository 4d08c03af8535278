"""Members of broadcasting groups: where they pull is committed for GROUP@broadcast (BroadcastOffsetManager)."""

from typing import Any

import pytest

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.records.addresses import pack_host
from trimq.processors.consume.pull_message import PullMessage
from trimq.remoting.contract import Peer

NAME = "commit offsets of broadcasting groups"
GROUP = "CG@broadcast"


class Members:
    """Of group CG, each on a connection of its own."""

    def __init__(self, consuming: Any, **settings: Any) -> None:
        self.consuming, self.broker = consuming, consuming.broker
        self.data = ConsumerData(
            group_name="CG",
            consume_type="CONSUME_PASSIVELY",
            message_model="BROADCASTING",
            subscription_data_set=[SubscriptionData(topic="T", sub_string="*", sub_version=100)],
        )
        for name, value in settings.items():
            setattr(self.data, name, value)
        self.broker.groups.find("CG", "").consume_broadcast_enable = True

    def join(self, name: str, port: int) -> Client:
        addr = f"10.0.0.7:{port}"
        client = Client(Peer(addr, pack_host(addr), port), name, 0, 513, self.broker.clock.millis())
        self.broker.consumers.register(client, self.data, False)
        return client

    def pull(self, client: Client, offset: int, queue_id: int = 0) -> None:
        self.broker.peer = client.peer
        request = self.consuming.request(queueOffset=offset, queueId=queue_id, sysFlag=0)
        self.broker.processor(PullMessage).handle(request)

    async def committed(self, queue_id: int = 0) -> int:
        # The service as it runs, without its pause.
        for _ in self.broker.processor(PullMessage)._pulling.broadcasts.scan():
            pass
        found: int = self.broker.offsets.query(GROUP, "T", queue_id)
        return found


async def test_the_least_of_all_members_is_committed(consuming: Any) -> None:
    for _ in range(5):
        consuming.put()
    members = Members(consuming)
    one, two = members.join("one", 1), members.join("two", 2)
    members.pull(one, 3)
    members.pull(two, 1)
    members.pull(two, 0)
    members.pull(one, 0, queue_id=1)
    assert NAME in consuming.broker.parts.services
    assert await members.committed() == 1
    assert await members.committed(1) == 0
    members.pull(two, 5)
    assert await members.committed() == 3


async def test_an_offset_that_is_moved_counts_where_it_goes_on(consuming: Any) -> None:
    members = Members(consuming)
    consuming.put()
    members.pull(members.join("one", 1), 9)
    assert await members.committed() == 1


@pytest.mark.parametrize(
    ("settings", "of_broker"),
    [
        ({"message_model": "CLUSTERING"}, True),
        ({"consume_type": "CONSUME_ACTIVELY"}, True),
        ({}, False),
    ],
)
async def test_what_does_not_count(
    make_consuming: Any, settings: dict[str, str], of_broker: bool
) -> None:
    consuming = make_consuming(enable_broadcast_offset_store=of_broker)
    members = Members(consuming, **settings)
    members.pull(members.join("one", 1), 0)
    assert await members.committed() == -1


async def test_a_member_that_has_left_counts_for_two_minutes(consuming: Any) -> None:
    for _ in range(5):
        consuming.put()
    members = Members(consuming)
    one, two = members.join("one", 1), members.join("two", 2)
    members.pull(one, 0)
    members.pull(two, 4)
    consuming.broker.consumers.unregister("CG", one, False)
    consuming.broker.clock.now += 119_000
    members.pull(two, 4)
    assert await members.committed() == 0
    consuming.broker.clock.now += 1000
    members.pull(two, 4)
    # It is forgotten in the look that finds it too old.
    assert await members.committed() == 4
