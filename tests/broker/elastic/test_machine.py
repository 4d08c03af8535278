"""Groups read an elastic topic while it changes: whatever happens, each partition's messages come in order.

The broker's own classes over a real store. Members fetch ahead, commit late, lose queues and go on with them, and are
killed, as the broker is. `ledger.py` says what must be true, `members.py` what clients do.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.broker.elastic.conftest import GROUP, TOPIC, ElasticBroker
from tests.broker.elastic.ledger import Written
from tests.broker.elastic.members import FIRST, LAST, LOCK_MILLIS, Group, deliver
from tests.broker.produce.conftest import Producing, block
from trimq.broker.delivery.delays import DelayService
from trimq.broker.elastic.model import Move
from trimq.broker.steps import at_once
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.record import parse_record
from trimq.store.messages.message import Dispatched, Message

PARTITIONS, QUEUES, AT_FIRST = 8, 4, 2
DELAY_MILLIS = 2_000
# How often members renew their locks.
RENEW_MILLIS = 20_000
# So many examples are asked for by --soak.
LONG = 1000

some_partition = st.integers(0, PARTITIONS - 1)
some_queue = st.integers(0, QUEUES - 1)
# By how much its number is higher.
some_other = st.integers(1, QUEUES - 1)
some_group = st.sampled_from((0, 0, 1))
some_tag = st.sampled_from(("a", "b"))


class Ordered(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(prefix="trimq-", dir=_memory())
        self.elastic = ElasticBroker(Path(self.folder.name) / "store")
        self.elastic.create(AT_FIRST, QUEUES)
        self.written = Written([lp % AT_FIRST for lp in range(PARTITIONS)])
        self.elastic.store.add_listener(self._stored)
        self.groups: list[Group] = []
        self.joined = 0

    @initialize()
    def begin(self) -> None:
        self._join(GROUP, FIRST, "*", range(QUEUES))

    def teardown(self) -> None:
        for group in self.groups:
            self._end_quietly(group)
        self.elastic.store.close()
        self.folder.cleanup()

    # --- producing and changing

    @rule(partition=some_partition, count=st.integers(1, 3), tag=some_tag)
    def send(self, partition: int, count: int, tag: str) -> None:
        for _ in range(count):
            self._stage(partition, tag)
            self.elastic.store.write_staged()

    @rule(partition=some_partition, tag=some_tag, moves=st.booleans(), receiver=some_queue)
    def send_in_a_receive(self, partition: int, tag: str, moves: bool, receiver: int) -> None:
        """Of which the end has not come when a change does."""
        self._stage(partition, tag)
        if moves:
            self.change({partition}, receiver)
        self.elastic.store.write_staged()

    @rule(partition=some_partition, tag=some_tag, moves=st.booleans(), receiver=some_queue)
    def send_late(self, partition: int, tag: str, moves: bool, receiver: int) -> None:
        """A delayed message, and maybe a change before it is delivered."""
        body, properties = b"%d %s" % (partition, tag.encode()), block(DELAY="1", TAGS=tag)
        Producing(self.elastic.broker).sent(TOPIC, body, e=partition, i=properties)
        self.elastic.store.write_staged()
        if moves:
            self.change({partition}, receiver)
        self.elastic.broker.clock.now += DELAY_MILLIS
        trio.run(deliver, self._delays())
        for group in self.groups:
            group.lock()

    def _stage(self, partition: int, tag: str) -> None:
        message = Message(
            TOPIC,
            self.elastic.maps.place(TOPIC, partition),
            b"%d %s" % (partition, tag.encode()),
            block(TAGS=tag).encode(),
        )
        message.tag_hash = string_hash(tag)
        self.elastic.store.stage(message)

    @rule(partitions=st.sets(some_partition, min_size=1, max_size=4), receiver=some_queue)
    def change(self, partitions: set[int], receiver: int) -> None:
        places = self.written.queues
        moved = {lp: receiver for lp in partitions if places[lp] != receiver}
        if not moved:
            return
        if self.elastic.topic().read_queue_nums < QUEUES:
            self.elastic.maps.resize(TOPIC, QUEUES, QUEUES)
        self.elastic.maps.change(TOPIC, Move(moved))
        for lp in moved:
            places[lp] = receiver
        ends = self.written.ends()
        for group in self.groups:
            # It is there: what comes to a queue that it does not know yet is for it.
            group.ledger.owes.setdefault(receiver, ends[receiver])

    @rule()
    def tend(self) -> None:
        self.elastic.tend()

    @rule(partition=some_partition, receivers=st.lists(some_queue, min_size=2, max_size=3))
    def chase(self, partition: int, receivers: list[int]) -> None:
        """One after the other, with nothing between: what is in the first queue is all that holds up the last."""
        self.send(partition, 1, "a")
        for receiver in receivers:
            self.change({partition}, receiver)
        self.send(partition, 1, "a")

    # --- consuming

    @rule(one=some_group, queue=some_queue)
    def drain(self, one: int, queue: int) -> None:
        self._group(one).drain(queue)

    @rule(one=some_group, queue=some_queue, commits=st.booleans())
    def fetch(self, one: int, queue: int, commits: bool) -> None:
        self._group(one).fetch(queue, commits=commits)

    @rule(one=some_group)
    def fetch_everywhere(self, one: int) -> None:
        group = self._group(one)
        for queue in group.taken:
            group.fetch(queue)

    @rule(one=some_group, queue=some_queue)
    def consume(self, one: int, queue: int) -> None:
        self._group(one).consume(queue)

    @rule(one=some_group, queue=some_queue)
    def commit(self, one: int, queue: int) -> None:
        self._group(one).commit(queue)

    @rule(one=some_group, queue=some_queue, receiver=some_queue)
    def pass_without_committing(self, one: int, queue: int, receiver: int) -> None:
        """Fetched, and nothing else; whoever reads the receivers must not get what comes after it."""
        group = self._group(one)
        group.fetch(queue)
        group.drain(receiver)

    def _end_quietly(self, group: Group) -> None:
        """Gates open while members consume: everything comes in the end."""
        for queue in range(QUEUES):
            if queue not in group.owner:
                group.take(queue)
        held_up = self.elastic.groups.held_up_by(group.name, TOPIC)
        for _ in range(3 * len(self.written.at) + QUEUES * len(held_up) + 9):
            self.elastic.tend()
            # A reset waits for whoever may hold a queue: after a kill nobody may have locked, and who gave up a queue
            # that has left the route before a reset can have held it for a lock's time after the broker's start.
            self.elastic.broker.clock.now += RENEW_MILLIS
            # Members of all groups renew their locks while time passes: who did not would hold messages unknown to a
            # reset.
            for one in (group, *(other for other in self.groups if other is not group)):
                one.lock()
            group.give_up_left()
            for queue in range(QUEUES):
                group.drain(queue)
            if not group.ledger.missing():
                return
        raise AssertionError(
            (self.elastic.groups.held_up_by(group.name, TOPIC), group.ledger.missing())
        )

    # --- coming, going, failing

    @rule(
        where=st.sampled_from((FIRST, LAST)), tag=st.sampled_from(("*", "*", "a")), knows=some_queue
    )
    def come_anew(self, where: str, tag: str, knows: int) -> None:
        """Another group, which knows some queues at first, and the last one that came is no more."""
        if len(self.groups) > 1:
            group = self.groups.pop()
            self._end_quietly(group)
            group.leave()
            self.elastic.groups.forget_group(group.name)
            at_once(self.elastic.offsets.forget_group(group.name))
        self.joined += 1
        known = range(QUEUES) if where == FIRST else range(knows + 1)
        self._join(f"CG{self.joined}", where, tag, known)

    @rule(one=some_group, queue=some_queue, wakes=st.booleans())
    def lose(self, one: int, queue: int, wakes: bool) -> None:
        group = self._group(one)
        group.lose(queue)
        for other in self.groups:
            other.lock()
        if wakes:
            group.wake(queue)

    @rule(one=some_group, queue=some_queue)
    def wake(self, one: int, queue: int) -> None:
        self._group(one).wake(queue)

    @rule(one=some_group, queue=some_queue)
    def hand_over(self, one: int, queue: int) -> None:
        self._group(one).hand_over(queue)

    @rule(one=some_group)
    def kill_members(self, one: int) -> None:
        self._group(one).kill()

    @rule(days=st.sampled_from((-30, -0.01, 25, 400)))
    def clock_jumps(self, days: float) -> None:
        self.elastic.broker.clock.jumped += int(days * 86_400_000)

    @rule()
    def write_offsets(self) -> None:
        self.elastic.offsets.file.persist()

    @rule(members_too=st.booleans(), locks=st.booleans())
    def kill_broker(self, members_too: bool, locks: bool) -> None:
        """Commits since offsets were written are lost; members go on with what they believe, or begin anew.

        `locks`: otherwise they ask for messages long before they lock their queues again.
        """
        now = self.elastic.broker.clock.now
        self._delays().close()
        self.elastic.topics.close()
        self.elastic.store.abandon()
        self.elastic.start(now)
        self.elastic.store.add_listener(self._stored)
        for group in self.groups:
            group.attach(self.elastic)
            if locks:
                group.lock()
            if members_too:
                group.kill()

    @rule(
        one=some_group,
        queue=some_queue,
        share=st.floats(0, 1),
        ahead=st.booleans(),
        copies=st.booleans(),
        late=st.booleans(),
    )
    def reset(
        self, one: int, queue: int, share: float, ahead: bool, copies: bool, late: bool
    ) -> None:
        """To somewhere. `ahead`: over what was not consumed yet. `late`: its owner commits before it knows."""
        group = self._group(one)
        done = group.taken[queue].done
        left = max(0, self.written.ends()[queue] - done)
        to = done + round(share * left) if ahead else int(share * done)
        group.reset(queue, to, copies=copies)
        if late:
            group.commit(queue)

    # --- what seldom comes by chance

    def _cross(self, partition: int, receiver: int) -> tuple[int, int]:
        """A message, a change, and the one behind it: donor and receiver."""
        receiver = (self.written.queues[partition] + receiver) % QUEUES
        donor = self.written.queues[partition]
        self.send(partition, 1, "a")
        self.change({partition}, receiver)
        self.send(partition, 2, "a")
        return donor, receiver

    @rule(one=some_group, partition=some_partition, receiver=some_other, locks=st.booleans())
    def cross_and_lose_commits(self, one: int, partition: int, receiver: int, locks: bool) -> None:
        """What was consumed behind the change must not be followed by what came before it."""
        donor, receiver = self._cross(partition, receiver)
        group = self._group(one)
        group.drain(donor)
        group.drain(receiver)
        self.kill_broker(members_too=True, locks=locks)
        group.drain(donor)

    @rule(one=some_group, partition=some_partition, receiver=some_other)
    def cross_and_ask_without_a_lock(self, one: int, partition: int, receiver: int) -> None:
        group = self._group(one)
        _, receiver = self._cross(partition, receiver)
        self.kill_broker(members_too=False, locks=False)
        group.drain(receiver)

    @rule(partition=some_partition, receiver=some_other)
    def cross_and_come_later(self, partition: int, receiver: int) -> None:
        """Everybody has passed it when another change comes, and a group that begins at the first message."""
        donor, receiver = self._cross(partition, receiver)
        for one in range(len(self.groups)):
            for queue in (*range(QUEUES), donor, receiver):
                self._group(one).drain(queue)
        self.change({(partition + 1) % PARTITIONS}, donor)
        self.come_anew(FIRST, "*", QUEUES - 1)
        self._group(1).drain(receiver)

    @rule(where=st.sampled_from((FIRST, FIRST, LAST)), sends=st.booleans())
    def shrink_and_come_later(self, where: str, sends: bool) -> None:
        """The last queues have left the route when a group begins; what lies there comes before what follows."""
        last = max(self.written.queues)
        moved = {lp for lp, queue in enumerate(self.written.queues) if queue == last}
        self.send(min(moved), 1, "a")
        if last:
            self.change(moved, 0)
        for one in range(len(self.groups)):
            for _ in range(2):
                for queue in range(QUEUES):
                    self._group(one).drain(queue)
        self.elastic.tend()
        if sends:
            self.send(min(moved), 1, "a")
        self.come_anew(where, "*", QUEUES - 1)
        self._group(1).drain(0)

    @rule(
        one=some_group,
        partition=some_partition,
        receiver=some_other,
        first=st.booleans(),
        killed=st.booleans(),
    )
    def cross_and_reset(
        self, one: int, partition: int, receiver: int, first: bool, killed: bool
    ) -> None:
        """The donor goes back while the receiver's owner has messages; `first`: that one goes on first."""
        donor, receiver = self._cross(partition, receiver)
        group = self._group(one)
        group.drain(donor)
        group.fetch(receiver)
        begin = group.ledger.owes[donor]
        group.reset(donor, max(begin, group.taken[donor].done - 1))
        if killed:
            group.fetch(donor)
            self.kill_broker(members_too=False, locks=True)
        for queue in (receiver, donor) if first else (donor, receiver):
            group.drain(queue)
            group.consume_all(receiver)

    @rule(
        one=some_group,
        partition=some_partition,
        receiver=some_other,
        killed=st.booleans(),
        heard=st.booleans(),
        copies=st.booleans(),
    )
    def cross_and_skip(
        self, one: int, partition: int, receiver: int, killed: bool, heard: bool, copies: bool
    ) -> None:
        """The donor goes on to its end while its owner has messages; `heard`: that one asks first."""
        donor, receiver = self._cross(partition, receiver)
        group = self._group(one)
        group.fetch(donor)
        group.reset(donor, self.written.ends()[donor], copies=copies)
        if killed:
            self.kill_broker(members_too=False, locks=True)
        if heard:
            group.fetch(donor)
        group.drain(receiver)
        group.consume_all(donor)

    @rule(
        one=some_group,
        partition=some_partition,
        receiver=some_other,
        last=some_other,
        rest=some_other,
    )
    def cross_twice_and_reset(
        self, one: int, partition: int, receiver: int, last: int, rest: int
    ) -> None:
        """Commits are lost, and gates close behind a donor far up: what the queues between had stays consumed."""
        other = (partition + rest) % PARTITIONS
        middle = (self.written.queues[partition] + receiver) % QUEUES
        self.change({other}, middle)
        self.send(other, 1, "a")
        donor, _ = self._cross(partition, receiver)
        last = (middle + last) % QUEUES
        self.change({partition, other}, last)
        self.send(other, 1, "a")
        group = self._group(one)
        for queue in (*range(QUEUES), middle, last):
            group.drain(queue)
        self.kill_broker(members_too=False, locks=True)
        begin = group.ledger.owes[donor]
        group.reset(donor, max(begin, group.taken[donor].done - 1))
        for queue in (donor, middle, last):
            group.drain(queue)

    # --- what holds

    @invariant()
    def every_message_lies_where_the_map_said(self) -> None:
        assert not self.written.misplaced

    def _stored(self, records: list[Dispatched]) -> None:
        for record in records:
            if record.topic == TOPIC:
                data = self.elastic.store.record_at(record.physical_offset)
                assert data is not None
                self.written.add(record, parse_record(data).body)

    # --- inside

    def _join(self, name: str, where: str, tag: str, queues: Any) -> None:
        group = Group(self.elastic, self.written, name, where, tag)
        self.groups.append(group)
        for queue in queues:
            group.take(queue)

    def _group(self, one: int) -> Group:
        """Which knows all queues from now on."""
        group = self.groups[one % len(self.groups)]
        for queue in range(QUEUES):
            if queue not in group.owner:
                group.take(queue)
        return group

    def _delays(self) -> DelayService:
        (part,) = [one for one in self.elastic.broker.parts if one.name == "delays"]
        (run,) = part.master_services.values()
        found = getattr(run, "__self__", None)
        assert isinstance(found, DelayService)
        return found


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


# 40 examples, and a million steps under --soak.
EXAMPLES = settings().max_examples
STEPS = 40 if EXAMPLES < LONG else 350

TestOrdered = Ordered.TestCase
TestOrdered.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS)


def test_a_reset_of_a_queue_that_leaves_the_route_holds_a_group_up_for_a_locks_time_only() -> None:
    """It may have been held before the broker's start: for so long nobody gets messages, and then everybody."""
    state = Ordered()
    state.begin()
    state.reset(one=0, queue=QUEUES - 1, share=0, ahead=False, copies=True, late=False)
    state.send(partition=1, count=1, tag="b")
    state.elastic.tend()
    (group,) = state.groups
    group.give_up_left()
    group.drain(1)
    assert group.ledger.missing()
    state.elastic.broker.clock.now += LOCK_MILLIS
    group.drain(1)
    assert not group.ledger.missing()
    state.teardown()
