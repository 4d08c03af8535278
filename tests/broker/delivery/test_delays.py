"""Delay levels: their text, and the service that delivers, on a mock clock over a real store."""

import errno
import json
import os
from typing import Any

import pytest
import trio

from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.broker.delivery.delays import DelayService
from trimq.codec.names import SCHEDULE_TOPIC
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.errors import DiskFull
from trimq.store.message_store import MessageStore
from trimq.store.messages.delay_levels import DEFAULT_DELAY_LEVELS, parse_delay_levels
from trimq.store.messages.message import Message

SECOND = 1000


class Delaying:
    """A store with delayed messages and the service over it; can be started more than once."""

    def __init__(self, root: Any, nursery: trio.Nursery) -> None:
        self.root = root
        self.nursery = nursery
        self.clock = TrioClock()
        self.levels = (SECOND, 5 * SECOND, 10 * SECOND)

    async def start(self, levels: tuple[int, ...] | None = None) -> DelayService:
        config = StoreConfig(
            root=self.root,
            mapped_file_size_commit_log=1 << 20,
            delay_levels=self.levels,
        )
        self.store = MessageStore(config, self.clock.millis)
        self.store.open()
        self.delivered: list[tuple[str, float]] = []
        self.noted = trio.Event()
        self.service = DelayService(
            BrokerConfig(delay_offset_update_version_step=2),
            self.store,
            levels or self.levels,
            self.root / "config",
            self.clock,
        )
        self.service.load()
        self.store.add_listener(self.service.arrived)
        self.store.add_listener(self.note)
        self.scope = await self.nursery.start(self.run)
        return self.service

    async def run(self, task_status: trio.TaskStatus[trio.CancelScope]) -> None:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                await nursery.start(self.service.run)
                task_status.started(scope)

    def stop(self, cleanly: bool = True) -> None:
        self.scope.cancel()
        if cleanly:
            self.service.close()
        self.store.close()

    def note(self, messages: list[Any]) -> None:
        for message in messages:
            if message.topic != SCHEDULE_TOPIC:
                record = parse_record(self.store.record_at(message.physical_offset))
                self.delivered.append((record.body.decode(), trio.current_time() - self.began))
                self.noted.set()

    def send(self, body: str, level: int, **properties: str) -> None:
        block = {"DELAY": str(level), "REAL_TOPIC": "T", "REAL_QID": "2", **properties}
        self.store.put(
            Message(
                SCHEDULE_TOPIC,
                level - 1,
                body.encode(),
                format_properties(block),
                flag=3,
                sys_flag=1,
                born_timestamp=42,
                reconsume_times=4,
            )
        )

    async def until(self, count: int) -> None:
        """Wait for so many deliveries; for tests with real threads, which a mock clock outruns."""
        while len(self.delivered) < count:
            self.noted = trio.Event()
            await self.noted.wait()

    @property
    def began(self) -> float:
        return self._began

    def begin(self) -> None:
        self._began = trio.current_time()


@pytest.fixture
async def delaying(tmp_path, nursery):
    made = Delaying(tmp_path, nursery)
    await made.start()
    made.begin()
    yield made
    made.stop()


async def test_messages_come_at_their_time(autojump_clock, delaying):
    delaying.send("five", 2)
    delaying.send("one", 1)
    await trio.sleep(0.5)
    delaying.send("one later", 1)
    await trio.sleep(10)
    assert [body for body, _ in delaying.delivered] == ["one", "one later", "five"]
    assert [at for _, at in delaying.delivered] == pytest.approx([1, 1.5, 5], abs=0.01)
    assert delaying.service.progress() == {1: 2, 2: 1}
    assert delaying.service.end(1) == 2


async def test_the_copy_is_the_message_as_it_was_sent(autojump_clock, delaying):
    delaying.send("x", 1, KEYS="k")
    await trio.sleep(2)
    found = delaying.store.read("T", 2, 0, 32, 1 << 20, None)
    record = parse_record(b"".join(delaying.store.load_blocking(found.extents)))
    assert parse_properties(record.properties) == {
        "DELAY": "1",
        "REAL_TOPIC": "T",
        "REAL_QID": "2",
        "KEYS": "k",
    }
    assert (record.flag, record.sys_flag, record.born_timestamp, record.reconsume_times) == (
        3,
        1,
        42,
        4,
    )
    assert record.queue_offset == 0


async def test_many_come_in_order(autojump_clock, delaying):
    for index in range(100):
        delaying.send(str(index), 1)
    await trio.sleep(2)
    assert [body for body, _ in delaying.delivered] == [str(index) for index in range(100)]


async def test_progress_outlives_a_restart(autojump_clock, delaying):
    delaying.send("before", 1)
    await trio.sleep(2)
    delaying.send("after", 2)
    delaying.stop()
    await trio.sleep(100)
    await delaying.start()
    await trio.sleep(0.1)
    assert [body for body, _ in delaying.delivered] == ["after"]


async def test_progress_is_on_file_a_second_later(autojump_clock, delaying):
    delaying.send("x", 1)
    await trio.sleep(3)
    text = (delaying.root / "config" / "delayOffset.json").read_text()
    assert "1:1" in text
    assert delaying.service.progress() == {1: 1}


