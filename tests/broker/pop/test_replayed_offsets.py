"""Offsets that checkpoints move once more at start (docs/decisions/0018-pop.md)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.conftest import HandClock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.pop.checkpoints.notes import MOVES_NOTHING
from trimq.broker.pop.checkpoints.offsets import PopOffsets
from trimq.broker.pop.order.blocks import OrderBlocks
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.pop import PopCheckPoint
from trimq.codec.names import TIMER_TOPIC, revive_topic
from trimq.codec.records.properties import format_properties
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

REVIVE = revive_topic("c")
QUEUED = 30


class Site:
    """A store and the offsets of its broker, which can be started again."""

    def __init__(self, root: Path, clock: HandClock) -> None:
        self._config = root / "config"
        self._config.mkdir(parents=True)
        self._clock = clock
        self.store = MessageStore(StoreConfig(root=root), clock.millis)
        self.store.open()
        for _ in range(QUEUED):
            self.store.put(Message("T", 1, b"popped"))
        self.known = {("T", "G")}
        self.offsets = self._offsets()

    def _offsets(self) -> ConsumerOffsets:
        offsets = ConsumerOffsets(BrokerConfig(), self._config, self._clock)
        offsets.file.log_end = lambda: self.store.max_physical_offset
        offsets.load()
        return offsets

    def checkpoint(
        self, first: int, *distances: int, flag: int = 0, direct: bool = False, **more: str
    ) -> None:
        point = PopCheckPoint(
            c="G", t="T", q=1, so=first, pt=7, n=len(distances), d=list(distances)
        )
        target = {} if direct else {"REAL_TOPIC": REVIVE}
        block = format_properties({"TAGS": "ck", **target, **more})
        topic = REVIVE if direct else TIMER_TOPIC
        self.store.put(Message(topic, 0, encode_body(point), block, flag=flag))

    def restart(self) -> int | None:
        """Where the group is after a kill."""
        self.offsets = self._offsets()
        self.popped().replay(REVIVE, lambda topic, group: (topic, group) in self.known)
        return (self.offsets.query_all("G", "T") or {}).get(1)

    def popped(self) -> PopOffsets:
        blocks = OrderBlocks(
            self._config, Topics(BrokerConfig(), self._config, self._clock), (), self._clock
        )
        return PopOffsets(BrokerConfig(), self.offsets, self.store, blocks)


@pytest.fixture
def site(tmp_path: Path, clock: HandClock) -> Iterator[Site]:
    site = Site(tmp_path / "store", clock)
    site.offsets.commit("", "G", "T", 1, 10)
    site.offsets.file.persist()
    yield site
    site.store.abandon()


def test_what_came_after_the_file_moves_the_offset(site: Site) -> None:
    site.checkpoint(10, 0, 1, 4)
    assert site.restart() == 15
    site.checkpoint(15, 0, direct=True)
    assert site.restart() == 16


def test_what_the_file_knows_moves_nothing(site: Site) -> None:
    site.checkpoint(10, 0, 1)
    site.offsets.commit("", "G", "T", 1, 3)
    site.offsets.file.persist()
    assert site.restart() == 3


def test_an_offset_never_goes_back(site: Site) -> None:
    site.checkpoint(2, 0, 1)
    assert site.restart() == 10


@pytest.mark.parametrize(
    "more",
    [{"flag": MOVES_NOTHING}, {"TIMER_ROLL_TIMES": "1"}, {"direct": True, "TIMER_OUT_MS": "5"}],
    ids=["a changed time", "rolled", "off the wheel"],
)
def test_only_pops_move(site: Site, more: dict[str, object]) -> None:
    site.checkpoint(20, 0, **more)  # type: ignore[arg-type]
    assert site.restart() == 10


def test_nothing_of_what_is_gone(site: Site) -> None:
    site.checkpoint(10, 0)
    site.known = set()
    assert site.restart() == 10


@pytest.mark.parametrize("first", [QUEUED, 2**62, -(2**62)])
def test_nor_of_what_never_was(site: Site, first: int) -> None:
    """A checkpoint that no pop has made would have the group skip all that comes."""
    site.checkpoint(first, 0)
    assert site.restart() == 10
    site.popped().take_back(REVIVE, 0)
    assert site.offsets.query("G", "T", 1) >= 0


def test_a_file_of_rocketmq_says_nothing_of_the_log(site: Site) -> None:
    file = next(Path(site._config).glob("consumerOffset.json"))
    table = json.dumps({"offsetTable": {"T@G": {"1": 10}}})
    file.write_text(table)
    site.checkpoint(10, 0)
    assert site.restart() == 10


def test_records_that_cannot_be_read_are_left_out(site: Site) -> None:
    block = format_properties({"TAGS": "ck", "REAL_TOPIC": REVIVE})
    site.store.put(Message(TIMER_TOPIC, 0, b"?", block))
    site.checkpoint(10, 0)
    assert site.restart() == 11


@pytest.mark.parametrize("into", [0, 1])
def test_what_is_cut_off_was_not_popped(site: Site, into: int) -> None:
    site.checkpoint(10, 0, 1, 4)
    end = site.store.max_physical_offset
    site.checkpoint(15, 0, 1)
    site.checkpoint(17, 0, direct=True)
    assert site.restart() == 18
    popped = site.popped()
    # Within the first one: then that goes, too.
    popped.take_back(REVIVE, end - into)
    site.store.cut(end - into)
    assert site.offsets.query("G", "T", 1) == (10 if into else 15)
    site.offsets.file.persist()
    assert site.restart() == (10 if into else 15)
