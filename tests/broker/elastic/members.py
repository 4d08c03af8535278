"""Consumers as a broker sees them: they lock queues, fetch ahead, commit late, and go on when they have lost one."""

from __future__ import annotations

from collections.abc import Iterable

import trio

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from tests.broker.elastic.ledger import Kept, Ledger, Written
from trimq.broker.delivery.delays import DelayService
from trimq.broker.groups.clients.record import Client
from trimq.broker.steps import at_once
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.locks import LockBatchRequestBody, MessageQueue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.fast import PullHeader
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.record import parse_record
from trimq.processors.clients.lock_batch_mq import LockBatchMq
from trimq.processors.consume.pull_message import PullMessage
from trimq.remoting.contract import Request, Response
from trimq.remoting.testing import RecordingPeer, answer

COMMIT, SUBSCRIPTION = 1, 4
FIRST, LAST = "CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_LAST_OFFSET"
LOCK_MILLIS = 61_000
AT_A_TIME = 2
# A new connection, over which no heartbeat has come yet.
UNKNOWN = "10.0.0.7:9"


class Taken:
    """A queue that a member has: where it fetches next, what it holds, up to where it has consumed."""

    def __init__(self, begin: int) -> None:
        self.next = self.done = begin
        # With the number of resets at that time.
        self.held: list[tuple[Kept, int]] = []

    def go_to(self, offset: int) -> None:
        self.next = self.done = offset
        self.held = []


