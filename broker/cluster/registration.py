"""This broker's registration with all its NameServers (BrokerController, BrokerOuterAPI).

The default broker sends no heartbeats of its own to NameServers: registering every 30 s shows that
it is alive (BROKER_HEARTBEAT comes with enableSlaveActingMaster).
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final

import trio

from trimq.broker.cluster.announcement import Announcement
from trimq.broker.cluster.name_server_link import NameServerLink
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.kv import KVTable
from trimq.codec.bodies.route import QueueData
from trimq.codec.bodies.topics import TopicConfig
from trimq.remoting.clients.client import Tls
from trimq.remoting.contract import HeldReplies

# A start waits so long for a first NameServer, and so long for the others once one has accepted.
ACCEPT_SECONDS: Final = 5.0
OTHERS_SECONDS: Final = 1.0


def name_server_list(text: str) -> list[str]:
    """``HOST:PORT;HOST:PORT``, split."""
    return [part.strip() for part in text.split(";") if part.strip()]


class Registration:
    """Keeps every NameServer informed, each over its own connection.

    A producer may ask for the route of a topic right after the reply to the send that created it, so
    like the real broker we hold back that reply until the NameServers know it: ``held_replies`` is for
    the dispatcher, others await ``settled``. A NameServer in this process is told at once by
    ``tell_local(topic, queues)``.
    """

    def __init__(
        self,
        config: BrokerConfig,
        identity: BrokerIdentity,
        topics: Topics,
        name_servers: Sequence[str],
        tell_local: Callable[[str, list[QueueData]], None] | None = None,
        tls: Tls | None = None,
    ) -> None:
        self._identity = identity
        self._topics = topics
        self._tell_local = tell_local
        self._parked = trio.lowlevel.ParkingLot()
        self._waits_until = -inf
        # How often the broker's name or address has changed.
        self.changes = 0
        self._announcement = Announcement(config, identity, topics)
        self._links = [
            NameServerLink(
                addr, self._announcement, config, self._order_topics, self._progress, tls
            )
            for addr in dict.fromkeys(name_servers)
        ]
        self.held_replies = HeldReplies(
            partial(self.settled, config.register_broker_timeout_mills / 1000)
        )
        topics.add_listener(self._topic_changed)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Background service; started when every NameServer was tried once, or has had its time."""
        async with trio.open_nursery() as links:
            for link in self._links:
                links.start_soon(link.run)
            self._waits_until = trio.current_time() + ACCEPT_SECONDS
            with trio.move_on_at(self._waits_until) as patience:
                while not all(link.tried for link in self._links):
                    if self.registered_with():
                        patience.deadline = min(
                            patience.deadline, trio.current_time() + OTHERS_SECONDS
                        )
                    await self._parked.park()
            task_status.started()

    async def accepted(self) -> list[str]:
        """Wait for a first NameServer that accepts, as long as the start may take. What there is to say of each that
        has not, then."""
        with trio.move_on_at(self._waits_until):
            while self._links and not self.registered_with():
                await self._parked.park()
        return self.missing

    async def settled(self, timeout: float) -> bool:  # noqa: ASYNC109
        """Wait until all reachable NameServers know all topics; False when that takes too long."""
        with trio.move_on_after(timeout):
            while not all(link.settled for link in self._links):
                await self._parked.park()
            return True
        return False

    async def leave(self) -> None:
        """Unregister everywhere, a few seconds at most; nothing is registered from then on."""
        async with trio.open_nursery() as nursery:
            for link in self._links:
                nursery.start_soon(link.leave)

    def change(self, name: str = "", host: str = "", port: int = 0) -> None:
        """This broker goes by another name or address from now on: NameServers are told at once."""
        former = self._announcement.unregister_header()
        self._identity.change(name, host, port)
        present = self._announcement.unregister_header()
        if former != present:
            self.changes += 1
            for link in self._links:
                link.replace(former, present)

    async def cut(self, addr: str | None = None) -> list[str]:
        """For tests: the NameServer of this address, or none at all, is reached from now on, until `heal`.

        Returns when they are lost: which.
        """
        cut = [link for link in self._links if addr in {None, link.addr}]
        for link in cut:
            link.cut()
        while any(link.registered and link.is_cut for link in cut):
            await self._parked.park()
        return [link.addr for link in cut]

    async def heal(self) -> None:
        """Returns when they know this broker again, or after some seconds."""
        healed = [link for link in self._links if link.is_cut]
        for link in healed:
            link.heal()
        with trio.move_on_after(ACCEPT_SECONDS):
            while not all(link.registered for link in healed):
                await self._parked.park()

    @property
    def name_servers(self) -> list[str]:
        return [link.addr for link in self._links]

    @property
    def cut_off(self) -> list[str]:
        """Those that are not reached for a test."""
        return [link.addr for link in self._links if link.is_cut]

    def registered_with(self) -> list[str]:
        """The NameServers that accepted the last registration."""
        return [link.addr for link in self._links if link.registered]

    @property
    def missing(self) -> list[str]:
        """Each NameServer that has not accepted it, or is away, and what there is to say of that."""
        return [f"{link.addr} ({link.trouble})" for link in self._links if not link.registered]

    @property
    def master_ha_address(self) -> str:
        """Where the master of this slave lets its log be copied, as a NameServer says that has accepted."""
        return next((link.master_ha_address for link in self._links if link.registered), "")

    def _topic_changed(self, topic: TopicConfig) -> None:
        if self._tell_local is not None and not self.cut_off:
            self._tell_local(topic.topic_name, [self._announcement.queues(topic)])
        for link in self._links:
            link.change(topic)
        if self._tell_local is None and not all(link.settled for link in self._links):
            self.held_replies.wanted = True

    def _order_topics(self, table: KVTable) -> None:
        self._topics.set_ordered(table.table)

    def _progress(self) -> None:
        self._parked.unpark_all()
