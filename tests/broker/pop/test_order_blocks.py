"""Blocks of orderly pops: when they open, what they count, their file, and against a small model."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from trimq.broker.pop.order.blocks import OrderBlocks
from trimq.broker.pop.order.rules import NotInBlock, OrderedQueue, offsets_of
from trimq.broker.steps import at_once

NOW = 1_700_000_000_000
Q = OrderedQueue("T", "G", 0)


class Topics:
    """Of four queues each; `gone` are not there."""

    gone: tuple[str, ...] = ()

    def get(self, name: str) -> Any:
        return None if name in self.gone else SimpleNamespace(read_queue_nums=4)


@pytest.fixture
def blocks(tmp_path: Path, clock: Any) -> OrderBlocks:
    return OrderBlocks(tmp_path, Topics(), {"G"}, clock)


def test_a_batch_blocks_until_each_message_is_done_or_visible(
    blocks: OrderBlocks, clock: Any
) -> None:
    assert not blocks.is_blocked(Q, None, 1000)
    blocks.begin(Q, "a", NOW, 1000, [5, 7, 8])
    assert blocks.is_blocked(Q, None, 1000)
    assert blocks.is_blocked(Q, "b", 1000)
    assert not blocks.is_blocked(Q, "a", 1000)
    assert not blocks.is_blocked(OrderedQueue("T", "G", 1), None, 1000)
    assert not blocks.is_blocked(OrderedQueue("T", "G2", 0), None, 1000)
    assert blocks.free_at(Q) == NOW + 1000
    assert blocks.acknowledge(Q, 7, NOW) == 5
    assert blocks.acknowledge(Q, 5, NOW) == 8
    assert blocks.is_blocked(Q, None, 1000)
    assert blocks.acknowledge(Q, 8, NOW) == 9
    assert not blocks.is_blocked(Q, None, 1000)
    assert blocks.acknowledge(Q, 8, NOW) == 9
    blocks.begin(Q, None, NOW, 1000, [9])
    assert blocks.is_blocked(Q, None, 1000)
    clock.now += 999
    assert blocks.is_blocked(Q, None, 1000)
    clock.now += 1
    assert not blocks.is_blocked(Q, None, 1000)


def test_single_messages_have_times_of_their_own(blocks: OrderBlocks, clock: Any) -> None:
    blocks.begin(Q, None, NOW, 1000, [5, 6])
    blocks.hide(Q, 5, NOW, NOW + 3000)
    blocks.hide(Q, 6, NOW, NOW)
    blocks.hide(Q, 9, NOW, NOW + 9000)
    blocks.hide(Q, 5, NOW - 1, NOW + 9000)
    assert blocks.free_at(Q) == NOW + 3000
    assert blocks.acknowledge(Q, 5, NOW) == 6
    assert blocks.free_at(Q) is None
    blocks.hide(OrderedQueue("T", "G", 3), 5, NOW, NOW + 9000)


def test_what_is_not_of_the_batch(blocks: OrderBlocks) -> None:
    blocks.begin(Q, None, NOW, 1000, [5, 7])
    with pytest.raises(NotInBlock):
        blocks.acknowledge(Q, 6, NOW)
    assert blocks.acknowledge(Q, 5, NOW - 1) is None
    assert blocks.acknowledge(Q, 6, NOW - 1) is None
    assert blocks.free_at(Q) == NOW + 1000


def test_a_time_that_turns_over_is_over(blocks: OrderBlocks) -> None:
    blocks.begin(Q, None, NOW, 2**63 - 1, [5])
    assert blocks.free_at(Q) is None


def test_a_batch_without_a_time_gets_that_of_the_next_pop(blocks: OrderBlocks) -> None:
    blocks.begin(Q, None, NOW, 0, [5])
    assert not blocks.is_blocked(Q, None, 0)
    assert blocks.is_blocked(Q, None, 1000)
    assert blocks.is_blocked(Q, None, 0)


def test_how_often_messages_were_consumed(blocks: OrderBlocks) -> None:
    def begin(attempt: str | None, *offsets: int) -> dict[int, int] | None:
        return blocks.begin(Q, attempt, NOW, 1000, offsets).oc

    assert begin("a", 5, 6) is None
    assert begin("a", 5, 6) == {}
    assert begin("b", 5, 6, 7) == {5: 1, 6: 1}
    assert begin("b", 5) == {5: 1, 6: 1}
    assert begin(None, 5, 6) == {5: 2}
    assert begin(None, 5, 6) == {5: 3, 6: 1}
    assert begin(None, 7) == {}
    # The order of a Java map: by the offset's place in a table of 16.
    begin(None, 14, 15, 16, 17)
    assert list(begin(None, 14, 15, 16, 17) or ()) == [16, 17, 14, 15]


# As 5.5.0 writes it, with members in its order.
FILE = """{
	"orderInfoCount":1,
	"orderedConsumptionLevel":"QUEUE",
	"table":{
		"T@G":{
			0:{
				"a":"att",
				"cm":1,
				"i":60000,
				"l":1700000000000,
				"o":[100,1],
				"oc":{
					100:1
				},
				"ot":{
					101:1700000000500
				},
				"popTime":1700000000000
			}
		}
	}
}"""


def test_the_file_of_the_original(tmp_path: Path, blocks: OrderBlocks, clock: Any) -> None:
    path = tmp_path / "consumerOrderInfo.json"
    path.write_text(FILE)
    assert blocks.load() == [Q]
    found = blocks.find(Q)
    assert found is not None
    assert (offsets_of(found), found.oc, found.a) == ([100, 101], {100: 1}, "att")
    assert blocks.free_at(Q) == NOW + 500
    blocks.persist()
    assert path.read_text() == FILE
    blocks.begin(Q, None, NOW + 1, 5, [101])
    blocks.persist()
    assert (tmp_path / "consumerOrderInfo.json.bak").read_text() == FILE
    again = OrderBlocks(tmp_path, Topics(), {"G"}, clock)
    assert again.load() == [Q]
    assert again.find(Q) == blocks.find(Q)


def test_no_file_without_a_block(tmp_path: Path, blocks: OrderBlocks) -> None:
    assert blocks.load() == []
    blocks.persist()
    assert not list(tmp_path.iterdir())


async def test_written_when_something_has_changed(tmp_path: Path, blocks: OrderBlocks) -> None:
    path = tmp_path / "consumerOrderInfo.json"
    await blocks.persist_in_steps()
    assert not path.exists()
    blocks.begin(Q, None, NOW, 1000, [5])
    await blocks.persist_in_steps()
    written = path.stat().st_mtime_ns
    assert '"o":[5]' in path.read_text()
    await blocks.persist_in_steps()
    assert path.stat().st_mtime_ns == written
    blocks.forget("T", "G", 0)
    await blocks.persist_in_steps()
    assert json.loads(path.read_text())["table"] == {}


async def test_cleaned(blocks: OrderBlocks, clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Topics, "gone", ("Gone",))
    stale = [
        OrderedQueue("Gone", "G", 0),
        OrderedQueue("T", "Gone", 0),
        OrderedQueue("T", "G", 4),
    ]
    for queue in (Q, *stale):
        blocks.begin(queue, None, NOW, 1000, [5])
    await blocks.clean()
    assert [blocks.find(queue) for queue in stale] == [None] * 3
    assert blocks.find(Q) is not None
    clock.now += 24 * 3600 * 1000
    await blocks.clean()
    assert blocks.find(Q) is not None
    clock.now += 1
    await blocks.clean()
    assert blocks.find(Q) is None


def test_forgotten(blocks: OrderBlocks) -> None:
    queues = [OrderedQueue(t, g, q) for t in ("T", "T2") for g in ("G", "G2") for q in (0, 1)]
    for queue in queues:
        blocks.begin(queue, None, NOW, 1000, [5])
    blocks.forget("T", "G", 0)
    assert blocks.find(Q) is None
    assert blocks.find(OrderedQueue("T", "G", 1)) is not None
    at_once(blocks.forget_topic("T"))
    at_once(blocks.forget_group("G2"))
    left = [queue for queue in queues if blocks.find(queue)]
    assert left == [OrderedQueue("T2", "G", 0), OrderedQueue("T2", "G", 1)]


class Clock:
    now = NOW

    def millis(self) -> int:
        return self.now

    def steady_millis(self) -> int:
        return self.now


class Model(RuleBasedStateMachine):
    """One queue of twelve messages; the model has each message's time and who is done with it."""

    @initialize()
    def start(self) -> None:
        self.clock = Clock()
        self.blocks = OrderBlocks(Path("unused"), Topics(), {"G"}, self.clock)  # type: ignore[arg-type]
        self.committed = 0
        # Of messages handed out: until when they are hidden.
        self.hidden: dict[int, int] = {}
        self.done: set[int] = set()
        self.batch: list[int] = []
        self.popped_at = self.began = 0
        self.attempt: str | None = None

    @rule(
        attempt=st.sampled_from([None, "a", "b"]), count=st.integers(1, 4), hide=st.integers(1, 9)
    )
    def pop(self, attempt: str | None, count: int, hide: int) -> None:
        self.clock.now += 1
        now = self.clock.now
        out = [at for at in self.batch if at not in self.done and self.hidden[at] > now]
        same = attempt is not None and attempt == self.attempt
        assert self.blocks.is_blocked(Q, attempt, hide) == (bool(out) and not same)
        if out and not same:
            return
        found = list(range(self.committed, min(12, self.committed + count)))
        if not found:
            return
        # Nothing later before an earlier one was acknowledged or is visible again, or comes with it.
        for earlier in range(found[-1]):
            assert earlier in self.done or earlier in found or self.hidden.get(earlier, 0) <= now
        # The first that is not acknowledged comes first.
        assert all(at in self.done for at in range(found[0]))
        self.blocks.begin(Q, attempt, now, hide, found)
        self.batch, self.attempt, self.popped_at = found, attempt, now
        self.began = now
        self.done -= set(found)
        self.hidden |= dict.fromkeys(found, now + hide)

    @rule(offset=st.integers(0, 11), late=st.booleans())
    def acknowledge(self, offset: int, late: bool) -> None:
        if offset < self.committed or self.blocks.find(Q) is None:
            return
        try:
            following = self.blocks.acknowledge(Q, offset, self.popped_at - late)
        except NotInBlock:
            assert offset not in self.batch
            assert not late
            return
        if late:
            assert following is None
            return
        self.done.add(offset)
        left = [at for at in self.batch if at not in self.done]
        assert following == (left[0] if left else self.batch[-1] + 1)
        self.committed = following

    @rule(offset=st.integers(0, 11), hide=st.integers(0, 9), late=st.booleans())
    def change(self, offset: int, hide: int, late: bool) -> None:
        self.blocks.hide(Q, offset, self.popped_at - late, self.clock.now + hide)
        if offset in self.batch and not late:
            self.hidden[offset] = self.clock.now + hide

    @rule(step=st.integers(1, 5))
    def wait(self, step: int) -> None:
        self.clock.now += step

    @rule(step=st.sampled_from([-1000, -7, -2, 1000]))
    def clock_jumps(self, step: int) -> None:
        """One that is set back hides nothing for longer than once more, from when that is seen."""
        self.clock.now += step
        shift = self.began - self.clock.now
        blocked = self.blocks.is_blocked(Q, None, 1)
        if self.batch and shift > 0:
            for at in set(self.batch) - self.done:
                self.hidden[at] -= shift
            self.began = self.clock.now
        assert blocked == any(
            self.hidden[at] > self.clock.now for at in set(self.batch) - self.done
        )

    @rule()
    def kill(self) -> None:
        """The block is lost, the offset is not."""
        self.blocks.forget("T", "G", 0)
        self.batch, self.attempt = [], None


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_topic_of_many_queues_is_written_some_queues_at_a_time(
    blocks: OrderBlocks, tmp_path: Path, clock: Any
) -> None:
    """A piece of the file is a step of the loop."""
    for queue_id in range(300):
        blocks.begin(OrderedQueue("Wide", "G", queue_id), "a", NOW, 1000, [queue_id, queue_id + 1])
    wide = list(blocks._pieces())
    assert max(map(len, wide)) < sum(map(len, wide)) / 3
    blocks.begin(Q, None, NOW, 1000, [5])
    blocks.persist()
    again = OrderBlocks(tmp_path, Topics(), {"G"}, clock)
    assert len(again.load()) == 301
    assert b"".join(again._pieces()) == b"".join(blocks._pieces())
    at_once(again.forget_topic("Wide"))
    assert b"Wide" not in b"".join(again._pieces())
    at_once(again.forget_topic("T"))
    assert b"".join(again._pieces()).endswith(b'"table":{}\n}')