class Member:
    """One client. What it has lost stays in `lost` until it wakes."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.peer = RecordingPeer(f"10.0.0.7:{port}", port)
        self.lost: dict[int, Taken] = {}


class Group:
    """Two members; `owner`: by queue."""

    def __init__(
        self, elastic: ElasticBroker, written: Written, name: str, where: str, tag: str
    ) -> None:
        self.name, self.where, self.tag = name, where, tag
        self.ledger = Ledger(written, tag)
        self._written = written
        self.members = [Member(f"{name}-{number}", number + 1) for number in range(2)]
        self.owner: dict[int, Member] = {}
        self.taken: dict[int, Taken] = {}
        self.attach(elastic)

    # --- connections and locks

    def attach(self, elastic: ElasticBroker) -> None:
        """To a broker that has just been started."""
        self._elastic = elastic
        self._commits, self._offsets = elastic.broker.elastic.commits, elastic.offsets
        self._pulling = elastic.broker.processor(PullMessage)
        for member in self.members:
            self._join(member)

    def leave(self) -> None:
        for member in self.members:
            self._elastic.broker.consumers.closed(member.peer)

    def _join(self, member: Member) -> None:
        subscription = SubscriptionData(
            topic=TOPIC, sub_string=self.tag, sub_version=1, code_set=self._codes()
        )
        data = ConsumerData(
            group_name=self.name,
            consume_type="CONSUME_PASSIVELY",
            message_model="CLUSTERING",
            consume_from_where=self.where,
            subscription_data_set=[subscription],
        )
        now = self._elastic.broker.clock.millis()
        client = Client(member.peer, member.name, 0, 513, now)
        self._elastic.broker.consumers.register(client, data, False)

    def _codes(self) -> set[int]:
        return set() if self.tag == "*" else {string_hash(self.tag)}

    def lock(self, queues: Iterable[int] | None = None) -> None:
        """Every owner renews its locks, and the gate is there from the first one on."""
        broker = self._elastic.broker
        for queue in self.owner if queues is None else queues:
            where = MessageQueue(broker_name=broker.identity.name, queue_id=queue, topic=TOPIC)
            body = LockBatchRequestBody(
                client_id=self.owner[queue].name, consumer_group=self.name, mq_set={where}
            )
            request = broker.request(RequestCode.LOCK_BATCH_MQ, None, encode_body(body))
            broker.processor(LockBatchMq).handle(request)

    # --- queues

    def take(self, queue: int, member: int = 0) -> None:
        """By a rebalance: it asks where to begin."""
        self.owner[queue] = self.members[member]
        self.lock([queue])
        self._begin(queue)

    def _begin(self, queue: int) -> None:
        begin = self._elastic.groups.known_offset(self.name, TOPIC, queue)
        if begin < 0:
            begin = 0
            if self.where == LAST:
                begin = self._elastic.store.max_offset(TOPIC, queue)
            self.ledger.owes.setdefault(queue, begin)
        self.ledger.owes.setdefault(queue, 0 if self.where == FIRST else begin)
        self.taken[queue] = Taken(begin)
        if self.where == LAST:
            # After that it has an offset for good: it is no newcomer any more.
            self.commit(queue)
            self._offsets.file.persist()

    def hand_over(self, queue: int) -> None:
        """A rebalance as it should be: committed, unlocked, locked by the other one."""
        self.commit(queue)
        broker, owner = self._elastic.broker, self.owner[queue]
        where = MessageQueue(broker_name=broker.identity.name, queue_id=queue, topic=TOPIC)
        broker.locks.unlock(self.name, [where], owner.name)
        self.take(queue, self._other(queue))

    def give_up_left(self) -> None:
        """Queues that have left the route: nobody asks for them any more, nor renews their locks."""
        broker = self._elastic.broker
        for queue in range(self._elastic.topic().read_queue_nums, max(self.owner, default=0) + 1):
            where = MessageQueue(broker_name=broker.identity.name, queue_id=queue, topic=TOPIC)
            if queue in self.owner:
                broker.locks.unlock(self.name, [where], self.owner[queue].name)

    def lose(self, queue: int) -> None:
        """The owner pauses, its lock ends, and the other one takes the queue."""
        self._elastic.broker.clock.now += LOCK_MILLIS
        self.owner[queue].lost[queue] = self.taken[queue]
        self.take(queue, self._other(queue))
        self.lock()

    def wake(self, queue: int) -> None:
        """A paused owner finds nothing to do, and nobody listens to it."""
        for member in self.members:
            lost = member.lost.pop(queue, None)
            if lost is None or self.owner[queue] is member:
                continue
            self.lock()
            before = self._offsets.query(self.name, TOPIC, queue)
            for address in (member.peer.remote_addr, UNKNOWN):
                self._offsets.commit(address, self.name, TOPIC, queue, lost.next)
            assert self._offsets.query(self.name, TOPIC, queue) == before
            waits = self._offsets.has_reset(self.name, TOPIC, queue)
            assert not self._messages(self._pull(member, queue, lost.next))
            assert self._offsets.has_reset(self.name, TOPIC, queue) == waits

    def kill(self) -> None:
        """All members are started again: what they held is gone."""
        for member in self.members:
            member.lost.clear()
        for queue in self.taken:
            self._begin(queue)

    def _other(self, queue: int) -> int:
        return 1 - self.members.index(self.owner[queue])

    # --- consuming

    def fetch(self, queue: int, *, commits: bool = False) -> None:
        """A pull, whose empty answer moves on what is consumed, as clients have it."""
        if queue >= self._elastic.topic().read_queue_nums:
            return
        taken = self.taken[queue]
        pull = self._pull(self.owner[queue], queue, taken.next, taken.done if commits else None)
        assert pull.ext_fields is not None
        following = int(pull.ext_fields["nextBeginOffset"])
        if pull.code == ResponseCode.PULL_OFFSET_MOVED:
            taken.go_to(following)
            return
        for message in self._messages(pull):
            self.ledger.handed_out(message)
            for before in self._written.before(message):
                passed = self._elastic.groups.passed_end(self.name, TOPIC, before.queue)
                assert passed > before.offset or not self.ledger.is_owed(before)
            taken.held.append((message, self.ledger.resets))
        taken.next = following
        if not taken.held:
            taken.done = following

    def consume(self, queue: int) -> None:
        taken = self.taken[queue]
        if taken.held:
            message, resets = taken.held.pop(0)
            taken.done = message.offset + 1
            self.ledger.consume(message, resets)

    def consume_all(self, queue: int) -> None:
        while self.taken[queue].held:
            self.consume(queue)

    def commit(self, queue: int) -> None:
        address = self.owner[queue].peer.remote_addr
        self._offsets.commit(address, self.name, TOPIC, queue, self.taken[queue].done)

    def drain(self, queue: int) -> None:
        """What there is for now, to the end."""
        before = -1
        while before != self.taken[queue].next:
            before = self.taken[queue].next
            self.fetch(queue)
            self.consume_all(queue)
            self.commit(queue)

    def reset(self, queue: int, offset: int, *, copies: bool = False) -> None:
        """An operator's. `copies`: by the offset of another group."""
        if copies:
            self._offsets.commit("10.0.0.7:9", "Source", TOPIC, queue, offset)
            self._offsets.copy_group("Source", self.name, TOPIC)
            at_once(self._offsets.forget_group("Source"))
        else:
            self._offsets.assign_reset(self.name, TOPIC, queue, offset)
        self.ledger.reset(queue, offset)

    def _pull(self, member: Member, queue: int, offset: int, done: int | None = None) -> Response:
        flags = SUBSCRIPTION if done is None else SUBSCRIPTION | COMMIT
        header = PullHeader(
            self.name, TOPIC, queue, offset, AT_A_TIME, flags, done, 15_000, 1, self.tag
        )
        request = Request(RequestCode.PULL_MESSAGE, header, member.peer, b"", 513)
        outcome = self._pulling.handle(request)
        if not isinstance(outcome, Response):
            # It lies on the disk.
            outcome = trio.run(answer, self._pulling, request)
        return outcome

    def _messages(self, answer: Response) -> list[Kept]:
        body = answer.body or b""
        data = bytes(body) if isinstance(body, bytes | bytearray) else b"".join(map(bytes, body))
        found, at = [], 0
        while at < len(data):
            record = parse_record(data, at)
            at += record.total_size
            found.append(self._written.at[record.queue_id, record.queue_offset])
        return found


async def deliver(delays: DelayService) -> None:
    """All that is due."""
    async with trio.open_nursery() as nursery:
        await nursery.start(delays.run)
        while delays.progress().get(1, 0) < delays.end(1):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