async def test_the_file_is_that_of_the_real_broker(autojump_clock, delaying):
    delaying.send("x", 1)
    delaying.send("y", 1)
    await trio.sleep(2)
    delaying.send("z", 3)
    await trio.sleep(2)
    delaying.service.close()
    version = delaying.service.data_version
    text = (delaying.root / "config" / "delayOffset.json").read_text()
    assert text == (
        '{\n\t"dataVersion":{\n\t\t"counter":1,\n\t\t"stateVersion":0,\n'
        f'\t\t"timestamp":{version.timestamp}\n\t}},\n'
        '\t"offsetTable":{\n\t\t1:2,\n\t\t3:0\n\t}\n}'
    )
    assert delaying.service.encoded() == (
        b'{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":%d},"offsetTable":{1:2,3:0}}'
        % version.timestamp
    )


@pytest.mark.parametrize(("noted", "goes_on_at"), [(99, 2), (-5, 0), (1, 1)])
async def test_progress_outside_the_queue_is_corrected(autojump_clock, delaying, noted, goes_on_at):
    delaying.send("a", 3)
    delaying.send("b", 3)
    delaying.stop()
    path = delaying.root / "config" / "delayOffset.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"offsetTable": {"3": noted}}))
    service = await delaying.start()
    assert service.progress() == {3: goes_on_at}
    await trio.sleep(11)
    assert [body for body, _ in delaying.delivered] == ["a", "b"][goes_on_at:]


async def test_a_clock_that_jumps_forward_is_noticed_within_a_second(autojump_clock, delaying):
    delaying.send("x", 3)
    await trio.sleep(2.5)
    delaying.clock.jumped = 3_600_000
    await trio.sleep(5)
    [(_, at)] = delaying.delivered
    assert at <= 3.6


async def test_a_clock_that_was_set_back_holds_nothing_up(autojump_clock, delaying):
    delaying.send("x", 3)
    delaying.clock.jumped = -3_600_000
    await trio.sleep(5)
    assert [body for body, _ in delaying.delivered] == ["x"]


async def test_what_cannot_be_stored_holds_up_its_level_only(autojump_clock, delaying, monkeypatch):
    stage = delaying.store.stage

    def refuse(message):
        if (
            message.body == b"stuck"
            and message.topic == "T"
            and delaying.clock.millis() < refuse.end
        ):
            raise DiskFull("no room")
        return stage(message)

    refuse.end = delaying.clock.millis() + 60_000
    monkeypatch.setattr(delaying.store, "stage", refuse)
    for body in ("first", "stuck", "behind"):
        delaying.send(body, 1)
    delaying.send("other level", 2)
    await trio.sleep(20)
    assert [body for body, _ in delaying.delivered] == ["first", "other level"]
    assert delaying.service.progress() == {1: 1, 2: 1}
    await trio.sleep(60)
    assert [body for body, _ in delaying.delivered][2:] == ["stuck", "behind"]


async def test_a_failed_write_takes_nothing_along(autojump_clock, delaying, monkeypatch):
    delaying.send("x", 1)
    before = delaying.store.max_physical_offset

    def full(fd, buffers, position):
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "pwritev", full)
    await trio.sleep(3)
    assert delaying.service.progress() == {1: 0}
    assert delaying.store.max_physical_offset == before
    monkeypatch.undo()
    await trio.sleep(10)
    assert delaying.delivered[0][0] == "x"


@pytest.mark.parametrize(
    "properties",
    [{"REAL_TOPIC": ""}, {"REAL_QID": "two"}, {"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC"}],
)
async def test_what_has_nowhere_to_go_is_passed_over(autojump_clock, delaying, properties):
    delaying.send("lost", 1, **properties)
    delaying.send("next", 1)
    await trio.sleep(2)
    assert [body for body, _ in delaying.delivered] == ["next"]
    assert delaying.service.progress() == {1: 2}


async def test_levels_that_no_longer_exist_stay_where_they_are(autojump_clock, delaying):
    delaying.send("x", 3)
    delaying.stop()
    await delaying.start(levels=(SECOND,))
    await trio.sleep(100)
    assert delaying.delivered == []
    assert delaying.service.max_level == 1


async def test_records_on_disk_are_read_in_a_thread(autojump_clock, delaying, monkeypatch):
    monkeypatch.setattr(delaying.store, "load", lambda extents: None)
    delaying.send("cold", 1)
    delaying.send("colder", 1)
    await delaying.until(2)
    assert [body for body, _ in delaying.delivered] == ["cold", "colder"]


def test_the_default_levels():
    levels = parse_delay_levels(DEFAULT_DELAY_LEVELS)
    assert (len(levels), levels[0], levels[4], levels[17]) == (18, 1000, 60_000, 7_200_000)
    assert parse_delay_levels(" 2s  1d ") == (2000, 86_400_000)


@pytest.mark.parametrize("text", ["", "5", "5x", "s", "1.5s", "-1s", "1s,5s", "1s 5 10s"])
def test_levels_that_cannot_be_read(text: str):
    with pytest.raises(ValueError, match=r"level"):
        parse_delay_levels(text)


def test_the_wrong_word_is_named():
    with pytest.raises(ValueError, match="'5x' is not a delay"):
        parse_delay_levels("1s 5x 10s")
